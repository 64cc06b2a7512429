//go:build !unix

package bench

import "os"

func peak(*os.ProcessState) int64 { return 0 }

// SelfPeak returns the largest resident memory that this process had so far, in bytes, or 0 where the system does not tell.
func SelfPeak() int64 { return 0 }
