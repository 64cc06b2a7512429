//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package flock

import (
	"io/fs"
	"os"
	"syscall"
)

// Try locks f until f is closed or the process ends. It returns ErrBusy if another process
// holds the lock.
func Try(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return ErrBusy
		}
		return err
	}
}

// canBeOurs reports whether a run of this user may have created a file: the user owns it and it
// has no other hard link.
func canBeOurs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1 && int(st.Uid) == os.Geteuid()
}
