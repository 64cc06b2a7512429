package exec_test

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// hoard allocates up to max bytes of memory in the way named by how and returns the amount that it
// got. It allocates in pieces and maps at most one of them at a time.
func hoard(how string, max int64) (got int64) {
	const piece = 8 << 20
	data := make([]byte, piece)
	for i := range data {
		data[i] = 1
	}
	for ; got < max; got += piece {
		if !hoardPiece(how, int(got), data) {
			break
		}
	}
	return got
}

// kept holds the pieces in private memory.
var kept [][]byte

func hoardPiece(how string, offset int, data []byte) bool {
	switch how {
	case "private":
		kept = append(kept, append([]byte(nil), data...))
	case "memfd":
		fd, err := unix.MemfdCreate("hoard", 0)
		if err != nil {
			return false
		}
		n, err := unix.Write(fd, data)
		return err == nil && n == len(data)
	case "sysv":
		id, err := unix.SysvShmGet(offset+1, len(data), unix.IPC_CREAT|0o600)
		if err != nil {
			return false
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return false
		}
		copy(b, data)
		return unix.SysvShmDetach(b) == nil
	case "shared", "zero":
		fd, flags := -1, unix.MAP_SHARED|unix.MAP_ANONYMOUS
		if how == "zero" {
			var err error
			if fd, err = unix.Open("/dev/zero", unix.O_RDWR, 0); err != nil {
				return false
			}
			flags = unix.MAP_SHARED
		}
		b, err := unix.Mmap(fd, 0, len(data), unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			return false
		}
		copy(b, data)
		return unix.Madvise(b, unix.MADV_DONTNEED) == nil // no longer mapped, but still allocated
	case "files":
		f, err := os.OpenFile(filepath.Join(os.TempDir(), "hoard"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return false
		}
		defer f.Close()
		n, err := f.Write(data)
		return err == nil && n == len(data)
	}
	return true
}
