//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// GiveTo changes the owner and group of f to those of another file, if permitted. Files edited as
// root, for example in a container, then remain writable for their owner.
func GiveTo(f *os.File, other fs.FileInfo) {
	if st, ok := other.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
