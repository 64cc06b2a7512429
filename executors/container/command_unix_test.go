//go:build unix

package container

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/krm"
)

// A podman that can pass its streams on gives them to the function. Docker, and a podman that
// cannot, copy the input and output.
func TestCapablePodmanPassesStreams(t *testing.T) {
	const unset, fds = "      --unsetenv stringArray   Unset\n", "      --preserve-fds uint   Pass\n"
	for _, tt := range []struct{ engine, usage, want string }{
		{"podman", unset + fds, "--rm --log-driver passthrough --name"},
		{"podman", unset, "--rm --interactive --log-driver none --name"}, // a remote client
		{"podman", fds, "--rm --interactive --log-driver none --name"},   // an old version
		{"docker", unset + fds, "--rm --interactive --log-driver none --name"},
	} {
		e := Engine{tt.engine, filepath.Join(t.TempDir(), tt.engine)}
		testbinary.Script(t, e.Path, "#!/bin/sh\ncat <<'END'\n"+tt.usage+"END\n")
		c := &call{engine: e, name: "krmflow-0", can: e.abilities()}
		if args := strings.Join(c.args(), " "); !strings.Contains(args, tt.want) {
			t.Errorf("%s with %q: %s", tt.engine, tt.usage, args)
		}
		if c.can.unset != (tt.engine == "podman" && strings.Contains(tt.usage, unset)) {
			t.Errorf("%s with %q: %+v", tt.engine, tt.usage, c.can)
		}
	}
}

// A site is a tree with a function, and the complete program to render it.
type site struct {
	*lab
	program, dir, tmp string
}

func newSite(t *testing.T, l *lab) *site {
	t.Helper()
	s := &site{lab: l, program: testbinary.Program(t, "cmd/krmflow"), dir: t.TempDir()}
	var err error
	if s.tmp, err = os.MkdirTemp("/tmp", "kf-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.tmp) })
	s.write(t, "k/kustomization.yaml", "resources: [cm.yaml]\ntransformers: [fn.yaml]\n")
	s.write(t, "k/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n")
	return s
}

func (s *site) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// catalogue writes a catalog that lists an image as example.com/v1 Fn.
func (s *site) catalogue(t *testing.T, image string, digest krm.Digest) {
	t.Helper()
	s.write(t, "catalog.yaml", fmt.Sprintf(`apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Fn}
    versions:
    - name: v1
      runtime: {container: {image: %q, sha256: %s}}
`, image, strings.TrimPrefix(digest.String(), "sha256:")))
}

// do sets the action of the function.
func (s *site) do(t *testing.T, what string) {
	t.Helper()
	s.write(t, "k/fn.yaml", "apiVersion: example.com/v1\nkind: Fn\nmetadata: {name: fn}\nspec:\n  do: "+what+"\n")
}

// krmflow returns a command of the program in its own process group.
func (s *site) krmflow(args ...string) (cmd *osexec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = osexec.Command(s.program, args...)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, stdout, stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+s.tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, stdout, stderr
}

// gone fails unless containers and temporary files disappear soon and nothing was rendered.
func (s *site) gone(t *testing.T, what string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		files, _ := filepath.Glob(s.tmp + "/*")
		left := s.containers(t)
		if left == "" && len(files) == 0 {
			break
		}
		if time.Since(begin) > 30*time.Second {
			t.Errorf("%s: left after 30 s: %s %v", what, left, files)
			return
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "out")); err == nil {
		t.Errorf("%s: something was written", what)
	}
}

