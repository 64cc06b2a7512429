//go:build unix

package profile

import (
	"syscall"
	"time"
)

// cpuTime returns how much processor time this process has taken, and those that it has waited for.
func cpuTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}
