package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// shells are programs whose users can close stdout with >&-.
var shells = map[string]bool{"ash": true, "bash": true, "busybox": true, "dash": true, "fish": true, "ksh": true, "ksh93": true,
	"mksh": true,
	"sh":   true, "yash": true, "zsh": true}

// wasClosed reports whether stdout was closed when krmflow started, as far as that can be
// determined. Go's runtime opens /dev/null in place of a closed descriptor before main, for
// reading and writing. A program that discards our output may have passed the same, but a shell
// opens /dev/null only for writing. So stdout was closed if it is /dev/null, open for reading
// and writing, and our parent is a shell that does not have the same open file.
func wasClosed() bool {
	flags, err := unix.FcntlInt(1, unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	mine, err := os.Stdout.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(mine, null) {
		return false
	}
	parent := fmt.Sprintf("/proc/%d", os.Getppid())
	program, err := os.Readlink(parent + "/exe")
	return err == nil && shells[filepath.Base(program)] && !holdsStdout(parent+"/fd/", null)
}

// holdsStdout reports whether our stdout, which is /dev/null, is or may be an open file of our
// parent, whose descriptors are in dir.
func holdsStdout(dir string, null os.FileInfo) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	for _, e := range entries {
		if info, err := os.Stat(dir + e.Name()); err != nil || !os.SameFile(info, null) {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil || sameOpenFile(os.Getppid(), fd, os.Getpid(), 1) {
			return true
		}
	}
	return false
}

// sameOpenFile reports whether descriptors of two processes refer to the same open file
// description. It also returns true if they cannot be compared.
func sameOpenFile(pid1, fd1, pid2, fd2 int) bool {
	const kcmpFile = 0
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid1), uintptr(pid2), kcmpFile, uintptr(fd1), uintptr(fd2), 0)
	return errno != 0 || order == 0
}
