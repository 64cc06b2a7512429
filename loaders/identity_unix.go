//go:build unix

package loaders

import (
	"os"
	"syscall"
)

// An identity tells files apart, whatever their names are. A file that is changed becomes another one.
type identity struct {
	dev, ino uint64
	time     int64 // of the last change, in nanoseconds
}

// identify returns the identity and size of an open file, the zero identity if it has none: what does not know its size, as all
// files in /proc, is always another one.
func identify(f *os.File) (id identity, size int64) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return id, 0
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		id = identity{uint64(stat.Dev), stat.Ino, info.ModTime().UnixNano()}
	}
	return id, info.Size()
}
