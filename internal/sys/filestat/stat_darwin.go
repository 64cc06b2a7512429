package filestat

import (
	"io/fs"
	"syscall"
)

func of(info fs.FileInfo) Stat {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stat{}
	}
	return Stat{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size, Mtime: st.Mtimespec.Nano(), Ctime: st.Ctimespec.Nano(),
		Mode: info.Mode().Perm()}
}
