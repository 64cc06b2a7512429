package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

func (l *lab) executor(t *testing.T) *Executor {
	t.Helper()
	x := New(Options{Engine: l.engine, Reaper: []string{os.Args[0], "reap"}})
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("the reaper: %v", err)
		}
	})
	return x
}

// A description is the output of the images' function about its environment.
type description struct {
	UID, GID                         int
	Env, Local, Interfaces, Writable []string
	Status                           map[string]string
	Memory, Pids                     string
}

func TestContainersAreIsolated(t *testing.T) {
	l := newLab(t)
	t.Setenv("CANARY", "hush")
	t.Setenv("HTTPS_PROXY", "http://user:hush@127.0.0.1:1")
	f := l.function("describe")
	f.Limits.Memory, f.Limits.Procs = 200<<20, 77
	out, err := l.executor(t).Execute(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(out.List.Join(), &d); err != nil {
		t.Fatalf("%v: %s", err, out.List)
	}
	if d.UID != 65534 || d.GID != 65534 {
		t.Errorf("the user is %d:%d", d.UID, d.GID)
	}
	for key, want := range map[string]string{"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1",
		"Seccomp": "2"} {
		if got := d.Status[key]; got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if !slices.Equal(d.Local, []string{"functionConfig.yaml"}) {
		t.Errorf("/local has %v", d.Local)
	}
	if !slices.Equal(d.Interfaces, []string{"lo"}) {
		t.Errorf("the network is %v", d.Interfaces)
	}
	if !slices.Equal(d.Writable, []string{"/tmp"}) {
		t.Errorf("files can be written in %v", d.Writable)
	}
	if d.Memory != "209715200" || d.Pids != "77" {
		t.Errorf("the limits are %s bytes and %s processes", d.Memory, d.Pids)
	}
	var names []string
	for _, e := range d.Env {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
		if strings.Contains(e, "hush") {
			t.Errorf("the container has %s", e)
		}
	}
	for _, want := range []string{"LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true", "FROM_IMAGE=yes"} {
		if !slices.Contains(d.Env, want) {
			t.Errorf("%s is not in %v", want, d.Env)
		}
	}
	if len(names) > 7 { // one comes from the image
		t.Errorf("the environment is %v", names)
	}
}

func TestListPassesThrough(t *testing.T) {
	l := newLab(t)
	x := l.executor(t)
	list := bytes.Repeat([]byte("- a line of a list that is about sixty characters long, as\n"), 20<<20/60)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			out, err := x.Execute(t.Context(), l.function("cat"), yaml.Chunks{list})
			if err != nil || out.List.String() != string(list) {
				t.Errorf("%d bytes came back, error %v", out.List.Len(), err)
			}
		})
	}
	wg.Wait()
	out, err := x.Execute(t.Context(), l.function("deaf"), yaml.Chunks{list})
	if err != nil || out.List.String() != "deaf\n" {
		t.Errorf("a function that does not read: %q, %v", out.List, err)
	}
}

func TestFailuresHaveCodesAndMessages(t *testing.T) {
	l := newLab(t)
	x := l.executor(t)
	for _, tt := range []struct {
		config string
		limits function.Limits
		code   executors.Code
		want   string
		within time.Duration
	}{
		{"fail", function.Limits{}, executors.Failed, "example.com/v1 Fn/fn: exit code 3", 0},
		{"hang", function.Limits{Timeout: 2 * time.Second}, executors.Timeout,
			"example.com/v1 Fn/fn: still running after 2s, stopped\n  --fn-timeout sets how long a function may take", 4 * time.Second},
		{"flood", function.Limits{Output: 64 << 20}, executors.Limit,
			"example.com/v1 Fn/fn: wrote more than 64 MiB to stdout, stopped\n  --max-fn-output sets how much a function may write", 0},
		{"memory", function.Limits{Memory: 64 << 20}, executors.Limit,
			"example.com/v1 Fn/fn: it was killed (signal: killed) because it used more than 64 MiB of memory\n" +
				"  --fn-memory sets how much a function may use", 0},
	} {
		t.Run(tt.config, func(t *testing.T) {
			f := l.function(tt.config)
			f.Limits = tt.limits
			start := time.Now()
			out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte("list")})
			var e *executors.Error
			if !errors.As(err, &e) || e.Code != tt.code || e.Error() != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if took := time.Since(start); tt.within > 0 && took > tt.within+20*time.Second { // allows for a busy machine
				t.Errorf("it took %s", took)
			}
			if got := l.containers(t); got != "" {
				t.Errorf("a container was left: %s", got)
			}
			if tt.config == "fail" && (out.List.String() != "list" || string(e.Stderr) != "cannot \x1b[31mdo it\n") {
				t.Errorf("output %q, stderr %q", out.List, e.Stderr)
			}
		})
	}
}

