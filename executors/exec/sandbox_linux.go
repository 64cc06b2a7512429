package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/executors/internal/sandbox"
	"github.com/krmflow/krmflow/krm/function"
	"golang.org/x/sys/unix"
)

func (c *call) start() (process, error) {
	if c.f.Unsandboxed {
		return c.startPlain()
	}
	return c.startSandboxed()
}

// A sandboxed process is a function that runs in a sandbox.
type sandboxed struct {
	call *call
	started
	group group
	pidns bool
}

// A started sandbox process waits for its [sandbox.Spec] on the control connection.
type started struct {
	cmd     *osexec.Cmd
	control *os.File
}

// start starts a sandbox process with these files as standard ones and the program as the one after the connection, nil for none,
// in the calling thread, which must stay until the process has ended.
func (i Isolation) start(std []*os.File, program *os.File, network bool, fork func(*osexec.Cmd) error) (started, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return started{}, os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true)
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	cmd := &osexec.Cmd{
		// The function's own variables could make the sandbox's process load what nobody has verified, before it gives up its rights.
		Path: "/proc/self/exe", Args: sandbox.Args(), Env: []string{}, Dir: "/",
		ExtraFiles: []*os.File{theirs}, SysProcAttr: i.attributes(network),
	}
	if len(std) == 3 {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = std[0], std[1], std[2]
	}
	if program != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, program)
	}
	if err := fork(cmd); err != nil {
		ours.Close()
		return started{}, fmt.Errorf("sandbox: %w", err)
	}
	return started{cmd, ours}, nil
}

// attributes are the namespaces of a sandbox process and the right that it needs in them.
func (i Isolation) attributes(network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if !i.UserNS {
		return a
	}
	// The first process of a namespace takes all others with it. Without one it has to end them itself first, and learns
	// from the end of the control connection that it should.
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = userFlags
	if i.NetNS && !network {
		a.Cloneflags |= netFlags
	}
	if i.MountNS {
		a.Cloneflags |= mntFlags
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // in the new namespaces, to mount
		// Files have owners. The function is nobody, who owns the files of the user.
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// nobody is the user and the group that a function sees itself as.
const nobody = 65534

// spec is what all sandboxes of this kind have in common; own is the directory that holds what a function may write.
func (i Isolation) spec(own string, size int64) sandbox.Spec {
	s := sandbox.Spec{Landlock: i.Landlock, Seccomp: i.Seccomp, Init: i.UserNS}
	if i.MountNS {
		s.Mounts = &sandbox.Mounts{Own: own, Size: size}
	}
	return s
}

// startSandboxed starts the sandbox process in the calling thread, which must stay until the function has ended.
func (c *call) startSandboxed() (process, error) {
	iso := c.x.isolation()
	var program *os.File
	if c.path == "" {
		program = c.p.File()
	}
	p, err := iso.start(c.theirs[:], program, c.f.Network != "", func(cmd *osexec.Cmd) error {
		return c.x.calls.start(func() (int, error) {
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
	})
	if err != nil {
		return nil, err
	}
	b := &sandboxed{call: c, started: p, pidns: iso.UserNS, group: newGroup(p.cmd.Process.Pid, c.f.Limits)}
	spec := iso.spec(c.own(), c.f.Limits.Memory/2)
	spec.Path, spec.Args, spec.Env, spec.Dir = c.path, c.argv(), c.env(), c.f.Dir
	spec.Network, spec.Counted, spec.Rules, spec.Limits = c.f.Network != "", b.group.memory != "", c.rules(b.group.memory != ""), limits(c.f.Limits)
	if spec.Mounts != nil {
		spec.Mounts.Dirs = ownDirs
		for _, m := range c.f.Mounts {
			if m.Type == "bind" && m.Source != "" && m.Writable {
				spec.Mounts.Writable = append(spec.Mounts.Writable, m.Source)
			}
		}
	}
	if iso.UserNS && iso.Landlock >= 2 { // Linux 5.19: processes are counted per namespace
		spec.Limits = append(spec.Limits, sandbox.Limit{Resource: unix.RLIMIT_NPROC, Max: uint64(c.f.Limits.Procs + sandbox.Threads)})
	}
	err = json.NewEncoder(b.control).Encode(spec)
	if err != nil && !errors.Is(err, syscall.EPIPE) { // wait sees what became of it
		b.kill()
	}
	return b, nil
}

// load leaves the sandbox's own process out.
func (b *sandboxed) load(limit int64) proc.Load {
	l := proc.Measure(b.cmd.Process.Pid, false, limit)
	if b.group.exhausted() {
		l.Memory = limit + 1
	}
	return l
}

func (b *sandboxed) terminate() { b.cmd.Process.Signal(syscall.SIGTERM) }

func (b *sandboxed) kill() {
	if b.pidns {
		b.cmd.Process.Kill()
		return
	}
	if conn, err := b.control.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
	time.AfterFunc(time.Second, func() { b.cmd.Process.Kill() })
}

func (b *sandboxed) wait() ended {
	var r sandbox.Report
	err := json.NewDecoder(b.control).Decode(&r)
	b.cmd.Wait()
	b.control.Close()
	b.call.x.calls.sweep(b.cmd.Process.Pid)
	crowded, exhausted := b.group.refused() || r.Left >= max(1, b.call.f.Limits.Procs-1), b.group.exhausted()
	b.group.close()
	e := b.end(r, err)
	e.crowded, e.exhausted = crowded, exhausted
	return e
}

// end makes what the sandbox has reported, or err, the end of the function.
func (b *sandboxed) end(r sandbox.Report, err error) ended {
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
func limit(pid int, l function.Limits) {
	for _, r := range limits(l) {
		unix.Prlimit(pid, r.Resource, &unix.Rlimit{Cur: r.Max, Max: r.Max}, nil)
	}
}

// limits returns what a single process may use. The address space is no measure: runtimes reserve far more than they need.
func limits(l function.Limits) []sandbox.Limit {
	return []sandbox.Limit{
		{Resource: unix.RLIMIT_CORE, Max: 0},
		{Resource: unix.RLIMIT_NOFILE, Max: 1024},
		{Resource: unix.RLIMIT_FSIZE, Max: uint64(max(l.Output, 1<<30))},
		{Resource: unix.RLIMIT_DATA, Max: uint64(2*l.Memory + 1<<30)}, // see [call.look]
	}
}
