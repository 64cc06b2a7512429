package main

import (
	"os"
	"syscall"
)

// peakMB returns the most memory that a process has had.
func peakMB(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss >> 10
}
