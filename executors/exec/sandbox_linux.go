package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/executors/internal/sandbox"
	"github.com/krmflow/krmflow/executors/internal/sealed"
	"github.com/krmflow/krmflow/krm/function"
	"golang.org/x/sys/unix"
)

func (c *call) start() (process, error) {
	if c.f.Unsandboxed {
		return c.startPlain()
	}
	return c.startSandboxed()
}

// A sandboxed is a function that runs in a sandbox.
type sandboxed struct {
	call *call
	started
	group group
	pidns bool
}

// A started is a sandbox process that waits for its [sandbox.Spec] on the control connection.
type started struct {
	cmd     *osexec.Cmd
	control *os.File
}

// helper returns the sealed file of the embedded program krmflow-sandbox, nil if this binary has
// none or the machine does not allow such files.
//
// The program is not a file beside krmflow: an attacker who can write to that folder could replace
// the sandbox and run code with the user's rights.
var helper = sync.OnceValue(func() *os.File { return sealedFile(embedded) })

// sealedFile returns a sealed file with the content of a program, nil if that is impossible or
// the content is empty.
func sealedFile(content string) *os.File {
	if content == "" {
		return nil
	}
	p, err := sealed.Read(strings.NewReader(content), maxProgram)
	if err != nil {
		return nil
	}
	return p.File()
}

// start starts a sandbox process with std as its standard files and, if program is not nil, with
// program as the file after the control connection. It runs in the calling thread, which must
// not end before the process.
func (i Isolation) start(std []*os.File, program *os.File, network bool, fork func(*osexec.Cmd) error) (started, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return started{}, os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true)
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	cmd := &osexec.Cmd{
		Path: "/proc/self/exe", Args: sandbox.Args(), Env: sandbox.Env(), Dir: "/",
		ExtraFiles: []*os.File{theirs}, SysProcAttr: i.attributes(network),
	}
	if len(std) == 3 {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = std[0], std[1], std[2]
	}
	if program != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, program)
	}
	if file := helper(); file != nil && !i.whole {
		// In a new user namespace the child may not open the descriptors of its parent in /proc,
		// so it gets one at a known number. The function does not: see proc.CloseOnExec.
		cmd.Path = fmt.Sprintf("/proc/self/fd/%d", firstExtra+len(cmd.ExtraFiles))
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	}
	if err := fork(cmd); err != nil {
		ours.Close()
		return started{}, fmt.Errorf("sandbox: %w", err)
	}
	return started{cmd, ours}, nil
}

// firstExtra is the descriptor of the first of a command's ExtraFiles.
const firstExtra = 3

// attributes returns the namespaces of a sandbox process and its capabilities in them.
func (i Isolation) attributes(network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if !i.UserNS {
		return a
	}
	// If the first process of a PID namespace is killed, the kernel kills all others. Without a
	// namespace (above), the sandbox process must survive its parent: it has to kill the function's
	// processes itself, when the control connection is closed.
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = userFlags
	if i.NetNS && !network {
		a.Cloneflags |= netFlags
	}
	if i.MountNS {
		a.Cloneflags |= mntFlags
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // in the new namespaces, for mounting
		// Map the user to nobody, who then owns the user's files in the namespace.
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// nobody is the user and group id of a function in its namespace.
const nobody = 65534

// spec returns the common part of the specification for sandboxes of this kind. own is the
// directory that contains the function's writable files, and size its size in bytes if it is a
// separate file system.
func (i Isolation) spec(own string, size int64) sandbox.Spec {
	s := sandbox.Spec{Landlock: i.Landlock, Seccomp: i.Seccomp, Init: i.UserNS}
	if i.MountNS {
		s.Mounts = &sandbox.Mounts{Own: own, Size: size}
	}
	return s
}

// startSandboxed starts the sandbox process in the calling thread, which must not end before the
// function.
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
	spec := iso.spec(c.own, c.f.Limits.Memory/2)
	spec.Path, spec.Args, spec.Env, spec.Dir = c.path, c.argv(), c.env(), c.f.Dir
	spec.Network, spec.Counted, spec.Rules, spec.Limits = c.f.Network != "", b.group.memory != "", c.rules(b.group.memory != ""),
		limits(c.f.Limits)
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
	if err != nil && !errors.Is(err, syscall.EPIPE) { // wait reports the reason for EPIPE
		b.kill()
	}
	return b, nil
}

// load measures the function without the sandbox process.
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

// end converts the report of the sandbox, or the error err of reading it, to the end of the
// function.
func (b *sandboxed) end(r sandbox.Report, err error) ended {
	switch {
	case err != nil && b.cmd.ProcessState.Success():
		return ended{err: errors.New("the sandbox ended without a report")}
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

// noNewPrivileges prevents processes started by this thread from gaining privileges through
// setuid programs.
func noNewPrivileges() { unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// limit sets the limits of a process that was just started.
func limit(pid int, l function.Limits) {
	for _, r := range limits(l) {
		unix.Prlimit(pid, r.Resource, &unix.Rlimit{Cur: r.Max, Max: r.Max}, nil)
	}
}

// limits returns the limits of a single process. The address space is not limited, because some
// runtimes reserve far more than they use.
func limits(l function.Limits) []sandbox.Limit {
	return []sandbox.Limit{
		{Resource: unix.RLIMIT_CORE, Max: 0},
		{Resource: unix.RLIMIT_NOFILE, Max: 1024},
		{Resource: unix.RLIMIT_FSIZE, Max: uint64(max(l.Output, 1<<30))},
		// Above the function's limit, see [call.look].
		{Resource: unix.RLIMIT_DATA, Max: uint64(2*l.Memory + 1<<30)},
	}
}
