//go:build unix

package executors

import (
	"os"
	"syscall"
)

// alive reports whether there is a process with this number.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// hold marks a directory as in use until the file is closed or this process has ended, however that happens. Processes that
// share the directory need not see each other by their numbers: one of them may be in a container.
func hold(dir string) *os.File {
	f, err := os.Open(dir)
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // a file system without locks: numbers have to do
	}
	return f
}

// private reports whether dir is a directory that this user alone can enter: nobody else has made it, or has anything in it.
func private(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// held reports whether somebody holds a directory.
func held(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}
