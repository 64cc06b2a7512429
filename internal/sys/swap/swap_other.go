//go:build !linux

// Package swap replaces one folder with another atomically, where the system supports it.
package swap

import (
	"errors"
	"io/fs"
	"os"
)

// Exchange returns errors.ErrUnsupported. Callers fall back to a journal.
func Exchange(parent *os.Root, a, b string) error { return errors.ErrUnsupported }

// ExchangeBetween returns errors.ErrUnsupported.
func ExchangeBetween(a, b *os.Root, name string) error { return errors.ErrUnsupported }

// RenameNew renames a to b, which must not exist. The check and the rename are not atomic.
func RenameNew(parent *os.Root, a, b string) error {
	if _, err := parent.Lstat(b); err == nil {
		return fs.ErrExist
	}
	return parent.Rename(a, b)
}

// Sync does nothing: on these systems, files are flushed to disk one by one.
func Sync(*os.Root) error { return nil }

// IsMountPoint returns false: mount points are not detected on these systems.
func IsMountPoint(path string) bool { return false }

// CheckWritable returns nil: on these systems, the write itself reports the error.
func CheckWritable(path string) error { return nil }
