// Package detach starts programs in their own session, so that they cannot prompt on krmflow's
// terminal and do not outlive krmflow.
package detach

import (
	"os/exec"
	"syscall"
)

// Command makes cmd run in a new session, without a controlling terminal to prompt on.
// Canceling cmd kills its whole process group. On Linux the kernel also kills cmd itself when
// the thread that started it exits.
func Command(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
