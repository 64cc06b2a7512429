package loaders

import (
	"errors"
	"io/fs"
	"os"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"golang.org/x/sys/unix"
)

// readBeneath reads the regular file rel below d with four system calls; [os.Root] and [os.File]
// need twice as many for each directory and file. The kernel ensures that no symbolic link leads
// out of d.
//
// The error is fs.ErrNotExist for a missing file, or a limit error for an exhausted budget. After
// any other error the caller must try again with the portable implementation, which reports the
// cause: kernels before 5.6 and some sandboxes do not support openat2.
func (l *Local) readBeneath(d *Dir, rel string, limit int64) (c content, err error) {
	if d.handle == nil {
		dir, err := os.OpenFile(d.Real, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return c, errors.ErrUnsupported
		}
		d.handle = dir
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(int(d.handle.Fd()), rel, &how)
	if c.plain = err == nil; err == unix.ELOOP {
		how.Resolve &^= unix.RESOLVE_NO_SYMLINKS
		fd, err = unix.Openat2(int(d.handle.Fd()), rel, &how)
	}
	switch {
	case err == unix.ENOENT:
		return c, fs.ErrNotExist
	case err != nil:
		return c, errors.ErrUnsupported
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > limit {
		return c, errors.ErrUnsupported
	}
	if stat.Size > 0 {
		c.stat = filestat.OfUnix(&stat)
	}
	if l.isKnown(c.stat) {
		return c, nil
	}
	if err := l.budget.take(stat.Size); err != nil {
		return c, err
	}
	c.data, err = readFull(fd, int(stat.Size))
	return c, err
}

// readFull reads size bytes, or fewer if the file ends earlier.
func readFull(fd, size int) ([]byte, error) {
	data := make([]byte, size)
	for n := 0; n < len(data); {
		k, err := unix.Read(fd, data[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, errors.ErrUnsupported
		case k == 0:
			return data[:n], nil
		default:
			n += k
		}
	}
	return data, nil
}
