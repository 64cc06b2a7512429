//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned returns an error if another user can change the content of dir.
func owned(dir string, info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the cache folder %q belongs to another user", dir)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the cache folder %q can be written to by other users (mode %04o)", dir, info.Mode().Perm())
	}
	return nil
}

// tryLock tries to lock f and reports whether it succeeded. Closing the file or ending the
// process releases the lock.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isAbandoned reports whether no process holds the lock on f.
func isAbandoned(f *os.File) bool { return tryLock(f) }

// openPlain opens a file with owner-only permissions. It does not follow a symbolic link and does
// not block on a FIFO. Passing O_NONBLOCK also saves the runtime from setting it, which takes
// four system calls.
func openPlain(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}
