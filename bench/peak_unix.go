//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return maxrss(usage)
}

// SelfPeak returns the largest resident memory that this process had so far, in bytes, or 0 where the system does not tell.
func SelfPeak() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return maxrss(&usage)
}

// maxrss is in bytes: macOS counts bytes, the others KiB.
func maxrss(usage *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
