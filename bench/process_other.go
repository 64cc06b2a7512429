//go:build !unix

package bench

import "os"

func peak(*os.ProcessState) int64 { return 0 }

// SelfPeak returns the maximum resident set size of this process in bytes, or 0 if the system
// does not report it.
func SelfPeak() int64 { return 0 }

// terminate ends a process.
func terminate(p *os.Process) error { return p.Kill() }
