//go:build !linux

// Package sources opens the sources of functions' bind mounts.
package sources

import (
	"fmt"
	"os"
	"path/filepath"
)

// Open opens an absolute path of a file or directory that contains no symbolic links.
func Open(path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if real != path {
		return nil, fmt.Errorf("the source %s is or passes a symbolic link to %s", path, real)
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the source %s is neither a directory nor a regular file", path)
	}
	return os.Open(path)
}