func TestStderrTail(t *testing.T) {
	l := newLab(t)
	out, err := l.executor(t).Execute(t.Context(), l.function("flood stderr"), nil)
	if err != nil || out.List.String() != "done\n" {
		t.Fatalf("%q, %v", out.List, err)
	}
	if len(out.Stderr) > executors.StderrTail || !bytes.HasSuffix(out.Stderr, []byte("the end\n")) {
		t.Errorf("%d bytes of stderr end with %q", len(out.Stderr), out.Stderr[max(0, len(out.Stderr)-20):])
	}
}

func TestCancelRemovesContainer(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel)
	start := time.Now()
	_, err := l.executor(t).Execute(ctx, l.function("hang"), nil)
	if !errors.Is(err, context.Canceled) || time.Since(start) > 4*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	if got := l.containers(t); got != "" {
		t.Errorf("a container was left: %s", got)
	}
	// A call that is cancelled while its container is being created must not leave a container
	// either.
	for d := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(d)*40*time.Millisecond)
		l.executor(t).Execute(ctx, l.function("hang"), nil)
		cancel()
	}
}

func TestProcessLimitIsEnforced(t *testing.T) {
	l := newLab(t)
	f := l.function("procs")
	f.Limits.Procs = 40
	out, err := l.executor(t).Execute(t.Context(), f, nil)
	var n int
	if fmt.Sscan(out.List.String(), &n); err == nil && n >= 40 {
		t.Errorf("%d processes were started", n)
	}
}

