package executors_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The test program plays all roles: good and bad executors, and a host that is killed.
func TestMain(m *testing.M) {
	role := os.Getenv("ROLE")
	if len(os.Args) > 2 && os.Args[1] == "executor" {
		role = os.Args[2]
	}
	switch role {
	case "":
		// Processes of other tests must not be counted.
		dir, err := os.MkdirTemp("/tmp", "kf-")
		if err != nil {
			panic(err)
		}
		os.Setenv("TMPDIR", dir)
		code := m.Run()
		os.RemoveAll(dir)
		os.Exit(code)
	case "exec":
		executors.Serve("exec", exec.New())
	case "env": // answers with its environment
		executors.Serve("env", echo{})
	case "boundless": // ignores all limits
		executors.Serve("boundless", boundless{})
	case "panics": // with its request
		executors.Serve("panics", panics{})
	case "hints": // in both forms
		executors.Serve("hints", hints{})
	case "leaves": // a daemon
		executors.Serve("leaves", leaves{})
	case "deaf":
		deaf()
	case "stuck": // prepares nothing
		executors.Serve("stuck", stuck{})
	case "host":
		host()
	case "host of leaves":
		x, err := executors.Start(context.Background(), executors.Program{Kind: "leaves"})
		if err == nil {
			_, err = x.Execute(context.Background(), function.Function{}, nil)
		}
		fmt.Println(err)
		time.Sleep(time.Minute)
	case "garbage":
		fmt.Fprintln(os.Stderr, "first words\nsecond words")
		fmt.Println("hello")
		time.Sleep(time.Minute)
	case "flood":
		for w := bufio.NewWriter(os.Stdout); ; {
			w.WriteString("hello, world ")
		}
	case "version":
		fmt.Println("1|99|unix|/tmp/x|grpc|")
		time.Sleep(time.Minute)
	case "exits":
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(3)
	case "silent":
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}

type echo struct{}

func (echo) Prepare(context.Context, function.Function) error { return nil }
func (echo) Execute(context.Context, function.Function, yaml.Chunks) (executors.Output, error) {
	return executors.Output{List: yaml.Chunks{[]byte(strings.Join(os.Environ(), "\n"))}}, nil
}

type boundless struct{}

func (boundless) Prepare(context.Context, function.Function) error {
	return errors.New(strings.Repeat("no ", 12<<20))
}

func (boundless) Execute(context.Context, function.Function, yaml.Chunks) (executors.Output, error) {
	return executors.Output{List: yaml.Chunks{make([]byte, 64<<20)}, Stderr: make([]byte, 8<<20)}, nil
}

// TestExecutorAnswersAreBounded checks that the client also bounds the answers of an executor.
func TestExecutorAnswersAreBounded(t *testing.T) {
	x, err := executors.Start(t.Context(), self(t, "boundless"))
	if err != nil {
		t.Fatal(err)
	}
	defer gone(t, time.Second)
	defer x.Close()
	f := function.Function{Name: "f", Limits: function.Limits{Output: 1 << 20}}
	out, err := x.Execute(t.Context(), f, nil)
	var e *executors.Error
	if !errors.As(err, &e) || e.Code != executors.Limit ||
		!strings.Contains(e.Error(), "f: executor boundless answered with more than 1 MiB, stopped") || out.List != nil {
		t.Errorf("%d bytes, %v", out.List.Len(), err)
	}
	f.Limits.Output = 64 << 20
	out, err = x.Execute(t.Context(), f, nil)
	if err != nil || out.List.Len() != 64<<20 || len(out.Stderr) != executors.StderrTail {
		t.Errorf("%d bytes, %d of stderr, %v", out.List.Len(), len(out.Stderr), err)
	}
	err = x.Prepare(t.Context(), f)
	if !errors.As(err, &e) || e.Code != executors.Internal || !strings.Contains(e.Error(), "f: executor boundless: ") ||
		!strings.Contains(e.Error(), "larger than max") {
		t.Errorf("a message of 32 MiB: %.200v", err)
	}
}

// self returns this program as a third-party executor in a role.
func self(t *testing.T, role string) executors.Program {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return executors.Program{Kind: role, Path: "/proc/self/exe", Digest: krm.DigestOf(data), Env: []string{"ROLE=" + role}}
}

type panics struct{}

func (panics) Prepare(_ context.Context, f function.Function) error {
	panic("with " + string(f.Config))
}

func (panics) Execute(_ context.Context, _ function.Function, list yaml.Chunks) (executors.Output, error) {
	go panic("with " + list.String())
	select {}
}

// TestExecutorPanicsAreInternalErrors checks that a panic of an executor, in a call or outside of
// one, is an internal error. It shows the data being processed only on request.
func TestExecutorPanicsAreInternalErrors(t *testing.T) {
	for _, debug := range []string{"", "1"} {
		t.Setenv("KRMFLOW_DEBUG", debug)
		x, err := executors.Start(t.Context(), self(t, "panics"))
		if err != nil {
			t.Fatal(err)
		}
		f := function.Function{Name: "f", Node: "k#transformers[0]", Config: []byte("hush")}
		err = x.Prepare(t.Context(), f)
		checkPanic(t, err, "f: executor panics panicked\n  ")
		_, err = x.Execute(t.Context(), f, yaml.Chunks{[]byte("hush")})
		checkPanic(t, err, "executor panics crashed (exit status 2) while running f (k#transformers[0])\n  ")
		x.Close()
		gone(t, time.Second)
	}
}

func checkPanic(t *testing.T, err error, want string) {
	t.Helper()
	hint, debug := "set KRMFLOW_DEBUG=1 to show its output", os.Getenv("KRMFLOW_DEBUG") != ""
	if debug {
		hint = "it said: panic: with hush"
	}
	var e *executors.Error
	if !errors.As(err, &e) || e.Code != executors.Internal || !strings.HasPrefix(e.Error(), want+hint) {
		t.Errorf("debug %v: %v", debug, err)
	}
	if shown := strings.Contains(e.Error(), "hush") && strings.Contains(e.Error(), "goroutine "); shown != debug {
		t.Errorf("debug %v: %v", debug, err)
	}
}

type hints struct{}

func (hints) Prepare(_ context.Context, f function.Function) error {
	return &executors.Error{Code: executors.Invalid, Msg: f.Name + ": it is wrong\n  do this", Hints: []string{"or that"}}
}

func (hints) Execute(_ context.Context, f function.Function, _ yaml.Chunks) (executors.Output, error) {
	return executors.Output{}, fmt.Errorf("wrapped: %w",
		(&executors.Error{Code: executors.Limit, Msg: f.Name + ": too much"}).Hint("take less"))
}

// Hints cross the process boundary as hints. A third-party executor may also send them as lines of
// the message.
func TestHintsCrossProcessBoundary(t *testing.T) {
	x, err := executors.Start(t.Context(), self(t, "hints"))
	if err != nil {
		t.Fatal(err)
	}
	defer gone(t, time.Second)
	defer x.Close()
	check := func(err error, code executors.Code, msg string, hints ...string) {
		t.Helper()
		var e *executors.Error
		if !errors.As(err, &e) || e.Code != code || e.Msg != msg || !slices.Equal(e.Hints, hints) {
			t.Errorf("%#v", err)
		}
		if at := diag.AsError(err); at.Msg != msg || !slices.Equal(at.Hints, hints) {
			t.Errorf("as it is printed: %#v", at)
		}
	}
	f := function.Function{Name: "f"}
	check(x.Prepare(t.Context(), f), executors.Invalid, "f: it is wrong", "do this", "or that")
	_, err = x.Execute(t.Context(), f, nil)
	check(err, executors.Limit, "wrapped: f: too much", "take less")
}

type leaves struct{ echo }

func (leaves) Execute(context.Context, function.Function, yaml.Chunks) (executors.Output, error) {
	return executors.Output{}, osexec.Command("/bin/sh", "-c",
		"PATH=/usr/bin:/bin; export PATH; setsid sh -c 'sleep 48.12 & sleep 48.12' >/dev/null 2>&1 </dev/null & exit 0").Run()
}

// TestDaemonsEndWithExecutor checks that processes left by an executor end with it, even if it
// exits normally.
func TestDaemonsEndWithExecutor(t *testing.T) {
	other := start(t) // unrelated
	x, err := executors.Start(t.Context(), self(t, "leaves"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Execute(t.Context(), function.Function{}, nil); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5*time.Second + slack); len(processes("sleep 48.12", os.TempDir())) < 2; time.Sleep(
		10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("there is no daemon")
		}
	}
	x.Close()
	if left := processes("sleep 48.12", os.TempDir()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := other.Execute(t.Context(), named(t)("copy"), nil); err != nil {
		t.Errorf("another executor: %v", err)
	}
	other.Close()
	gone(t, time.Second)
}

// deaf greets its host and never answers.
func deaf() {
	l, err := net.Listen("unix", filepath.Join(os.Getenv("TMPDIR"), "s"))
	if err != nil {
		panic(err)
	}
	fmt.Println("1|1|unix|" + l.Addr().String() + "|grpc|")
	time.Sleep(time.Minute)
}

type stuck struct{ echo }

func (stuck) Prepare(context.Context, function.Function) error { select {} }

// TestStuckExecutorTimesOut checks that there is a time limit for an executor that never finishes
// preparing a function.
func TestStuckExecutorTimesOut(t *testing.T) {
	p := self(t, "stuck")
	p.Patience = 200 * time.Millisecond
	x, err := executors.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer gone(t, time.Second)
	defer x.Close()
	err = x.Prepare(t.Context(), function.Function{Name: "f"})
	var e *executors.Error
	if !errors.As(err, &e) || e.Code != executors.Timeout || e.Error() != "f: executor stuck did not prepare it within 200ms" {
		t.Error(err)
	}
}

func root() string { return filepath.Join(os.TempDir(), "root") }

// behaviours are the behaviours that the conformance test needs, for a shell.
var behaviours = map[string]string{
	"copy":  "cat",
	"deaf":  "exec <&-; echo done",
	"fail":  "cat; echo it is wrong >&2; exit 3",
	"hang":  "sleep 48.12",
	"flood": "yes",
	"child": "setsid sleep 48.12 & sleep 48.12",
}

func named(t testing.TB) func(name string) function.Function {
	return func(name string) function.Function {
		text := "#!/bin/sh\n" + behaviours[name] + "\n"
		path := filepath.Join(root(), name)
		os.MkdirAll(root(), 0o755)
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return function.Function{
			Name: "example.com/v1 Fake/" + name, Node: "kustomization.yaml#transformers[0]", Runtime: function.RuntimeExec,
			Digest: krm.DigestOf([]byte(text)), Program: path, Root: root(), Dir: root(), Unsandboxed: !exec.Probe().Enough(),
		}
	}
}

// processes returns the processes with these words in their command line or environment.
func processes(words ...string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		env, _ := os.ReadFile(strings.TrimSuffix(file, "cmdline") + "environ")
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		text := strings.ReplaceAll(string(data), "\x00", " ") + "\n" + string(env)
		if pid != os.Getpid() && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no function, executor or file of a test is left.
func gone(t *testing.T, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within + slack)
	for {
		left := append(processes("sleep 48.12", os.TempDir()), processes("KRMFLOW_EXECUTOR=", "executor exec", os.TempDir())...)
		files, _ := filepath.Glob(filepath.Join(os.TempDir(), "krmflow-run-*"))
		if len(left)+len(files) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left after %v: processes %v, files %v", within, left, files)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func start(t *testing.T) *executors.Process {
	t.Helper()
	x, err := executors.Start(t.Context(), executors.Program{Kind: "exec"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestExecutorConforms(t *testing.T) {
	t.Run("direct", func(t *testing.T) {
		longtest.Only(t)
		x := exec.New()
		defer x.Close()
		executortest.Run(t, x, named(t))
	})
	t.Run("process", func(t *testing.T) {
		executortest.Run(t, start(t), named(t))
	})
	gone(t, 0)
}

// The socket is only for this user, in this user's directory.
func TestSocketIsPrivate(t *testing.T) {
	x := start(t)
	socks, _ := filepath.Glob(filepath.Join(os.TempDir(), "krmflow-run-*", "*", "*"))
	if len(socks) != 1 {
		t.Fatal(socks)
	}
	for _, dir := range []string{filepath.Dir(socks[0]), filepath.Dir(filepath.Dir(socks[0]))} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	// A connection without the certificate of the host is ignored.
	conn, err := net.Dial("unix", socks[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if answer, err := io.ReadAll(conn); err != nil || strings.Contains(string(answer), "\x04\x00\x00\x00\x00\x00") {
		t.Errorf("%q, %v", answer, err)
	}
	x.Close()
	gone(t, 0)
	if _, err := x.Execute(t.Context(), named(t)("copy"), nil); err == nil {
		t.Error("a closed executor answers")
	}
}

func TestCrashNamesRunningFunction(t *testing.T) {
	for _, sandboxed := range []bool{true, false} {
		x := start(t)
		f := named(t)("child")
		f.Unsandboxed = f.Unsandboxed || !sandboxed
		go func() {
			for len(processes("sleep 48.12", os.TempDir())) < 2 {
				time.Sleep(10 * time.Millisecond)
			}
			for _, pid := range processes("KRMFLOW_EXECUTOR=", "executor exec", os.TempDir()) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}()
		start := time.Now()
		_, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte("x")})
		var e *executors.Error
		want := "executor exec crashed (signal: killed) while running " + f.Name + " (" + f.Node + ")"
		if !errors.As(err, &e) || e.Code != executors.Failed || e.Error() != want || time.Since(start) > 2*time.Second+slack {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte("x")}); !errors.As(err, &e) || e.Error() != want {
			t.Errorf("the next call: %v", err)
		}
		x.Close()
		gone(t, time.Second)
	}
}

// host is a process that starts an executor with a hanging function and is killed.
func host() {
	x, err := executors.Start(context.Background(), executors.Program{Kind: "exec"})
	if err == nil {
		fn := os.Getenv("FUNCTION")
		data, _ := os.ReadFile(fn)
		_, err = x.Execute(context.Background(), function.Function{
			Name: "f", Program: fn, Root: filepath.Dir(fn), Dir: "/", Digest: krm.DigestOf(data), Unsandboxed: os.Getenv("PLAIN") != "",
		}, nil)
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestHostKilled(t *testing.T) {
	f := named(t)("child")
	for _, plain := range []string{"", "yes"} {
		cmd := osexec.Command("/proc/self/exe")
		cmd.Env = []string{"ROLE=host", "TMPDIR=" + os.TempDir(), "FUNCTION=" + f.Program, "PLAIN=" + plain}
		if f.Unsandboxed {
			cmd.Env[3] = "PLAIN=yes"
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5*time.Second + slack); len(processes("sleep 48.12", os.TempDir())) < 2; time.Sleep(
			10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the function does not run")
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		gone(t, time.Second)
	}
}

// Background processes of an executor also end when its host is killed.
func TestHostOfDaemonKilled(t *testing.T) {
	cmd := osexec.Command("/proc/self/exe")
	cmd.Env = []string{"ROLE=host of leaves", "TMPDIR=" + os.TempDir()}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Errorf("%q, %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, time.Second)
}

// The next run removes leftovers of a run. It keeps files still in use by a run that is not visible
// from here.
func TestSweepRemovesAbandonedFolders(t *testing.T) {
	dir := filepath.Join(os.TempDir(), "krmflow-run-2147483000-1") // no such process exists
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(os.TempDir(), "krmflow-run-2147483000-2") // accessible to others, as no run makes it
	if err := errors.Join(os.Mkdir(foreign, 0o700), os.Chmod(foreign, 0o777)); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(foreign)
	next := func() (kept bool) {
		x, err := executors.Start(t.Context(), executors.Program{Kind: "exec"})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if own, _ := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("krmflow-run-%d-*", os.Getpid()))); len(own) != 1 ||
			!locked(t, own[0]) {
			t.Errorf("its own directory is not held: %v", own)
		}
		_, err = os.Stat(dir)
		return err == nil
	}
	other, err := os.Open(dir)
	if err == nil {
		err = syscall.Flock(int(other.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !next() {
		t.Error("it is gone although it is in use")
	}
	other.Close()
	if next() {
		t.Error("it is still there")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("the directory of somebody else: %v", err)
	}
}

func locked(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// A program that is not an executor causes an error soon and leaves nothing.
func TestBadExecutors(t *testing.T) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "third party")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	program := func(role string) executors.Program {
		return executors.Program{Kind: "third", Path: path, Digest: krm.DigestOf(data), Env: []string{"ROLE=" + role}}
	}
	var all sync.WaitGroup
	for role, want := range map[string]string{
		"garbage": "does not speak the executor protocol: Unrecognized remote plugin message: hello (signal: killed)\n  it said: first words",
		"flood":   "does not speak the executor protocol",
		"version": "ncompatible API version with plugin",
		"exits":   "(exit status 3)\n  it said: no licence",
		"silent":  "does not speak the executor protocol: no answer within 8s (signal: killed)",
		"deaf":    "does not speak the executor protocol: no answer within 8s (signal: killed)",
	} {
		all.Go(func() {
			start := time.Now()
			_, err := executors.Start(t.Context(), program(role))
			var e *executors.Error
			if !errors.As(err, &e) || e.Code != executors.Invalid || !strings.Contains(e.Error(), want) ||
				!strings.HasPrefix(e.Error(), "executor third: "+path) ||
				len(e.Error()) > 500 || time.Since(start) > 10*time.Second+slack {
				t.Errorf("%s: %v after %v", role, err, time.Since(start))
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := executors.Start(ctx, program("silent")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silent: %v", err)
	}
	other := program("exec")
	other.Digest[3]++
	var e *executors.Error
	if _, err := executors.Start(t.Context(), other); !errors.As(err, &e) || e.Code != executors.Verification ||
		!strings.Contains(e.Error(), "want "+other.Digest.String()) {
		t.Errorf("other digest: %v", err)
	}
	if left := processes("ROLE=", "third party", os.TempDir()); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	gone(t, 0)
}

// A third-party executor runs like krmflow's own executors, with only the environment explicitly
// given.
func TestThirdParty(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	data, _ := os.ReadFile("/proc/self/exe")
	path := filepath.Join(t.TempDir(), "env-executor")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	x, err := executors.Start(t.Context(),
		executors.Program{Kind: "env", Path: path, Digest: krm.DigestOf(data), Env: []string{"ROLE=env"}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	out, err := x.Execute(t.Context(), function.Function{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.List.String()) {
		name, _, ok := strings.Cut(line, "=")
		known := strings.HasPrefix(name, "PLUGIN_") || slices.Contains([]string{"ROLE", "TMPDIR", "TMP", "TEMP", "KRMFLOW_EXECUTOR"}, name)
		if ok && !known && name == strings.ToUpper(name) && !strings.ContainsAny(name, "+/ ") {
			t.Errorf("environment: %s", line)
		}
	}
	if strings.Contains(out.List.String(), "canary") {
		t.Error("the host's environment passes")
	}
}

// A pool starts one executor per runtime, on demand. It does not retry an executor that failed to
// start.
func TestPoolStartsEachExecutorOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0
	pool := executors.NewPool(ctx, func(r function.Runtime) executors.Program {
		asked++
		if r == "missing" {
			return executors.Program{Kind: "missing", Path: filepath.Join(t.TempDir(), "missing")}
		}
		return executors.Program{Kind: "env"}
	})
	defer pool.Close()
	for range 2 {
		if x, err := pool.Get("env"); err != nil || x == nil {
			t.Errorf("%v, %v", x, err)
		}
		if _, err := pool.Get("missing"); err == nil {
			t.Error("an executor that does not exist was started")
		}
	}
	if asked != 2 {
		t.Errorf("asked for %d programs, want 2", asked)
	}
	why := errors.New("stop")
	cancel(why)
	if _, err := pool.Get("env"); err != why {
		t.Errorf("%v after the end, want %v", err, why)
	}
	pool.Close()
}
