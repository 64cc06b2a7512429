// Package sandbox is the process between an executor and a function that is a program: it gives up every right that the function
// must not have, starts the function, waits for its end, ends whatever the function has left behind, and reports.
package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/krmflow/krmflow/executors/internal/proc"
	"golang.org/x/sys/unix"
)

// Args is the command line that makes a process of this binary a sandbox.
func Args() []string { return []string{"krmflow", "executor", "sandbox"} }

// A sandbox is wanted for every call of a function. It begins here, before packages that it does not need are initialised: that
// would take four times as long as everything that it does.
func init() {
	if len(os.Args) == 3 && slices.Equal(os.Args, Args()) {
		os.Exit(main())
	}
}

// A Spec is what the executor tells the sandbox about the function, as JSON in one line on descriptor 3.
type Spec struct {
	Path     string // of a script; empty for a program that descriptor 4 holds
	Args     []string
	Env      []string // all of it: the sandbox has none
	Dir      string
	Landlock int     // version to use, 0 for none
	Seccomp  bool    // refuse system calls
	Init     bool    // the sandbox is the first process of its namespace
	Mounts   *Mounts // nil without a mount namespace
	Network  bool    // the function may use the network
	Counted  bool    // memory that belongs to no single process is counted, too
	Rules    []Rule
	Limits   []Limit
	Try      *Trial // instead of a function
}

// A Limit is one of setrlimit(2).
type Limit struct {
	Resource int
	Max      uint64
}

// A Report is what the sandbox answers when the function has ended.
type Report struct {
	Error   string // the function did not start
	Status  uint32 // as wait(2) returns it
	Left    int    // processes that a function has left behind that failed
	Refused Refused
}

// The descriptors that a sandbox process starts with, besides the function's standard ones.
const (
	controlFD = 3
	programFD = 4
)

// Threads is about how many threads the sandbox process has: they count as processes.
const Threads = 12

// takeThreads lets the runtime start the threads that it may need. Later the function may have taken what this process could
// have, and the runtime would give up.
func takeThreads() {
	runtime.GOMAXPROCS(2)
	var all, over sync.WaitGroup
	all.Add(Threads / 2)
	for range Threads / 2 {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	over.Wait()
}

// main returns the exit code of the sandbox process.
func main() int {
	var st unix.Stat_t
	if err := unix.Fstat(controlFD, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		fmt.Fprintln(os.Stderr, "krmflow: a sandbox is started by an executor only")
		return 1
	}
	proc.CloseOnExec()
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// When the machine runs out of memory, the function goes first, and not what waits for it.
	os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	control := os.NewFile(controlFD, "control")
	line, err := readLine(control)
	var s Spec
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	var r Report
	switch {
	case err != nil:
	case s.Try != nil:
		r.Refused, err = s.try()
	default:
		takeThreads()
		r, err = s.run(control)
	}
	if err != nil {
		r.Error = err.Error()
	}
	json.NewEncoder(control).Encode(r)
	return 0
}

// readLine reads up to the first newline; nothing follows it.
func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	buf := make([]byte, 16<<10)
	for !bytes.HasSuffix(line, []byte("\n")) {
		n, err := r.Read(buf)
		line = append(line, buf[:n]...)
		if err != nil {
			return nil, err
		}
	}
	return line, nil
}

// run runs the function and returns when nothing of it is left.
func (s *Spec) run(control io.Reader) (r Report, err error) {
	type child struct {
		pid int
		err error
	}
	started := make(chan child)
	go func() {
		// Rights are a thread's: only this one gives them up, and its child inherits that. It stays, since its end would
		// be the function's.
		runtime.LockOSThread()
		pid, err := s.start()
		started <- child{pid, err}
		select {}
	}()
	// A signal that comes now is for the function.
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	c := <-started
	if c.err != nil {
		return Report{}, c.err
	}
	var over atomic.Bool
	go func() {
		for range term {
			syscall.Kill(-c.pid, syscall.SIGTERM)
		}
	}()
	go func() {
		io.Copy(io.Discard, control) // the executor gave up, or is gone
		if !over.Load() {
			syscall.Kill(c.pid, syscall.SIGKILL)
		}
	}()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return Report{}, os.NewSyscallError("wait", err)
		case pid == c.pid:
			over.Store(true)
			r.Status = uint32(ws)
			if ws != 0 {
				r.Left = orphans()
			}
			if !s.Init { // else the end of this process is the end of all
				syscall.Kill(-c.pid, syscall.SIGKILL)
				proc.KillAll(func(int) bool { return false })
			}
			return r, nil
		}
	}
}

// orphans counts the children of this process.
func orphans() (n int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		n += len(bytes.Fields(data))
	}
	return n
}

// start starts the function from this thread, after it has given up what the function must not have.
func (s *Spec) start() (pid int, err error) {
	path := s.Path
	if path == "" {
		path = fmt.Sprintf("/proc/self/fd/%d", programFD)
	}
	if err := s.restrict(); err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(path, s.Args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, &os.PathError{Op: "exec", Path: s.Args[0], Err: err}
	}
	return pid, nil
}

// restrict takes from this thread and its future children what the function must not have. The order matters: to mount takes
// capabilities, landlock refuses to mount, and the filter refuses most of these calls.
func (s *Spec) restrict() error {
	if s.Mounts != nil {
		if err := s.Mounts.make(); err != nil {
			return err
		}
	}
	for _, l := range s.Limits {
		// Package syscall's own function, because it restores a child's number of files otherwise.
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Max, Max: l.Max}); err != nil && err != syscall.EPERM {
			return os.NewSyscallError("setrlimit", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if s.Landlock > 0 {
		if err := restrictFiles(s.Landlock, s.Rules, s.Network); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if s.Seccomp {
		return restrictCalls(s)
	}
	return nil
}

// dropCapabilities gives up all capabilities: those of a namespace of its own, and root's.
func dropCapabilities() error {
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	// A program of root gets back what is in the bounding set, unless it is empty.
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&head, &none[0]))
}
