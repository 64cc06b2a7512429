//go:build unix && !linux

package detach

import (
	"os/exec"
	"syscall"
)

// Command makes cmd run in a new session, without a controlling terminal to prompt on.
// Canceling cmd kills its whole process group.
func Command(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
