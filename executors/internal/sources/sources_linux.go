// Package sources opens the sources of functions' bind mounts.
package sources

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens an absolute path that contains no symbolic links. The file can be examined and
// compared, but not read. Comparing it with the mounted file shows whether the path still leads
// to the examined file.
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
