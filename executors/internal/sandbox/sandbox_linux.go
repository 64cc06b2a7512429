// Package sandbox implements the process between an executor and a function that is a program.
// It gives up every privilege that the function must not have, starts the function, waits for
// its end, kills its remaining processes, and reports.
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

// Args returns the command line of a sandbox process. It makes every binary that imports this
// package a sandbox: krmflow, and the small program krmflow-sandbox.
func Args() []string { return []string{"krmflow", "executor", "sandbox"} }

// Env returns the environment of a sandbox process. It has none of the function's variables, which
// could make the process load unverified code before it gives up its privileges. The process mostly
// waits, so it needs no second processor. Without the variable, Go's runtime would read the control
// groups of the machine to count its processors.
func Env() []string { return []string{"GOMAXPROCS=1"} }

// Every call of a function starts a sandbox. It begins here, before the initialization of packages
// that it does not need. In krmflow that would take four times as long as all its work.
func init() {
	if len(os.Args) == 3 && slices.Equal(os.Args, Args()) {
		os.Exit(main())
	}
}

// A Spec describes a function for the sandbox. The executor sends it as a line of JSON on
// descriptor 3.
type Spec struct {
	Path     string // of a script; empty for a program on descriptor 4
	Args     []string
	Env      []string // complete; the sandbox itself has none
	Dir      string
	Landlock int     // version to use, 0 for none
	Seccomp  bool    // filter system calls
	Init     bool    // the sandbox is the first process of its PID namespace
	Mounts   *Mounts // nil without a mount namespace
	Network  bool    // the function may use the network
	Counted  bool    // a control group accounts for memory that no process has mapped
	Rules    []Rule
	Limits   []Limit
	Try      *Trial // run a trial instead of a function
}

// A Limit is a resource limit for setrlimit(2).
type Limit struct {
	Resource int
	Max      uint64
}

// A Report is the sandbox's answer after the end of the function.
type Report struct {
	Error   string // the function did not start
	Status  uint32 // as returned by wait(2)
	Left    int    // number of processes left by a failed function
	Refused Refused
}

// The descriptors of a sandbox process in addition to the function's standard ones.
const (
	controlFD = 3
	programFD = 4
)

// Threads is the approximate number of threads of the sandbox process. The kernel counts them as
// processes.
const Threads = 12

// takeThreads makes the runtime start the threads that it may need. Later the function may have
// used up the limit of processes, and the runtime would crash.
func takeThreads() {
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
	// When memory runs out, the kernel should kill the function rather than the executor that waits
	// for it.
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

// readLine reads up to the first newline. No data follows it.
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

// run runs the function and returns after all its processes have ended.
func (s *Spec) run(control io.Reader) (r Report, err error) {
	type child struct {
		pid int
		err error
	}
	started := make(chan child)
	go func() {
		// Privileges belong to a thread. Only this thread gives them up, and its child inherits
		// that. The thread must not end, because the kernel would then kill the function.
		runtime.LockOSThread()
		pid, err := s.start()
		started <- child{pid, err}
		select {}
	}()
	// From now on SIGTERM is for the function.
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
		io.Copy(io.Discard, control) // the executor closed the connection or has ended
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
			if !s.Init { // otherwise the kernel kills all processes at the end of this one
				syscall.Kill(-c.pid, syscall.SIGKILL)
				proc.KillAll(func(int) bool { return false })
			}
			return r, nil
		}
	}
}

// orphans returns the number of children of this process.
func orphans() (n int) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		n += len(bytes.Fields(data))
	}
	return n
}

// start gives up privileges in this thread and starts the function from it.
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

// restrict gives up the privileges of this thread and its future children. The order matters:
// mounting requires capabilities, Landlock forbids mounting, and the filter forbids most of the
// other calls.
func (s *Spec) restrict() error {
	if s.Mounts != nil {
		if err := s.Mounts.make(); err != nil {
			return err
		}
	}
	for _, l := range s.Limits {
		// Use package syscall, which would otherwise restore the original RLIMIT_NOFILE in a child.
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

// dropCapabilities gives up all capabilities, including root's and those in a user namespace.
func dropCapabilities() error {
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	// A program started by root regains the capabilities in the bounding set.
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == nil; c++ {
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return os.NewSyscallError("capset", unix.Capset(&head, &none[0]))
}
