//go:build unix

package limits

import (
	"syscall"
	"time"
)

// cpuTime returns how much processor time this process has taken, without that of the system: to write thousands of files can take a hundred
// times as long on a file system where as many were removed a moment ago.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
