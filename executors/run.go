package executors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/internal/bounded"
	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/executors/internal/sealed"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// maxProgram is the maximum size of a third-party program in bytes.
const maxProgram = 1 << 30

type execCmd = osexec.Cmd

// A run is the process of an executor. It implements go-plugin's Runner. The default runner of
// go-plugin is not suitable: its processes inherit the host's standard input, do not notice the
// death of the host, and their exit status is discarded.
type run struct {
	program Program
	dir     string
	env     []string
	sealed  *sealed.Program // content of a third-party program

	stdin   *os.File // write end, held by the host
	stdout  *os.File
	stderr  messagePipe
	pid     int
	done    chan struct{} // closed when the process has ended
	cleared chan struct{} // closed when its remaining processes have ended also
	state   string        // exit status; read it only after done is closed
	started atomic.Bool
}

// A messagePipe is the read end of an executor's standard error. go-plugin reads from it and
// writes the text back to it; it keeps the beginning for messages.
type messagePipe struct {
	bounded.Head
	file *os.File
	over chan struct{} // closed at the end of the pipe
	once sync.Once
}

func (m *messagePipe) Read(p []byte) (int, error) {
	n, err := m.file.Read(p)
	if err != nil {
		m.once.Do(func() { close(m.over) })
	}
	return n, err
}

func (m *messagePipe) Close() error { return m.file.Close() }

// text returns the beginning of the standard error. It waits a short time for the pipe to end,
// because output of an ended process may not have been read yet.
func (m *messagePipe) text() string {
	select {
	case <-m.over:
	case <-time.After(grace / 4):
	}
	return strings.TrimSpace(m.String())
}

// line returns the first line of text.
func (m *messagePipe) line() string {
	line, _, _ := strings.Cut(m.text(), "\n")
	return strings.TrimSpace(line)
}

func newRun(p Program, dir string) *run {
	return &run{
		program: p, dir: dir, env: append(p.Env, "TMPDIR="+dir, "TEMP="+dir, "TMP="+dir),
		stderr: messagePipe{Head: bounded.Head{Limit: 4096}, over: make(chan struct{})}, done: make(chan struct{}),
		cleared: make(chan struct{}),
	}
}

// Verify returns an error if a third-party program does not have its digest. [Start] verifies
// the digest itself; Verify is for callers that want to know earlier.
func (p Program) Verify() error {
	s, err := p.seal()
	if s != nil {
		s.Close()
	}
	return err
}

// seal reads a third-party program and compares its digest. It returns nil for krmflow itself.
// The result must be closed even if there is an error.
func (p Program) seal() (*sealed.Program, error) {
	if p.Path == "" {
		return nil, nil
	}
	var s *sealed.Program
	f, err := os.Open(p.Path)
	if err == nil {
		defer f.Close()
		s, err = sealed.Read(f, maxProgram)
	}
	switch {
	case err != nil:
		var pe *fs.PathError
		if errors.As(err, &pe) {
			pe.Path = diag.Redact(pe.Path) // the path may be a mistyped address with credentials
		}
		return s, &Error{Code: Invalid, Msg: fmt.Sprintf("executor %s: %v", p.Kind, err)}
	case p.Digest == krm.Digest{}:
		return s, (&Error{Code: Denied, Msg: fmt.Sprintf("executor %s: %s has no digest to verify it", p.Kind, p.Path)}).Hint(
			"its digest is %s", s.Digest)
	case s.Digest != p.Digest:
		return s, (&Error{Code: Verification, Msg: fmt.Sprintf("executor %s: %s is not the program that was allowed", p.Kind, p.Path)}).
			Hint("want %s", p.Digest).Hint("got  %s", s.Digest)
	}
	return s, nil
}

// command returns the path and arguments of the process.
func (r *run) command() (path string, args []string, err error) {
	if r.sealed == nil {
		path, err = self()
		return path, []string{"krmflow", "executor", r.program.Kind}, err
	}
	args = []string{r.program.Path}
	if f := r.sealed.File(); f != nil && !strings.HasPrefix(string(r.sealed.Head), "#!") {
		return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()), args, nil
	}
	path, err = r.sealed.Copy(r.dir, "executor")
	return path, args, err
}

// self returns a path of the running program that is valid on Linux even if its file has been
// replaced.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// Start implements go-plugin's Runner.
func (r *run) Start(context.Context) error {
	path, args, err := r.command()
	if err != nil {
		return err
	}
	var ends []*os.File // inherited by the child
	defer func() {
		for _, f := range ends {
			f.Close()
		}
	}()
	pipe := func() (rd, wr *os.File) {
		if err == nil {
			rd, wr, err = os.Pipe()
		}
		return rd, wr
	}
	in, hostIn := pipe()
	hostOut, out := pipe()
	hostErr, errw := pipe()
	if err != nil {
		return err
	}
	ends = []*os.File{in, out, errw}
	r.stdin, r.stdout, r.stderr.file = hostIn, hostOut, hostErr
	cmd := &osexec.Cmd{
		Path: path, Args: args, Env: r.env, Dir: r.dir, Stdin: in, Stdout: out, Stderr: errw,
		SysProcAttr: proc.Detached(syscall.SIGTERM),
	}
	result := make(chan error, 1)
	go func() {
		// On Linux the parent-death signal is sent when the thread that started the child ends.
		// Keep the thread until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.fork(cmd)
		result <- err
		if err != nil {
			return
		}
		cmd.Wait()
		processes.Delete(r.pid)
		r.state = cmd.ProcessState.String()
		close(r.done)
		// krmflow's own executors clean up before they exit successfully.
		if !cmd.ProcessState.Success() || r.program.Path != "" {
			lingering(r.program.Linger)
			orphans()
		}
		close(r.cleared)
	}()
	err = <-result
	r.started.Store(err == nil)
	return err
}

