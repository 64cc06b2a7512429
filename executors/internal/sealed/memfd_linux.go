package sealed

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// create returns an empty anonymous file that can be executed, nil if the machine does not allow one.
func create() (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("krmflow-program", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("krmflow-program", flags)
	}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // for instance vm.memfd_noexec=2
		return nil, nil
	case err != nil:
		return nil, os.NewSyscallError("memfd_create", err)
	}
	// Far above the descriptors that a fork moves about.
	if high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 512); err == nil {
		unix.Close(fd)
		fd = high
	}
	return os.NewFile(uintptr(fd), "krmflow-program"), nil
}

// seal makes the content of f final and keeps it executable: a program can open the file that it runs from.
func seal(f *os.File) error {
	unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_EXEC) // since Linux 6.3
	_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	return os.NewSyscallError("fcntl", err)
}
