//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"os"
)

// exchange would swap two entries of parent in one step; here the journal does the work.
func exchange(parent *os.Root, a, b string) error { return errors.ErrUnsupported }

func exchangeBetween(a, b *os.Root, name string) error { return errors.ErrUnsupported }

// renameNew renames a to b, which must not exist.
func renameNew(parent *os.Root, a, b string) error {
	if _, err := parent.Lstat(b); err == nil {
		return fs.ErrExist
	}
	return parent.Rename(a, b)
}

func syncTree(*os.Root) error { return nil }

func isMountPoint(path string) bool { return false }

func checkWritable(path string) error { return nil }
