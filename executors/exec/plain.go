package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"syscall"

	"github.com/krmflow/krmflow/executors/internal/proc"
)

// A plain is a function that runs without a sandbox, in a separate session.
type plain struct {
	call *call
	cmd  *osexec.Cmd
}

// startPlain starts the function in the calling thread, which must not end before the function.
func (c *call) startPlain() (process, error) {
	noNewPrivileges()
	path := c.path
	if path == "" {
		// Use the process id of this process instead of /proc/self: in the child the file
		// descriptor may be a different file by the time it is executed.
		path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), c.p.File().Fd())
	}
	cmd := &osexec.Cmd{
		Path: path, Args: c.argv(), Env: c.env(), Dir: c.f.Dir,
		Stdin: c.theirs[0], Stdout: c.theirs[1], Stderr: c.theirs[2],
		SysProcAttr: proc.Detached(syscall.SIGKILL),
	}
	p := &plain{call: c, cmd: cmd}
	return p, c.x.calls.start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		limit(cmd.Process.Pid, c.f.Limits)
		return cmd.Process.Pid, nil
	})
}

func (p *plain) load(limit int64) proc.Load { return proc.Measure(p.cmd.Process.Pid, true, limit) }

func (p *plain) terminate() { proc.Signal(p.cmd.Process.Pid, syscall.SIGTERM) }

func (p *plain) kill() {
	proc.KillBelow(p.cmd.Process.Pid)
	proc.Signal(p.cmd.Process.Pid, syscall.SIGKILL)
}

func (p *plain) wait() ended {
	p.cmd.Wait()
	pid := p.cmd.Process.Pid
	proc.Signal(pid, syscall.SIGKILL) // the rest of its process group
	p.call.x.calls.sweep(pid)
	return endOf(p.cmd.ProcessState)
}
