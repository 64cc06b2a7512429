//go:build !linux

package main

import "os"

// peakMB returns 0 where the system uses other units or does not measure memory.
func peakMB(*os.ProcessState) int64 { return 0 }
