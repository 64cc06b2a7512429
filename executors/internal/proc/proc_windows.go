package proc

import (
	"os"
	"syscall"
)

// Detached puts a child into a process group of its own.
func Detached(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Signal ends pid: there are no other signals here.
func Signal(pid int, sig syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
		p.Release()
	}
}
