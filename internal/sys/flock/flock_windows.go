package flock

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks f until f is closed or the process ends. It returns ErrBusy if another process
// holds the lock. Windows locks are mandatory, so Try locks a byte far beyond the text, which
// other processes must be able to read.
func Try(f *os.File) error {
	far := windows.Overlapped{OffsetHigh: 1}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &far)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrBusy
	}
	return err
}

// canBeOurs always returns true on Windows: ownership is not checked.
func canBeOurs(fs.FileInfo) bool { return true }
