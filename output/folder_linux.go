package output

import (
	"errors"
	"io/fs"
	"os"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"golang.org/x/sys/unix"
)

// The methods below use system calls directly. An output can have tens of thousands of small
// files, and setting up an os.File takes more system calls than reading or writing one.

func (d *folder) create(name string, data []byte, perm fs.FileMode) error {
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, uint32(perm.Perm()))
	if err != nil {
		return err
	}
	for len(data) > 0 && err == nil {
		var n int
		if n, err = unix.Write(fd, data); err == unix.EINTR {
			n, err = 0, nil
		}
		data = data[max(n, 0):]
	}
	if cerr := unix.Close(fd); err == nil && cerr != unix.EINTR {
		err = cerr
	}
	return pathError("write", name, err)
}

func (d *folder) read(name string, buf []byte) (int, fs.FileMode, error) {
	// Without O_NONBLOCK, opening a FIFO would block until it has a writer.
	fd, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, 0, pathError("stat", name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, 0, notRegular(name)
	}
	got := 0
	for got < len(buf) && int64(got) < st.Size {
		n, err := unix.Read(fd, buf[got:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return got, 0, pathError("read", name, err)
		}
		if n == 0 {
			break
		}
		got += n
	}
	return got, fs.FileMode(st.Mode).Perm(), nil
}

func (d *folder) stat(name string) (filestat.Stat, int64, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return filestat.Stat{}, 0, pathError("stat", name, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return filestat.Stat{}, 0, notRegular(name)
	}
	return filestat.OfUnix(&st), st.Size, nil
}

func (d *folder) sub(name string) (*folder, error) {
	fd, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &folder{f: os.NewFile(uintptr(fd), name), fd: fd}, nil
}

func (d *folder) open(name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		if err != unix.EINTR {
			return fd, pathError("open", name, err)
		}
	}
}

// entries opens a new file for listing, because ReadDir on a file from an os.Root stats every
// entry.
func (d *folder) entries() ([]fs.DirEntry, error) {
	if d.root == nil {
		return d.f.ReadDir(-1)
	}
	fd, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.ReadDir(-1)
}

func (d *folder) link(from *folder, name string) error {
	err := unix.Linkat(from.fd, name, d.fd, name, 0)
	switch err {
	case unix.EPERM, unix.EMLINK, unix.EXDEV, unix.EOPNOTSUPP, unix.ENOSYS:
		return errors.ErrUnsupported
	}
	return pathError("link", name, err)
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
