package filestat

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func of(info fs.FileInfo) Stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stat{}
	}
	return Stat{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Mode: info.Mode().Perm()}
}

// OfUnix returns the Stat of a regular file from the result of a stat system call.
func OfUnix(st *unix.Stat_t) Stat {
	return Stat{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
		Mode: fs.FileMode(st.Mode).Perm()}
}
