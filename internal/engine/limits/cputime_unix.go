//go:build unix

package limits

import (
	"syscall"
	"time"
)

// cpuTime returns the user processor time of this process. System time is excluded because it
// varies too much: writing thousands of files can take a hundred times longer on a file system
// where as many were just removed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
