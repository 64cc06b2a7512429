//go:build !linux

// Package swap has the system calls by which a folder takes the place of another one.
package swap

import (
	"errors"
	"io/fs"
	"os"
)

// Exchange would swap two entries of parent in one step; here the journal does the work.
func Exchange(parent *os.Root, a, b string) error { return errors.ErrUnsupported }

// ExchangeBetween would swap the entries called name of two folders.
func ExchangeBetween(a, b *os.Root, name string) error { return errors.ErrUnsupported }

// RenameNew renames a to b, which must not exist.
func RenameNew(parent *os.Root, a, b string) error {
	if _, err := parent.Lstat(b); err == nil {
		return fs.ErrExist
	}
	return parent.Rename(a, b)
}

// Sync does nothing: files are brought to the disk one by one here.
func Sync(*os.Root) error { return nil }

// IsMountPoint reports false: nobody knows here.
func IsMountPoint(path string) bool { return false }

// CheckWritable returns nil: writing will say it.
func CheckWritable(path string) error { return nil }
