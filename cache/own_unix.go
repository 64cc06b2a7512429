//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned returns an error if another user can change what is in dir.
func owned(dir string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the cache folder %q belongs to another user", dir)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the cache folder %q can be written to by other users (mode %04o)", dir, info.Mode().Perm())
	}
	return nil
}

// tryLock takes the lock on f, unless another process holds it. The lock ends with the file, or with the process.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isAbandoned reports whether no process holds the lock on f.
func isAbandoned(f *os.File) bool { return tryLock(f) }

// openPlain opens a file for its user alone: no symbolic link, and nothing that lets who opens it wait. So the runtime need not set that, which is four
// calls of the system less.
func openPlain(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