// processes contains the ids of the running executors. starting prevents [orphans] from running
// between the start of a process and its entry in processes.
var (
	processes sync.Map
	starting  sync.RWMutex
)

func (r *run) fork(cmd *execCmd) error {
	starting.RLock()
	defer starting.RUnlock()
	err := cmd.Start()
	if err == nil {
		r.pid = cmd.Process.Pid
		processes.Store(r.pid, true)
	}
	return err
}

// left reports whether pid is a process that an ended executor left running. Such a process has
// become a child of this process without being started by it, and it has a different session.
func left(pid int) bool {
	sid := proc.Session(pid)
	_, executor := processes.Load(pid)
	return sid != 0 && sid != proc.Session(0) && !executor
}

// lingering waits up to d for the remaining processes of a crashed executor to end by
// themselves.
func lingering(d time.Duration) {
	running := func(pid int) bool { return left(pid) && !proc.Zombie(pid) }
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !slices.ContainsFunc(proc.Adopted(), running) {
			return
		}
	}
}

// orphans kills the remaining processes of an ended executor.
func orphans() {
	starting.Lock()
	defer starting.Unlock()
	if slices.ContainsFunc(proc.Adopted(), left) {
		proc.KillAll(func(pid int) bool { return !left(pid) })
	}
}

// stop ends the process and its remaining processes. It closes the standard input, which asks
// the executor to exit, and kills the process if it does not.
func (r *run) stop() {
	if !r.started.Load() {
		return
	}
	r.stdin.Close()
	select {
	case <-r.done:
	case <-time.After(2 * grace):
		r.kill()
	}
	select {
	case <-r.cleared:
	case <-time.After(r.program.Linger + 2*grace):
	}
}

// kill kills the process and its group immediately.
func (r *run) kill() {
	if !r.started.Load() {
		return
	}
	select {
	case <-r.done:
	default:
		proc.Signal(r.pid, syscall.SIGKILL)
		select {
		case <-r.done:
		case <-time.After(grace):
		}
	}
	// A descendant may have inherited the other ends and keep them open.
	r.stdout.SetReadDeadline(time.Now().Add(grace / 4))
	r.stderr.file.SetReadDeadline(time.Now().Add(grace / 4))
}

// release closes the files of the run.
func (r *run) release() {
	for _, f := range []*os.File{r.stdin, r.stdout, r.stderr.file} {
		if f != nil {
			f.Close()
		}
	}
	if r.sealed != nil {
		r.sealed.Close()
	}
}

// crashed returns the error for a process that ended while f was running. A panic is reported as
// an internal error, which is a bug of the executor or of krmflow.
func (r *run) crashed(f function.Function) *Error {
	name := f.Name
	if f.Node != "" {
		name += " (" + f.Node + ")"
	}
	e := &Error{Code: Failed, Msg: fmt.Sprintf("executor %s crashed (%s) while running %s", r.program.Kind, r.state, name)}
	if text := r.stderr.text(); strings.Contains(text, "panic: ") || strings.Contains(text, "fatal error: ") {
		e.Code = Internal
	}
	r.said(e)
	return e
}

// said adds the standard error of the process to the hints of e. The text may contain data of
// functions, so it is shown only on request.
func (r *run) said(e *Error) {
	text := r.stderr.text()
	switch {
	case text == "":
	case os.Getenv("KRMFLOW_DEBUG") == "":
		e.Hint("set KRMFLOW_DEBUG=1 to show its output; check it for secrets before you share it")
	default:
		e.Hints = append(e.Hints, strings.Split("it said: "+text, "\n")...)
	}
}

// describe returns the error for an executor that could not be started.
func (r *run) describe(code Code, err error) *Error {
	name := r.program.Path
	if name == "" {
		name = "krmflow executor " + r.program.Kind
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	if len(reason) > 200 {
		reason = reason[:200] + "..."
	}
	select {
	case <-r.done:
		reason += " (" + r.state + ")"
	default:
	}
	e := &Error{Code: code, Msg: fmt.Sprintf("executor %s: %s does not speak the executor protocol: %s", r.program.Kind, name, reason)}
	if line := r.stderr.line(); line != "" {
		e.Hint("it said: %s", line)
	}
	return e
}

// The remaining methods of go-plugin's Runner.

func (r *run) Diagnose(context.Context) string { return "" }
func (r *run) Stdout() io.ReadCloser           { return r.stdout }
func (r *run) Stderr() io.ReadCloser           { return &r.stderr }
func (r *run) Name() string                    { return r.program.Kind }
func (r *run) ID() string                      { return strconv.Itoa(r.pid) }

func (r *run) Wait(context.Context) error {
	<-r.done
	return nil
}

func (r *run) Kill(context.Context) error {
	r.kill()
	return nil
}

func (r *run) PluginToHost(network, addr string) (string, string, error) { return network, addr, nil }
func (r *run) HostToPlugin(network, addr string) (string, string, error) { return network, addr, nil }
