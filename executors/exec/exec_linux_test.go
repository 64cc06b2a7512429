package exec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"golang.org/x/sys/unix"
)

func prctlNoNewPrivs() int {
	n, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return n
}

const input = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

// embed embeds the program krmflow-sandbox for the duration of a test.
func embed(t testing.TB) {
	data, err := os.ReadFile(testbinary.Program(t, "executors/internal/sandbox/krmflow-sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	exec.Embed(t, data)
}

// both runs a test without a sandbox and with the sandbox of this machine, once with this binary
// and once with the embedded program, and in long tests also with weaker ones.
func both(t *testing.T, test func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function)) {
	iso := exec.Probe()
	for _, mode := range []struct {
		name string
		exec.Isolation
	}{
		{"plain", exec.Isolation{}},
		{"sandbox", iso.Whole()},
		{"embedded sandbox", iso},
		{"no mounts", exec.Isolation{Landlock: iso.Landlock, UserNS: iso.UserNS, NetNS: iso.NetNS, Seccomp: iso.Seccomp}},
		{"no namespaces", exec.Isolation{Landlock: min(iso.Landlock, 1), Seccomp: iso.Seccomp}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			if strings.HasPrefix(mode.name, "no ") {
				longtest.Only(t)
			}
			if mode.name != "plain" && !iso.Enough() {
				executortest.Missing(t, "isolation is "+iso.String())
			}
			if mode.name == "embedded sandbox" {
				embed(t)
			}
			x := exec.NewWith(mode.Isolation)
			defer x.Close()
			test(t, x, func(f function.Function) function.Function { f.Unsandboxed = mode.name == "plain"; return f })
		})
	}
}

func code(err error) executors.Code {
	var e *executors.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return -1
}

// sleepers counts the background processes of the fake functions.
func sleepers() (n int) {
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) { // a killed process exists until it has died
		n = 0
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if data, _ := os.ReadFile(file); string(data) == "/bin/sleep\x0047.11\x00" {
				n++
			}
		}
		if n == 0 || time.Now().After(deadline) {
			return n
		}
	}
}

func TestExitStatusIsReported(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		for _, test := range []struct {
			args   []string
			want   string
			code   executors.Code
			err    string
			stderr string
		}{
			{args: []string{"copy"}, want: input, code: -1},
			{args: []string{"upper"}, want: strings.ToUpper(input), code: -1},
			{args: []string{"fail", "wrong"}, want: input, code: executors.Failed, err: "exit code 3", stderr: "it is wrong\n"},
			{args: []string{"signal", "9"}, code: executors.Failed, err: "ended by signal 9 (killed)\n  out of memory?"},
			{args: []string{"signal", "15"}, code: executors.Failed, err: "ended by signal 15 (terminated)"},
			{args: []string{"deaf"}, want: "done\n", code: -1},
			{args: []string{"empty"}, code: -1},
			{args: []string{"half"}, want: input[:len(input)/2], code: -1},
			{args: []string{"unknown"}, code: executors.Failed, err: "exit code 99"},
			{args: []string{"pwd"}, want: r.root + " <nil>\n", code: -1},
			{args: []string{"tty"}, want: "false\n", code: -1},
			{args: []string{"privileges"}, want: "1\n", code: -1},
		} {
			f := set(r.fn(test.args...))
			if test.args[0] == "signal" && test.args[1] == "15" && !f.Unsandboxed && !x.Isolation().UserNS && x.Isolation().Landlock < 6 {
				continue // Go's runtime exits with 2 if it may not signal itself
			}
			out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
			if out.List.String() != test.want || code(err) != test.code {
				t.Errorf("%v: got %q, %v", test.args, out.List, err)
				continue
			}
			var e *executors.Error
			if errors.As(err, &e) && (e.Error() != f.Name+": "+test.err || string(e.Stderr) != test.stderr) {
				t.Errorf("%v: %q, stderr %q", test.args, e.Error(), e.Stderr)
			}
		}
	})
}

// slack is the extra time for a busy machine. It is shorter than a hang.
const slack = 20 * time.Second

