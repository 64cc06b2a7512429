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

// SelfPeak returns the maximum resident set size of this process in bytes, or 0 if the system
// does not report it.
func SelfPeak() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return maxrss(&usage)
}

// maxrss converts the maximum resident set size to bytes. macOS reports bytes, other systems
// KiB.
func maxrss(usage *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// terminate asks a process to end.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
