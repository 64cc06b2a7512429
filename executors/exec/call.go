package exec

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/bounded"
	"github.com/krmflow/krmflow/executors/internal/dirs"
	"github.com/krmflow/krmflow/executors/internal/proc"
	"github.com/krmflow/krmflow/executors/internal/sources"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

const (
	// termGrace is the time between SIGTERM and SIGKILL.
	termGrace = 2 * time.Second
	// lookEvery is the minimum interval between measurements of a function's memory. The interval
	// is at least lookShare times the duration of a measurement, which bounds the cost.
	lookEvery = 100 * time.Millisecond
	lookShare = 20
	// drain is the time to wait for more output after a function and all its processes have ended.
	drain = 500 * time.Millisecond
)

// A call is one run of a function.
type call struct {
	x    *Executor
	f    function.Function
	p    *program
	dir  string // private; "" for a program that needs no files on the disk
	own  string // contains everything the function may write; a sandbox may mount a file system there
	path string // copy of a script, "" for a program that runs from memory

	// sources contains the open sources of the function's bind mounts, nil for other mounts. With
	// them the sandbox can check that a path still leads to the examined file.
	sources []*os.File

	stdin, stdout, stderr *os.File // ends of the pipes on this side
	theirs                [3]*os.File

	out      *bounded.Output
	tail     bounded.Tail // of standard error
	overfull chan struct{}
	crowded  bool // the function was seen with its maximum number of processes
}

// newCall creates the files of a call.
func newCall(x *Executor, f function.Function, p *program) (c *call, err error) {
	c = &call{x: x, f: f, p: p, tail: bounded.Tail{Limit: executors.StderrTail}, overfull: make(chan struct{})}
	c.out = bounded.NewOutput(f.Limits.Output, func() { close(c.overfull) })
	defer func(half *call) {
		if err != nil {
			half.close()
		}
	}(c)
	copied, mounted := p.script || p.File() == nil, !f.Unsandboxed && x.isolation().MountNS
	if copied || !mounted {
		if c.dir, err = os.MkdirTemp("", prefix); err != nil {
			return nil, err
		}
	}
	if mounted {
		c.own, err = x.mountPoint()
	} else {
		err = c.makeOwn()
	}
	if err != nil {
		return nil, err
	}
	if err := c.openSources(); err != nil {
		return nil, err
	}
	if copied {
		bin := filepath.Join(c.dir, "bin")
		if err := os.Mkdir(bin, 0o700); err != nil {
			return nil, err
		}
		if c.path, err = p.Copy(bin, p.name); err != nil {
			return nil, err
		}
		if err := c.addWrapper(); err != nil {
			return nil, err
		}
	}
	if c.theirs[0], c.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.stdout, c.theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	c.stderr, c.theirs[2], err = os.Pipe()
	return c, err
}

// prefix begins the names of the directories of calls.
const prefix = "krmflow-fn-"

// ownDirs lists the directories in [call.own]: home and tmp.
var ownDirs = []string{"home", "tmp"}

func (c *call) home() string { return filepath.Join(c.own, ownDirs[0]) }
func (c *call) tmp() string  { return filepath.Join(c.own, ownDirs[1]) }