func TestTimeoutEndsAllProcesses(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		var all sync.WaitGroup
		// Functions that catch a signal need time to install the handler on a busy machine.
		for _, test := range []struct {
			args     []string
			limit    time.Duration
			min, max time.Duration
			stderr   string
		}{
			{[]string{"hang"}, time.Second, 0, time.Second, ""},
			{[]string{"polite"}, 5 * time.Second, 0, time.Second, "asked to end by terminated\n"},
			{[]string{"stubborn"}, 5 * time.Second, 2 * time.Second, 3 * time.Second, ""},
			{[]string{"child", "setsid", "hang"}, time.Second, 0, time.Second, ""},
		} {
			try := func(limit time.Duration) (ok bool, what string) {
				f := set(r.fn(test.args...))
				f.Limits.Timeout = limit
				start := time.Now()
				_, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
				took := time.Since(start) - limit
				var e *executors.Error
				ok = errors.As(err, &e) && e.Code == executors.Timeout &&
					strings.Contains(e.Error(), "still running after "+limit.String()) &&
					string(e.Stderr) == test.stderr && took >= test.min && took <= test.max+slack
				return ok, fmt.Sprintf("%v: %v after %v", test.args, err, took)
			}
			all.Go(func() {
				ok, what := try(test.limit)
				if !ok && test.limit > time.Second { // the function may have had no time to install its handler
					t.Logf("once more with a longer limit: %s", what)
					ok, what = try(6 * test.limit)
				}
				if !ok {
					t.Error(what)
				}
			})
		}
		all.Wait()
		if n := sleepers(); n != 0 {
			t.Errorf("%d processes left", n)
		}
	})
}

func TestCancelEndsAllProcesses(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		cause := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		_, err := x.Execute(ctx, set(r.fn("child", "setsid", "hang")), yaml.Chunks{[]byte(input)})
		if !errors.Is(err, cause) || time.Since(start) > time.Second+slack {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if n := sleepers(); n != 0 {
			t.Errorf("%d processes left", n)
		}
	})
}

// A function is over when its process ends. Its background processes are then killed.
func TestBackgroundProcessesAreKilled(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		for _, how := range []string{"group", "setsid"} {
			start := time.Now()
			out, err := x.Execute(t.Context(), set(r.fn("child", how)), yaml.Chunks{[]byte(input)})
			if err != nil || out.List.String() != input || time.Since(start) > time.Second+slack {
				t.Errorf("%s: %q, %v after %v", how, out.List, err, time.Since(start))
			}
			if n := sleepers(); n != 0 {
				t.Errorf("%s: %d processes left", how, n)
			}
		}
		if kids, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); len(kids) > 0 {
			t.Errorf("children left: %s", kids)
		}
	})
}

func TestOutputSizesAreLimited(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		flood := set(r.fn("flood"))
		flood.Limits.Output = 32 << 20
		if _, err := x.Execute(t.Context(), flood, nil); code(err) != executors.Limit ||
			!strings.Contains(err.Error(), "more than 32 MiB") {
			t.Errorf("flood: %v", err)
		}
		out, err := x.Execute(t.Context(), set(r.fn("noise")), yaml.Chunks{[]byte(input)})
		if err != nil || out.List.String() != input || len(out.Stderr) != executors.StderrTail ||
			!bytes.HasSuffix(out.Stderr, []byte("last words\n")) {
			t.Errorf("noise: %v, %d bytes of stderr", err, len(out.Stderr))
		}
		large := bytes.Repeat([]byte(input), 20<<20/len(input))
		for _, fn := range []string{"copy", "deaf"} {
			out, err := x.Execute(t.Context(), set(r.fn(fn)), yaml.Chunks{large})
			if err != nil || fn == "copy" && out.List.String() != string(large) {
				t.Errorf("large list, %s: %d bytes, %v", fn, out.List.Len(), err)
			}
		}
	})
}

// A function inherits nothing from the caller except explicit inputs.
func TestFunctionsInheritNothing(t *testing.T) {
	r := self(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil { // without CLOEXEC
		t.Fatal(err)
	}
	defer syscall.Close(p[0])
	defer syscall.Close(p[1])
	dup, err := syscall.Dup(p[0]) // another number, also without CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(dup)
	unix.CloseRange(3, 1<<20, unix.CLOSE_RANGE_CLOEXEC) // Adopt does this once, at start
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		f := set(r.fn("env"))
		f.Env = []string{"GRANTED=yes"}
		out, err := x.Execute(t.Context(), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(out.List.String()) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			names = append(names, name)
			if (name == "HOME" || name == "TMPDIR") && !strings.Contains(value, "krmflow-fn-") {
				t.Errorf("%s is %s", name, value)
			}
		}
		if got := strings.Join(names, " "); got != "PATH LANG TZ HOME TMPDIR GRANTED" {
			t.Errorf("environment: %s", got)
		}
		out, err = x.Execute(t.Context(), set(r.fn("fds")), nil)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.List.String()) {
			// The function's Go runtime opens its control group.
			if fd, to, _ := strings.Cut(line, " "); fd > "2" && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
				t.Errorf("open descriptors:\n%s", out.List)
			}
		}
	})
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "krmflow-fn-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSandboxConfinesFunctions(t *testing.T) {
	iso := exec.Probe()
	if !iso.Enough() {
		executortest.Missing(t, "isolation is "+iso.String())
	}
	t.Run("no namespaces", func(t *testing.T) {
		longtest.Only(t)
		testSandbox(t, exec.Isolation{Landlock: 1, Seccomp: true})
	})
	t.Run("all", func(t *testing.T) { testSandbox(t, iso.Whole()) })
	t.Run("embedded", func(t *testing.T) {
		embed(t)
		testSandbox(t, iso)
	})
}

func testSandbox(t *testing.T, iso exec.Isolation) {
	r := self(t)
	x := exec.NewWith(iso)
	defer x.Close()
	run := func(f function.Function) string {
		t.Helper()
		out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
		if err != nil {
			var e *executors.Error
			errors.As(err, &e)
			return fmt.Sprintf("%v %s", err, e.Stderr)
		}
		return out.List.String()
	}
	tree := r.root + "/kustomization.yaml"
	os.WriteFile(tree, nil, 0o644)
	got := run(r.fn("read", "/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/1/cmdline", tree, "/etc/ld.so.cache"))
	want := "false /etc/passwd\nfalse /etc/shadow\nfalse /proc/1/environ\nfalse /proc/1/cmdline\nfalse " + tree +
		"\ntrue /etc/ld.so.cache\n"
	if got != want {
		t.Errorf("read: %s", got)
	}
	mounted := r.fn("read", tree)
	mounted.Mounts = []function.Mount{{Type: "bind", Source: tree}}
	if got := run(mounted); got != "true "+tree+"\n" {
		t.Errorf("mounted: %s", got)
	}
	link := r.root + "/link.yaml"
	os.Symlink(tree, link)
	mounted.Mounts[0].Source = link
	if got := run(mounted); !strings.Contains(got, "the source "+link+" is or passes a symbolic link to "+tree) {
		t.Errorf("a link: %s", got)
	}
	got = run(r.fn("write", r.root, "/tmp", "/var/tmp", "/dev/shm"))
	if strings.Count(got, "true") != 2 || strings.Count(got, "true "+os.TempDir()+"/krmflow-fn-") != 2 {
		t.Errorf("write: %s", got)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	sock := filepath.Join(t.TempDir(), "s")
	local, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if got := run(r.fn("dial", tcp.Addr().String(), sock)); got != "tcp false\nunix false\nudp false\n" {
		t.Errorf("dial: %s", got)
	}
	online := r.fn("dial", tcp.Addr().String(), sock)
	online.Network = "host"
	if got := run(online); got != "tcp true\nunix false\nudp true\n" {
		t.Errorf("dial with network: %s", got)
	}
	var n int
	if fmt.Sscan(run(r.fn("storm")), &n); n < 100 || n > 256 && (iso.UserNS || os.Geteuid() == 0) {
		t.Errorf("%d processes started", n)
	}
	if n := sleepers(); n != 0 {
		t.Errorf("%d processes left of the storm", n)
	}
	hog := r.fn("hog")
	hog.Limits.Memory = 256 << 20
	if _, err := x.Execute(t.Context(), hog, nil); code(err) != executors.Limit ||
		!strings.Contains(err.Error(), "used more than 256 MiB of memory") {
		t.Errorf("hog: %v", err)
	}
	// Memory that processes share is not counted for each of them.
	forks := r.script(t, "forks", "#!/bin/sh\nx=$(head -c 30000000 /dev/zero | tr '\\0' x)\n"+
		"for i in 1 2 3 4 5 6 7 8; do (sleep 0.5; :) & done; wait\n")
	forks.Limits.Memory = 150 << 20
	if _, err := x.Execute(t.Context(), forks, nil); err != nil {
		t.Errorf("forks: %v", err)
	}
	crowd := r.script(t, "crowd", "#!/bin/sh\nn=0; while [ $n -lt 100 ]; do sleep 47.11 & n=$((n+1)); done\n")
	crowd.Limits.Procs = 40
	if _, err := x.Execute(t.Context(), crowd, nil); (iso.UserNS || os.Geteuid() == 0) && code(err) != executors.Limit {
		t.Errorf("crowd: %v", err)
	}
	if got := run(r.fn("kill")); iso.UserNS && got != "alive\n" {
		t.Errorf("kill: %s", got)
	}
}

// A machine without space for temporary files is not a bug.
func TestNoTemporaryFiles(t *testing.T) {
	x, r := exec.New(), self(t)
	defer x.Close()
	x.Isolation() // the test of isolation also needs files
	t.Setenv("TMPDIR", filepath.Join(r.root, "none"))
	_, err := x.Execute(t.Context(), r.fn("cat"), nil)
	var e *executors.Error
	if !errors.As(err, &e) || e.Code != executors.Failed || !strings.Contains(e.Error(), "no such file or directory") {
		t.Error(err)
	}
}

// Without any isolation, a function needs a special permission.
func TestNoIsolation(t *testing.T) {
	r := self(t)
	x := exec.NewWith(exec.Isolation{Seccomp: true})
	defer x.Close()
	f := r.fn("copy")
	if err := x.Prepare(t.Context(), f); code(err) != executors.Denied || !strings.Contains(err.Error(), "--allow-unsandboxed") {
		t.Errorf("prepare: %v", err)
	}
	if _, err := x.Execute(t.Context(), f, nil); code(err) != executors.Denied {
		t.Errorf("execute: %v", err)
	}
	f.Unsandboxed = true
	if out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)}); err != nil || out.List.String() != input {
		t.Errorf("allowed: %q, %v", out.List, err)
	}
}

// Concurrent calls do not kill each other's processes, and no process is left at the end.
func TestParallelCallsAreIndependent(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		var calls sync.WaitGroup
		for i := range 24 {
			calls.Go(func() {
				out, err := x.Execute(t.Context(), set(r.fn([]string{"copy", "child", "upper"}[i%3], []string{"group", "setsid"}[i%2])),
					yaml.Chunks{[]byte(input)})
				if err != nil || !strings.EqualFold(out.List.String(), input) {
					t.Errorf("%d: %q, %v", i, out.List, err)
				}
			})
		}
		calls.Wait()
		if n := sleepers(); n != 0 {
			t.Errorf("%d processes left", n)
		}
	})
}

// Twenty calls, in long tests a hundred, each with an orphan in its own session, leave no zombie,
// process or descriptor.
func TestManyCalls(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		f := set(r.script(t, "orphan", "#!/bin/sh\ncat\nsetsid sleep 0.01 &\n(sleep 0.01 &)\n"))
		if _, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)}); err != nil {
			t.Fatal(err)
		}
		before := descriptors(t)
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				for range longtest.Sample(5, 25, 25) {
					if out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)}); err != nil || out.List.String() != input {
						t.Errorf("%q, %v", out.List, err)
					}
				}
			})
		}
		calls.Wait()
		if kids, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); len(kids) > 0 {
			t.Errorf("children left, alive or not: %s", kids)
		}
		if after := descriptors(t); after > before+10 {
			t.Errorf("%d descriptors became %d", before, after)
		}
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
