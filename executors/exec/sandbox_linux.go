package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/executors/internal/box"
	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/krm"
	"golang.org/x/sys/unix"
)

func (c *call) start() (process, error) {
	if c.f.Unsandboxed {
		return c.startPlain()
	}
	return c.startSandboxed()
}

// A boxed process is a function that runs in a sandbox.
type boxed struct {
	call    *call
	cmd     *osexec.Cmd
	control *os.File
	group   group
	pidns   bool
}

// startSandboxed starts the sandbox process in the calling thread, which must stay until the function has ended.
func (c *call) startSandboxed() (process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true)
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	iso := c.x.isolation()
	cmd := &osexec.Cmd{
		// The function's own variables could make the sandbox's process load what nobody has verified, before it gives up its rights.
		Path: "/proc/self/exe", Args: box.Args(), Env: []string{}, Dir: "/",
		Stdin: c.theirs[0], Stdout: c.theirs[1], Stderr: c.theirs[2], ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if c.path == "" {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.p.File())
	}
	if iso.UserNS {
		cmd.SysProcAttr.Cloneflags = userFlags
		// The first process of a namespace takes all others with it. Without one it has to end them itself first, and learns
		// from the end of the control connection that it should.
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		if iso.NetNS && c.f.Network == "" {
			cmd.SysProcAttr.Cloneflags |= netFlags
		}
	}
	b := &boxed{call: c, cmd: cmd, control: ours, pidns: iso.UserNS}
	err = c.x.calls.start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	b.group = newGroup(cmd.Process.Pid, c.f.Limits.Procs)
	spec := box.Spec{
		Path: c.path, Args: c.argv(), Env: c.env(), Dir: c.f.Dir, Rules: c.rules(), Network: c.f.Network != "", Limits: limits(c.f.Limits),
		Landlock: iso.Landlock, Seccomp: iso.Seccomp, Init: iso.UserNS,
	}
	if iso.UserNS && iso.Landlock >= 2 { // Linux 5.19: processes are counted per namespace
		spec.Limits = append(spec.Limits, box.Limit{Resource: unix.RLIMIT_NPROC, Max: uint64(c.f.Limits.Procs + box.Threads)})
	}
	err = json.NewEncoder(ours).Encode(spec)
	if err != nil && !errors.Is(err, syscall.EPIPE) { // wait sees what became of it
		b.kill()
	}
	return b, nil
}

// load leaves the sandbox's own process out.
func (b *boxed) load(limit int64) proc.Load { return proc.Measure(b.cmd.Process.Pid, false, limit) }

func (b *boxed) terminate() { b.cmd.Process.Signal(syscall.SIGTERM) }

func (b *boxed) kill() {
	if b.pidns {
		b.cmd.Process.Kill()
		return
	}
	if conn, err := b.control.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
	time.AfterFunc(time.Second, func() { b.cmd.Process.Kill() })
}

func (b *boxed) wait() ended {
	var r box.Report
	err := json.NewDecoder(b.control).Decode(&r)
	b.cmd.Wait()
	b.control.Close()
	b.call.x.calls.sweep(b.cmd.Process.Pid)
	crowded := b.group.refused() || r.Left >= max(1, b.call.f.Limits.Procs-1)
	b.group.close()
	e := b.end(r, err)
	e.crowded = crowded
	return e
}

// end makes what the sandbox has reported, or err, the end of the function.
func (b *boxed) end(r box.Report, err error) ended {
	switch {
	case err != nil && b.cmd.ProcessState.Success():
		return ended{err: errors.New("the sandbox ended without a word")}
	case err != nil:
		e := endOf(b.cmd.ProcessState)
		if e.signal == 0 {
			e.err = fmt.Errorf("the sandbox ended: %v", b.cmd.ProcessState)
		}
		return e
	case r.Error != "":
		return ended{err: errors.New(r.Error)}
	}
	ws := syscall.WaitStatus(r.Status)
	if ws.Signaled() {
		return ended{signal: ws.Signal()}
	}
	return ended{code: ws.ExitStatus()}
}

// noNewPrivileges keeps what this thread starts from gaining rights by setuid programs.
func noNewPrivileges() { unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// limit bounds a process that was just started.
func limit(pid int, l krm.Limits) {
	for _, r := range limits(l) {
		unix.Prlimit(pid, r.Resource, &unix.Rlimit{Cur: r.Max, Max: r.Max}, nil)
	}
}

// limits returns what a single process may use. The address space is no measure: runtimes reserve far more than they need.
func limits(l krm.Limits) []box.Limit {
	return []box.Limit{
		{Resource: unix.RLIMIT_CORE, Max: 0},
		{Resource: unix.RLIMIT_NOFILE, Max: 1024},
		{Resource: unix.RLIMIT_FSIZE, Max: uint64(max(l.Output, 1<<30))},
		{Resource: unix.RLIMIT_DATA, Max: uint64(2*l.Memory + 1<<30)}, // see [call.look]
	}
}
