//go:build unix && !linux

package remote

import (
	"os/exec"
	"syscall"
)

// detach gives cmd a session of its own, without a terminal to ask on. It is killed with all that it has started.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
