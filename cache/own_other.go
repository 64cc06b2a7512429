//go:build !unix

package cache

import (
	"io/fs"
	"os"
	"time"
)

// owned leaves it to the system who may do what in a user's folders.
func owned(string, fs.FileInfo) error { return nil }

// tryLock does nothing: a lock is known by its age here.
func tryLock(*os.File) bool { return true }

// isAbandoned reports whether f is so old that its run has surely ended.
func isAbandoned(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}

// openPlain opens a file for its user alone, unless it is a symbolic link.
func openPlain(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && flags&os.O_EXCL == 0 {
		return nil, fs.ErrInvalid
	}
	return os.OpenFile(path, flags, 0o600)
}