// The complete program with the real engine: failures in a container have the right exit code, and
// however krmflow is ended, its container ends as well.
func TestCommandReportsContainerFailures(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	s := newSite(t, l)
	s.catalogue(t, l.registry+"/fn@"+l.v1.String(), l.v1)
	trusted := []string{"apply-render", "k", "--trusted-plugin-catalog=catalog.yaml"}

	s.do(t, "cat")
	cmd, stdout, stderr := s.krmflow(trusted...)
	if err := cmd.Run(); err != nil || stdout.String() != "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n" {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	s.gone(t, "cat")

	for _, tt := range []struct {
		do, flag string
		code     int
		want     string
	}{
		{"hang", "--fn-timeout=1s", 5, "still running after 1s, stopped"},
		{"flood", "--max-fn-output=1048576", 6, "wrote more than 1 MiB to stdout, stopped"},
		{"memory", "--fn-memory=67108864", 6, "used more than 64 MiB of memory"},
		{"fail", "--quiet", 5, "exit code 3"},
	} {
		s.do(t, tt.do)
		cmd, _, stderr := s.krmflow(append(trusted, tt.flag, "-o", "out/")...)
		cmd.Run()
		want := "Error: k/kustomization.yaml:2: transformers[0]: example.com/v1 Fn/fn: "
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(stderr.String(), want) ||
			!strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: exit code %d\n%s", tt.do, code, stderr)
		}
		s.gone(t, tt.do)
	}

	s.do(t, "hang")
	for _, tt := range []struct {
		sig  syscall.Signal
		code int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGKILL, -1}} {
		cmd, _, stderr := s.krmflow(append(trusted, "-o", "out/")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); !strings.Contains(l.containers(t), "Up"); time.Sleep(50 * time.Millisecond) {
			if time.Since(begin) > 20*time.Second {
				t.Fatalf("the container does not start\n%s", stderr)
			}
		}
		victim := cmd.Process.Pid
		if tt.sig == syscall.SIGINT {
			victim = -victim // as from a terminal
		}
		syscall.Kill(victim, tt.sig)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%v: exit code %d\n%s", tt.sig, code, stderr)
		}
		s.gone(t, tt.sig.String())
	}
}

// The tag of an image moves between plan and run, in a registry and on this machine.
func TestTagMoved(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	s := newSite(t, l)
	name := l.registry + "/moving:tag"
	move := func(version string) {
		t.Helper()
		l.must(t, "tag", "localhost/fn:"+version, name)
		l.must(t, "push", "-q", name)
		l.must(t, "pull", "-q", name)
	}
	defer l.run("untag", "localhost/fn:v2", name)
	move("v1")
	s.write(t, "k/fn.yaml", "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: fn}\nruntime: {container: {image: \""+
		name+"\"}}\nspec:\n  do: cat\n")
	cmd, plan, stderr := s.krmflow("plan", "k", "--enable-alpha-plugins", "-o", "json")
	err := cmd.Run()
	_, rest, ok := strings.Cut(plan.String(), `"digest": "`)
	text, _, _ := strings.Cut(rest, `"`)
	ref, bad := parseReference("x@" + text)
	if err != nil || !ok || bad != nil {
		t.Fatalf("%v %v\n%s%s", err, bad, plan, stderr)
	}
	first := ref.digest
	s.write(t, "plan.json", plan.String())
	move("v2")
	cmd, _, stderr = s.krmflow("apply-render", "k", "--enable-alpha-plugins", "--plan", "plan.json", "-o", "out/")
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 4 ||
		!strings.Contains(stderr.String(), "this is not what plan.json planned; nothing was executed") ||
		!strings.Contains(stderr.String(), first.String()) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	s.gone(t, "uncatalogued")

	// An image that a catalog lists by digest still exists and runs. [TestDigestDecides] checks
	// which image runs.
	s.do(t, "cat")
	s.catalogue(t, l.registry+"/moving@"+first.String(), first)
	cmd, stdout, stderr := s.krmflow("build", "k", "--trusted-plugin-catalog=catalog.yaml")
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), "name: c") {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
	// If one bit of the digest is wrong, there is nothing to run.
	first[31] ^= 1
	s.catalogue(t, l.registry+"/moving@"+first.String(), first)
	cmd, _, stderr = s.krmflow("apply-render", "k", "--trusted-plugin-catalog=catalog.yaml", "-o", "out/")
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(stderr.String(), first.String()) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	s.gone(t, "one byte off")
}