// Secrets of a call never appear in command-line arguments.
func TestSecretsStayOutOfArguments(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("there is no /proc")
	}
	l := newLab(t)
	f := l.function("hang now-secret-config")
	f.Env = []string{"TOKEN=now-secret-value"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	x := l.executor(t)
	go func() { _, err := x.Execute(ctx, f, yaml.Chunks{[]byte("now-secret-list")}); done <- err }()
	seen := false
	for ctx.Err() == nil {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			line, _ := os.ReadFile(file)
			if !seen && bytes.Contains(line, []byte("krmflow-")) && bytes.Contains(line, []byte("--env-file")) {
				seen = true
				time.AfterFunc(time.Second, cancel)
			}
			if bytes.Contains(line, []byte("now-secret")) {
				t.Fatalf("%s", line)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	<-done
	if !seen {
		t.Error("the engine was not seen at all")
	}
}

func TestEnvAndMounts(t *testing.T) {
	l := newLab(t)
	x := l.executor(t)
	f := l.function("describe")
	f.Env = []string{"GRANTED=a value = with #signs"}
	out, err := x.Execute(t.Context(), f, nil)
	if err != nil || !strings.Contains(out.List.String(), `"GRANTED=a value = with #signs"`) {
		t.Errorf("%v: %s", err, out.List)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o777)
	os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o644)
	for _, tt := range []struct {
		config   string
		writable bool
		want     string
	}{
		{"read /data/file", false, "content <nil>\n"},
		{"write /data/new", false, "open /data/new: read-only file system\n"},
		{"write /data/new", true, "<nil>\n"},
	} {
		f := l.function(tt.config)
		f.Mounts = []function.Mount{{Type: "bind", Source: dir, Dest: "/data", Writable: tt.writable}}
		out, err := x.Execute(t.Context(), f, nil)
		if err != nil || out.List.String() != tt.want {
			t.Errorf("%s: %q, %v", tt.config, out.List, err)
		}
	}
}

// The mounted file is the checked one, even if the path is replaced before the engine opens it.
func TestReplacedMount(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o755)
	for _, tt := range []struct{ when, swap, then string }{
		{"create", "mv d/data d/old; ln -s ../secret d/data", "the function was not run"},
		{"init", "mv d/data d/old; ln -s ../secret d/data", "the function was not run"},
		{"init", "mv d/data d/old; cp -r secret d/data", "the function was not run"},
		{"init", "mv d e; mkdir d; ln -s ../secret d/data", "the function was not run"},
		{"init", "mv d/data/file d/data/old; ln secret/file d/data/file", "the function was not run"},
		// An engine that cannot create a container without starting it.
		{"run", "mv d/data d/old; ln -s ../secret d/data", "the output of the function is discarded"},
	} {
		os.RemoveAll(dir + "/d")
		os.RemoveAll(dir + "/e")
		for path, text := range map[string]string{"d/data/file": "data", "secret/file": "hush", "podman": "#!/bin/sh\n" +
			"if [ $1 = " + tt.when + " ] && [ -z \"$(find " + dir + " -name old)\" ]; then (cd " + dir + "; " + tt.swap + "); fi\nexec " +
			l.engine.Path + " \"$@\"\n"} {
			os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755)
			if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		engine := Engine{"podman", filepath.Join(dir, "podman")}
		if tt.when == "run" {
			engine.Name = "docker"
		}
		x := New(Options{Engine: engine})
		f := l.function("read /data/file")
		f.Mounts = []function.Mount{{Type: "bind", Source: dir + "/d/data", Dest: "/data"}}
		if strings.HasPrefix(tt.swap, "mv d/data/file") {
			f.Config, f.Mounts[0] = []byte("read /data"), function.Mount{Type: "bind", Source: dir + "/d/data/file", Dest: "/data"}
		}
		out, err := x.Execute(t.Context(), f, nil)
		var e *executors.Error
		want := "mount /data: the source " + f.Mounts[0].Source + " was replaced after it was checked; " + tt.then
		if !errors.As(err, &e) || e.Code != executors.Verification || e.Error() != f.Name+": "+want || len(out.List) > 0 {
			t.Errorf("at %s, %s: %q, %v", tt.when, tt.swap, out.List, err)
		}
	}
}

