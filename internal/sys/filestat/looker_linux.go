package filestat

import (
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// many is the number of consecutive lookups in a directory from which opening it saves time.
const many = 4

// A Looker returns metadata of files that do not change meanwhile. For many consecutive files
// of one directory it is faster than [os.Lstat], because it opens the directory and resolves
// its path only once. The zero Looker is ready to use. A nil Looker works as well and keeps
// nothing open. A Looker must not be used concurrently.
type Looker struct {
	dir  string // directory of the last file
	n    int    // number of consecutive lookups in dir
	fd   int    // descriptor of dir, valid if open is true
	open bool
}

// Lstat returns the type of the file at an absolute, clean path, and the Stat of a regular
// file. It does not follow a symbolic link.
func (l *Looker) Lstat(path string) (fs.FileMode, Stat, error) {
	dir, name := l.enter(path)
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	for err == unix.EINTR {
		err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	switch {
	case err != nil:
		return 0, Stat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return typeOf(st.Mode), Stat{}, nil
	}
	return 0, OfUnix(&st), nil
}

// enter returns a directory descriptor and the name of path relative to it.
func (l *Looker) enter(path string) (dir int, name string) {
	i := strings.LastIndexByte(path, '/')
	if l == nil || i < 0 {
		return unix.AT_FDCWD, path
	}
	if path[:i] != l.dir {
		l.Close()
		l.dir = path[:i]
	}
	if l.n++; l.n == many {
		fd, err := unix.Open(l.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		l.fd, l.open = fd, err == nil
	}
	if !l.open {
		return unix.AT_FDCWD, path
	}
	return l.fd, path[i+1:]
}

// Close closes the open directory, if there is one.
func (l *Looker) Close() {
	if l.open {
		unix.Close(l.fd)
	}
	*l = Looker{}
}

// typeOf returns the type bits of a file that is not regular.
func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
