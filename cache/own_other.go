//go:build !unix

package cache

import (
	"io/fs"
	"os"
	"time"
)

// owned always succeeds: access to a user's directories is left to the operating system.
func owned(string, fs.FileInfo) error { return nil }

// tryLock always succeeds: on these systems, [isAbandoned] goes by the age of a lock file.
func tryLock(*os.File) bool { return true }

// isAbandoned reports whether f is old enough that its run must have ended.
func isAbandoned(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour
}

// openPlain opens a file with owner-only permissions. It refuses symbolic links and other
// irregular files.
func openPlain(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && flags&os.O_EXCL == 0 {
		return nil, fs.ErrInvalid
	}
	return os.OpenFile(path, flags, 0o600)
}
