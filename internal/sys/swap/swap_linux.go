// Package swap replaces one folder with another atomically, where the system supports it.
package swap

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Exchange swaps two entries of parent atomically. The error is errors.ErrUnsupported if the
// file system or the kind of entry (a mount point) does not allow that.
func Exchange(parent *os.Root, a, b string) error {
	return renameat2(parent, a, b, unix.RENAME_EXCHANGE)
}

// ExchangeBetween swaps the entries called name of two folders atomically.
func ExchangeBetween(a, b *os.Root, name string) error {
	return withFD(a, func(from int) error {
		return withFD(b, func(to int) error { return rename(from, name, to, name, unix.RENAME_EXCHANGE) })
	})
}

// RenameNew renames a to b, which must not exist.
func RenameNew(parent *os.Root, a, b string) error {
	err := renameat2(parent, a, b, unix.RENAME_NOREPLACE)
	if errors.Is(err, errors.ErrUnsupported) {
		return parent.Rename(a, b)
	}
	return err
}

func renameat2(parent *os.Root, a, b string, flags uint) error {
	return withFD(parent, func(fd int) error { return rename(fd, a, fd, b, flags) })
}

func rename(from int, a string, to int, b string, flags uint) error {
	err := unix.Renameat2(from, a, to, b, flags)
	switch err {
	case nil:
		return nil
	case unix.EBUSY, unix.EINVAL, unix.ENOSYS, unix.EXDEV, unix.EOPNOTSUPP:
		return errors.ErrUnsupported
	}
	return err
}

// Sync flushes dir's whole file system to disk.
func Sync(dir *os.Root) error {
	return withFD(dir, func(fd int) error {
		err := unix.Syncfs(fd)
		if err == unix.ENOSYS {
			unix.Sync()
			return nil
		}
		return err
	})
}

// IsMountPoint reports whether a file system is mounted at path, so that path cannot be
// renamed.
func IsMountPoint(path string) bool {
	var here, above unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &here) != nil {
		return false
	}
	if here.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return here.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	err := unix.Statx(unix.AT_FDCWD, path+"/..", 0, 0, &above)
	return err == nil && (here.Dev_major != above.Dev_major || here.Dev_minor != above.Dev_minor)
}

// CheckWritable returns an error if the user may not add, rename or remove entries of the
// folder at path.
func CheckWritable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}

func withFD(dir *os.Root, do func(fd int) error) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return do(int(f.Fd()))
}
