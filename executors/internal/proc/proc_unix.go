//go:build unix && !linux

package proc

import "syscall"

// Detached puts a child into a session of its own, without a terminal.
func Detached(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Signal sends a signal to the process group of pid.
func Signal(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }
