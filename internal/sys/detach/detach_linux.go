// Package detach keeps the programs that krmflow starts away from the terminal, and from outliving it.
package detach

import (
	"os/exec"
	"syscall"
)

// Command gives cmd a session of its own, without a terminal to ask on. It is killed with all that it has started, and when the
// thread that starts it ends.
func Command(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
