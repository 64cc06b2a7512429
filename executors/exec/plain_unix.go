//go:build unix

package exec

import (
	"os"
	"syscall"
)

// endOf returns the signal or exit code of an ended process.
func endOf(s *os.ProcessState) ended {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ended{signal: ws.Signal()}
	}
	return ended{code: s.ExitCode()}
}