// makeOwn creates the directories that the function may write.
func (c *call) makeOwn() error {
	c.own = filepath.Join(c.dir, "own")
	for _, dir := range []string{c.own, c.home(), c.tmp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// openSources opens the sources of bind mounts.
func (c *call) openSources() error {
	c.sources = make([]*os.File, len(c.f.Mounts))
	for i, m := range c.f.Mounts {
		if m.Type != "bind" || m.Source == "" {
			continue
		}
		f, err := sources.Open(m.Source)
		if err != nil {
			return refuse(executors.Denied, "mount %s: %v", m.Dest, err)
		}
		c.sources[i] = f
	}
	return nil
}

// close closes and removes the call's files.
func (c *call) close() {
	c.closeTheirs()
	for _, f := range append(c.sources, c.stdin, c.stdout, c.stderr) {
		if f != nil {
			f.Close()
		}
	}
	if c.dir != "" {
		dirs.RemoveAll(c.dir)
	}
}

func (c *call) closeTheirs() {
	for i, f := range c.theirs {
		if f != nil {
			f.Close()
		}
		c.theirs[i] = nil
	}
}

// wrapper returns a directory with links to krmflow for a script that wraps a command, and ""
// for other programs.
func (c *call) wrapper() string {
	if !c.p.wraps || c.x.Wrapper == "" {
		return ""
	}
	return filepath.Join(c.dir, "wrap")
}

// addWrapper creates the wrapper directory. The functions specification and its images call the
// program config.
func (c *call) addWrapper() error {
	dir := c.wrapper()
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"krmflow", "config"} {
		if err := os.Symlink(c.x.Wrapper, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// env returns the complete environment of the function.
func (c *call) env() []string {
	path := searchPath
	if dir := c.wrapper(); dir != "" {
		path = dir + string(filepath.ListSeparator) + path
	}
	env := []string{
		"PATH=" + path, "LANG=C.UTF-8", "TZ=UTC",
		"HOME=" + c.home(), "TMPDIR=" + c.tmp(),
	}
	if runtime.GOOS == "windows" {
		env = append(env, "SystemRoot="+os.Getenv("SystemRoot"), "TEMP="+c.tmp())
	}
	return lastOfEach(append(env, c.f.Env...))
}

// lastOfEach returns env with one value per variable, the last one. Programs disagree on the
// value of a duplicate variable.
func lastOfEach(env []string) []string {
	seen := map[string]bool{}
	list := make([]string, 0, len(env))
	for _, item := range slices.Backward(env) {
		name, _, _ := strings.Cut(item, "=")
		if !seen[name] {
			seen[name] = true
			list = append(list, item)
		}
	}
	slices.Reverse(list)
	return list
}

// argv returns the arguments of the function, including its name.
func (c *call) argv() []string {
	name := filepath.Join(filepath.Dir(c.f.Program), c.p.name)
	if c.path != "" {
		name = c.path
	}
	return append([]string{name}, c.f.Args...)
}

// A process is a running function.
type process interface {
	load(limit int64) proc.Load
	terminate()  // asks it to exit
	kill()       // kills it and all processes that it started
	wait() ended // waits for it and all processes that it started
}

// ended describes the end of a function.
type ended struct {
	err       error // the function could not be started
	code      int
	signal    syscall.Signal // signal that ended it, 0 for none
	crowded   bool           // it reached its limit of processes
	exhausted bool           // it reached its limit of memory
}

// run runs the function with list as its input.
func (c *call) run(ctx context.Context, list yaml.Chunks) (executors.Output, error) {
	// The kernel treats the starting thread as the parent of the child, so keep the thread until
	// the child has ended. It is never unlocked, and so not reused: it may have given up
	// privileges.
	type result struct {
		p   process
		err error
	}
	running, over := make(chan result, 1), make(chan ended, 1)
	go func() {
		runtime.LockOSThread()
		p, err := c.start()
		running <- result{p, err}
		if err == nil {
			over <- p.wait()
		}
	}()
	started := <-running
	if started.err != nil {
		return executors.Output{}, c.notStarted(started.err)
	}
	c.closeTheirs()
	var reading sync.WaitGroup
	go func() {
		// A function may exit without reading its input.
		all := net.Buffers(slices.Clone(list))
		all.WriteTo(c.stdin)
		c.stdin.Close()
	}()
	reading.Go(func() { c.out.ReadFrom(c.stdout) })
	reading.Go(func() { io.Copy(&c.tail, c.stderr) })
	end, err := c.watch(ctx, started.p, over)
	c.settle(&reading)
	if err != nil {
		return executors.Output{}, err
	}
	return c.verdict(end)
}

// watch waits for the end of the function. It stops the function if it exceeds a limit or ctx
// ends; err is then the reason.
func (c *call) watch(ctx context.Context, p process, over <-chan ended) (end ended, err error) {
	timer, looking := time.NewTimer(c.f.Limits.Timeout), time.NewTimer(lookEvery)
	defer timer.Stop()
	defer looking.Stop()
	for {
		select {
		case end = <-over:
			return end, nil
		case <-ctx.Done():
			// There is no grace period, because the user is waiting.
			p.kill()
			<-over
			return end, context.Cause(ctx)
		case <-c.overfull:
			p.kill()
			<-over
			return end, nil // reported by verdict
		case <-looking.C:
			begin := time.Now()
			if err := c.look(p); err != nil {
				p.kill()
				<-over
				return end, err
			}
			looking.Reset(max(lookEvery, lookShare*time.Since(begin)))
		case <-timer.C:
			c.expire(ctx, p, over)
			return end, c.fail(executors.Timeout, "still running after %v, stopped", c.f.Limits.Timeout).
				Hint("--fn-timeout sets how long a function may take")
		}
	}
}

// look returns an error if the function uses too much memory. The kernel's limit for a single
// process is higher than the function's limit: a process that hits the kernel's limit sees only
// ENOMEM, and we could not report why it failed.
func (c *call) look(p process) error {
	l := p.load(c.f.Limits.Memory)
	c.crowded = c.crowded || l.Threads >= c.f.Limits.Procs
	if l.Memory <= c.f.Limits.Memory {
		return nil
	}
	return c.exhausted()
}

func (c *call) exhausted() error {
	return c.fail(executors.Limit, "used more than %s of memory, stopped", diag.Size(c.f.Limits.Memory)).
		Hint("--fn-memory sets how much a function may use")
}

// expire asks the function to exit and kills it if it does not.
func (c *call) expire(ctx context.Context, p process, over <-chan ended) {
	p.terminate()
	select {
	case <-over:
		return
	case <-ctx.Done():
	case <-time.After(termGrace):
	}
	p.kill()
	<-over
}

// settle waits for the rest of the output. All writers have ended unless one escaped; settle
// stops when no more output arrives.
func (c *call) settle(reading *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		reading.Wait()
		close(done)
	}()
	for idle := 0; ; {
		before := c.out.Size()
		select {
		case <-done:
			c.stdin.Close()
			return
		case <-time.After(drain):
		}
		if c.out.Size() == before {
			idle++
		}
		if idle > 0 {
			c.stdout.SetReadDeadline(time.Now())
			c.stderr.SetReadDeadline(time.Now())
			<-done
			c.stdin.Close()
			return
		}
	}
}

// verdict converts the end of the function to the result of the call.
func (c *call) verdict(end ended) (executors.Output, error) {
	select {
	case <-c.overfull:
		return executors.Output{}, c.fail(executors.Limit, "wrote more than %s to stdout, stopped", diag.Size(c.f.Limits.Output)).
			Hint("--max-fn-output sets how much a function may write")
	default:
	}
	out := executors.Output{List: c.out.Blocks(), Stderr: c.tail.Bytes()}
	switch {
	// This applies even if the function ignores the death of one of its processes and succeeds.
	case end.exhausted:
		return out, c.exhausted()
	case (c.crowded || end.crowded) && (end.err != nil || end.signal != 0 || end.code != 0):
		return out, c.fail(executors.Limit, "failed after reaching the limit of %d processes",
			c.f.Limits.Procs).Hint("--fn-max-procs sets how many a function may have")
	case end.err != nil:
		return executors.Output{}, c.notStarted(end.err)
	case end.signal == syscall.SIGKILL:
		return out, c.fail(executors.Failed, "ended by signal 9 (killed)").Hint("out of memory?")
	case end.signal != 0:
		return out, c.blameSandbox(c.fail(executors.Failed, "ended by signal %d (%v)", int(end.signal), end.signal))
	case end.code != 0:
		return out, c.blameSandbox(c.fail(executors.Failed, "exit code %d", end.code))
	}
	return out, nil
}

func (c *call) fail(code executors.Code, format string, args ...any) *executors.Error {
	return &executors.Error{Code: code, Msg: c.f.Name + ": " + fmt.Sprintf(format, args...), Stderr: c.tail.Bytes()}
}

func (c *call) notStarted(err error) error {
	e := c.fail(executors.Failed, "cannot be started: %v", err)
	if c.path != "" && strings.Contains(err.Error(), "permission denied") {
		e.Hint("check whether the file system of TMPDIR is mounted with noexec")
	}
	return e
}