// A call ends normally if its container is created first and started later.
func TestDeferredStartEndsNormally(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	x := l.executor(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	list := bytes.Repeat([]byte("- a line of a list that is about sixty characters long, as\n"), 5<<20/60)
	for _, tt := range []struct {
		config string
		limits function.Limits
		want   []byte
		err    string
	}{
		{"cat", function.Limits{}, list, ""},
		{"deaf", function.Limits{}, []byte("deaf\n"), ""},
		{"fail", function.Limits{}, list, "exit code 3"},
		{"hang", function.Limits{Timeout: 2 * time.Second}, nil,
			"still running after 2s, stopped\n  --fn-timeout sets how long a function may take"},
		{"flood", function.Limits{Output: 64 << 20},
			nil, "wrote more than 64 MiB to stdout, stopped\n  --max-fn-output sets how much a function may write"},
	} {
		f := l.function(tt.config)
		f.Limits = tt.limits
		f.Mounts = []function.Mount{{Type: "bind", Source: dir, Dest: "/data"}}
		out, err := x.Execute(t.Context(), f, yaml.Chunks{list})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if tt.err != "" {
			tt.err = f.Name + ": " + tt.err
		}
		if !bytes.Equal(out.List.Join(), tt.want) || got != tt.err {
			t.Errorf("%s: %d bytes, %v", tt.config, len(out.List), err)
		}
		if tt.config == "fail" && !strings.Contains(string(out.Stderr), "cannot") {
			t.Errorf("stderr: %q", out.Stderr)
		}
	}
	f := l.function("hang")
	f.Mounts = []function.Mount{{Type: "bind", Source: dir, Dest: "/data"}}
	for _, after := range []time.Duration{10, 150, 300, 1500} {
		ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
		if _, err := x.Execute(ctx, f, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled after %d ms: %v", after, err)
		}
		cancel()
	}
}

func TestNetworkNeedsGrant(t *testing.T) {
	l := newLab(t)
	x := l.executor(t)
	out, err := x.Execute(t.Context(), l.function("dial "+l.registry), nil)
	if err != nil || !strings.HasPrefix(out.List.String(), "false ") {
		t.Errorf("without a grant: %q, %v", out.List, err)
	}
	if out, err := l.run("network", "create", "krmflow-test"); err != nil {
		t.Skipf("this machine makes no networks: %s", out)
	}
	defer l.run("network", "rm", "-f", "krmflow-test")
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	// The host's loopback interface is unreachable on every network.
	f := l.function(fmt.Sprintf("dial 127.0.0.1:%d", listener.Addr().(*net.TCPAddr).Port))
	f.Network = "krmflow-test"
	out, err = x.Execute(t.Context(), f, nil)
	var e *executors.Error
	if errors.As(err, &e) && e.Code == executors.Failed {
		t.Skipf("this machine has no bridges: %v", err)
	}
	if err != nil || !strings.HasPrefix(out.List.String(), "false ") {
		t.Errorf("the host's loopback: %q, %v", out.List, err)
	}
	f.Config = []byte("describe")
	if out, err = x.Execute(t.Context(), f, nil); err != nil || !strings.Contains(out.List.String(), `"eth0"`) {
		t.Errorf("with a grant: %q, %v", out.List, err)
	}
}

// A killed process leaves no container. Its reaper removes containers, and without a reaper the
// next run does.
func TestKilledProcessLeavesNoContainer(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	for _, reaper := range []bool{true, false} {
		f, _ := json.Marshal(l.function("hang"))
		cmd := osexec.Command(os.Args[0], "hang", l.engine.Name, l.engine.Path, fmt.Sprint(reaper), string(f))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the container has not started", func() bool { return strings.Contains(l.containers(t), "Up") })
		cmd.Process.Kill()
		cmd.Wait()
		if !reaper {
			if l.containers(t) == "" {
				t.Error("the container is gone by itself: nothing is tested")
			}
			if _, err := l.executor(t).Execute(t.Context(), l.function("cat"), nil); err != nil {
				t.Fatal(err)
			}
		}
		await(t, fmt.Sprintf("reaper %t: the container is still there", reaper), func() bool { return l.containers(t) == "" })
		await(t, fmt.Sprintf("reaper %t: directories are still there", reaper), func() bool {
			left, _ := filepath.Glob(filepath.Join(os.TempDir(), "krmflow-*.*.*"))
			return len(left) == 0
		})
	}
}

// hang is the process that [TestKilledProcessLeavesNoContainer] kills.
func hang(args []string) {
	o := Options{Engine: Engine{args[0], args[1]}}
	if args[2] == "true" {
		o.Reaper = []string{os.Args[0], "reap"}
	}
	var f function.Function
	if err := json.Unmarshal([]byte(args[3]), &f); err != nil {
		panic(err)
	}
	_, err := New(o).Execute(context.Background(), f, nil)
	fmt.Fprintln(os.Stderr, err)
}

// Functions get the user's ids only on request.
func TestAsCurrentUser(t *testing.T) {
	l := newLab(t)
	f := l.function("describe")
	f.AsCurrentUser = true
	out, err := l.executor(t).Execute(t.Context(), f, nil)
	var d description
	if err != nil || json.Unmarshal(out.List.Join(), &d) != nil {
		t.Fatalf("%v: %s", err, out.List)
	}
	if d.UID != os.Getuid() || d.GID != os.Getgid() {
		t.Errorf("the user is %d:%d, want %d:%d", d.UID, d.GID, os.Getuid(), os.Getgid())
	}
}

// A function that runs here also runs without krmflow, with the same result.
func TestRunsElsewhere(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	list := []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")
	out, err := l.executor(t).Execute(t.Context(), l.function("cat"), yaml.Chunks{list})
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(l.engine.Path, "run", "--rm", "-i", l.registry+"/fn@"+l.v1.String())
	cmd.Stdin = bytes.NewReader(list)
	answer, err := cmd.Output()
	if err != nil || !bytes.Equal(answer, out.List.Join()) {
		t.Errorf("elsewhere: %q, %v; here: %q", answer, err, out.List)
	}
}
