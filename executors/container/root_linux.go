package container

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openIn returns what is at path in the file system that a process sees.
func openIn(pid int, path string) (*os.File, error) {
	root, err := os.OpenFile(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// The image may have symbolic links, which must not lead out of it here either.
	fd, err := unix.Openat2(int(root.Fd()), path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
