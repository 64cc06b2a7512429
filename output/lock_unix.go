//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// GiveTo gives f the owner and group of another file, if the user may: who edits as root, in a container for instance, leaves files that their
// owner can go on with.
func GiveTo(f *os.File, other fs.FileInfo) {
	if st, ok := other.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// canBeOurs reports whether a run of this user can have made a file: it is the user's and has one name.
func canBeOurs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1 && int(st.Uid) == os.Geteuid()
}
