//go:build unix

package executors

import (
	"os"
	"syscall"
)

// alive reports whether a process with this id exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// hold locks a directory as in use until the file is closed or this process ends, however it
// ends. A lock is needed in addition to the process id in the directory's name: processes that
// share the directory may not see each other's ids, for example if one of them runs in a
// container.
func hold(dir string) *os.File {
	f, err := os.Open(dir)
	if err == nil {
		// Without locks in the file system, only the process ids apply.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	return f
}

// private reports whether dir is a directory that belongs to this user and that no other user
// can enter. Its content then comes from this user.
func private(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// held reports whether a process has locked a directory with hold.
func held(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}
