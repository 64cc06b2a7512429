//go:build unix && !linux

package proc

import "syscall"

// Detached starts a child in a new session without a terminal.
func Detached(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signal sends a signal to the process group of pid.
func Signal(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }
