package main

import (
	"os"
	"syscall"
)

// peakMB returns the peak memory of a process.
func peakMB(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss >> 10
}
