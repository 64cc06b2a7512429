package remote

import (
	"os/exec"
	"syscall"
)

// detach gives cmd a session of its own, without a terminal to ask on. It is killed with all that it has started, and when the
// thread that starts it ends.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
