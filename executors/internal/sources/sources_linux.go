// Package sources opens what functions get to see of the machine.
package sources

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open returns what is at an absolute path that no symbolic link is a part of: whoever mounts that, and not what the path leads
// to later, mounts what was looked at. The file can be examined, but not read.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err == nil && real != path {
		err = fmt.Errorf("the source %s is or passes a symbolic link to %s", path, real)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
