//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package krm

import (
	"os"
	"syscall"
)

// tryLock locks f until it is closed or the process ends; errBusy if another process holds the lock.
func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return errBusy
		}
		return err
	}
}
