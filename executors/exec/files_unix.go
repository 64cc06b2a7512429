//go:build unix

package exec

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFlags keep a program that is a pipe or a device from blocking.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// removeAll removes a call's directory, also what its function has made unreadable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}
