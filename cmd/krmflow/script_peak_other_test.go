//go:build !linux

package main

import "os"

// peakMB is 0 where the system counts in other units or not at all.
func peakMB(*os.ProcessState) int64 { return 0 }
