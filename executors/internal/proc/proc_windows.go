package proc

import (
	"os"
	"syscall"
)

// Detached starts a child in a new process group.
func Detached(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Signal kills pid. Windows has no other signals.
func Signal(pid int, sig syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
		p.Release()
	}
}
