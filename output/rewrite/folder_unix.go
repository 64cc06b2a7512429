//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rewrite

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// canRename returns an error if files of the folder home cannot be renamed into the folder to.
func canRename(home, to *os.File) error {
	if err := unix.Faccessat(int(to.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return err
	}
	a, err := home.Stat()
	if err != nil {
		return err
	}
	b, err := to.Stat()
	if err != nil {
		return err
	}
	if a.Sys().(*syscall.Stat_t).Dev != b.Sys().(*syscall.Stat_t).Dev {
		return syscall.EXDEV
	}
	return nil
}
