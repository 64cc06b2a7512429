package sealed

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// create returns an empty executable anonymous file, nil if the machine does not allow one.
func create() (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("krmflow-program", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("krmflow-program", flags)
	}
	switch {
	// for instance with vm.memfd_noexec=2
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return nil, nil
	case err != nil:
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return fileAbove(fd), nil
}

// fileAbove returns a file for fd with a high descriptor number, above the descriptors that
// ForkExec rearranges.
func fileAbove(fd int) *os.File {
	if high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 512); err == nil {
		unix.Close(fd)
		fd = high
	}
	return os.NewFile(uintptr(fd), "krmflow-program")
}

// final are the seals that make the content immutable.
const final = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// open opens a file that another process has sealed.
func open(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := fileAbove(fd)
	if seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil || seals&final != final {
		f.Close()
		return nil, errors.New("it is not sealed")
	}
	return f, nil
}

// seal makes the content of f immutable and keeps f executable. Sealing is needed because a
// program can open the file that it runs from.
func seal(f *os.File) error {
	unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_EXEC) // since Linux 6.3
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, final)
	return os.NewSyscallError("fcntl", err)
}
