package loaders

import (
	"errors"
	"io/fs"
	"os"

	"github.com/krmflow/krmflow/krm"
	"golang.org/x/sys/unix"
)

// readBeneath reads the regular file rel below d in four system calls, where [os.Root] and [os.File] need twice as many
// for each folder and file. The kernel sees to it that no symbolic link leads out of d. The error is fs.ErrNotExist if
// there is no such file; after any other the caller finds out by the portable way what is wrong, if anything: kernels
// before 5.6 and some sandboxes do not know the call.
func (d *Dir) readBeneath(rel string) ([]byte, error) {
	if d.handle == nil {
		dir, err := os.OpenFile(d.Real, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, errors.ErrUnsupported
		}
		d.handle = dir
	}
	fd, err := unix.Openat2(int(d.handle.Fd()), rel, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch {
	case err == unix.ENOENT:
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, errors.ErrUnsupported
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > krm.MaxFile {
		return nil, errors.ErrUnsupported
	}
	data := make([]byte, stat.Size)
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
