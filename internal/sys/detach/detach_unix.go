//go:build unix && !linux

package detach

import (
	"os/exec"
	"syscall"
)

// Command gives cmd a session of its own, without a terminal to ask on. It is killed with all that it has started.
func Command(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
