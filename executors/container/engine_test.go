package container

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// The tests that need an engine create their own environment: storage, configuration, images, and a
// registry on the loopback interface. They neither use nor change anything else on the machine.

// A lab is the environment that these tests share.
type lab struct {
	engine   Engine
	dir, tmp string
	registry string // host:port
	serving  *osexec.Cmd
	v1, v2   krm.Digest // two versions of the function, also in the registry
}

var shared struct {
	once sync.Once
	lab  *lab
	err  error
	why  string
}

// newLab returns the shared lab. Without an engine the test is skipped, and in CI it fails.
func newLab(t *testing.T) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("containers are slow")
	}
	shared.once.Do(func() {
		engine, err := Detect(os.Getenv("KRMFLOW_TEST_ENGINE"))
		if err != nil {
			shared.why = err.Error()
			return
		}
		shared.lab, shared.err = makeLab(engine)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	if shared.lab == nil {
		executortest.Missing(t, shared.why+"; apt-get install podman runc docker-registry makes these tests run")
	}
	t.Cleanup(func() {
		// No process of a container, even a partly created one, is left either.
		if left := shared.lab.processes(); left != "" {
			t.Errorf("processes were left:\n%s", left)
		}
		if t.Failed() {
			shared.lab.run("rm", "-f", "-a")
		}
		await(t, "containers were left", func() bool { return shared.lab.containers(t) == "" })
	})
	return shared.lab
}

// await waits until state is true. It fails after a time that is longer than any test should need.
func await(t *testing.T, not string, state func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !state(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(not)
		}
	}
}

func makeLab(engine Engine) (*lab, error) {
	dir, err := os.MkdirTemp("", "krmflow-lab-")
	if err != nil {
		return nil, err
	}
	l := &lab{engine: engine, dir: dir}
	// Other tests may run at the same time. Only these tests use this directory for temporary
	// files.
	if l.tmp, err = os.MkdirTemp("", "kl-"); err != nil {
		return nil, err
	}
	os.Setenv("TMPDIR", l.tmp)
	if err := l.configure(); err != nil {
		return nil, err
	}
	if err := l.build(); err != nil {
		return nil, err
	}
	return l, nil
}

// configure gives podman a separate configuration, storage and registry for the lab.
func (l *lab) configure() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	l.registry = fmt.Sprintf("127.0.0.1:%d", port)
	env, err := executortest.PodmanConfig(l.dir, l.registry)
	for name, path := range env {
		os.Setenv(name, path)
	}
	return err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// build makes two images of the function and pushes both to the registry. The tag moves from the
// first to the second.
func (l *lab) build() error {
	cmd := osexec.Command("go", "build", "-o", filepath.Join(l.dir, "fn"), "./testdata/fn")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v\n%s", err, out)
	}
	if err := l.serve(); err != nil {
		return err
	}
	for i, digest := range []*krm.Digest{&l.v1, &l.v2} {
		file := fmt.Sprintf("FROM scratch\nLABEL version=%d\nENV FROM_IMAGE=yes\nCOPY fn /fn\nENTRYPOINT [\"/fn\"]\n", i+1)
		if err := os.WriteFile(filepath.Join(l.dir, "Containerfile"), []byte(file), 0o600); err != nil {
			return err
		}
		name := l.registry + "/fn:tag"
		if out, err := l.run("build", "-q", "-t", name, "-t", fmt.Sprintf("localhost/fn:v%d", i+1), l.dir); err != nil {
			return fmt.Errorf("%v\n%s", err, out)
		}
		if out, err := l.run("push", name); err != nil {
			return fmt.Errorf("%v\n%s", err, out)
		}
		d, err := l.head("fn", "tag")
		if err != nil {
			return err
		}
		*digest = d
	}
	return nil
}

// head asks the registry for the digest of a tag.
func (l *lab) head(name, tag string) (d krm.Digest, err error) {
	req, _ := http.NewRequest("HEAD", fmt.Sprintf("http://%s/v2/%s/manifests/%s", l.registry, name, tag), nil)
	req.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return d, err
	}
	resp.Body.Close()
	ref, err := parseReference("x@" + resp.Header.Get("Docker-Content-Digest"))
	return ref.digest, err
}

// serve starts the registry.
func (l *lab) serve() error {
	config := fmt.Sprintf(
		"version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s/registry}, delete: {enabled: true}}\nhttp: {addr: %s}\n", l.dir, l.registry)
	path := filepath.Join(l.dir, "registry.yml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return err
	}
	program, err := osexec.LookPath("docker-registry")
	if err != nil {
		return fmt.Errorf("%v; apt-get install docker-registry", err)
	}
	l.serving = osexec.Command(program, "serve", path)
	l.serving.SysProcAttr = detached()
	if err := l.serving.Start(); err != nil {
		return err
	}
	for range 100 {
		if resp, err := http.Get("http://" + l.registry + "/v2/"); err == nil {
			resp.Body.Close()
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the registry does not answer")
}

func (l *lab) stop() {
	if l.serving != nil {
		l.serving.Process.Kill()
		l.serving.Wait()
		l.serving = nil
	}
}

func (l *lab) run(args ...string) (string, error) {
	out, err := osexec.Command(l.engine.Path, args...).CombinedOutput()
	return string(out), err
}

func (l *lab) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := l.run(args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", l.engine.Name, args, err, out)
	}
	return out
}

// containers lists all containers, running or not.
func (l *lab) containers(t *testing.T) string {
	t.Helper()
	return l.must(t, "ps", "--all", "--format", "{{.Names}} {{.Status}}")
}

// processes lists the processes of this lab's containers. Podman's monitor of a container outlives
// it by seconds.
func (l *lab) processes() string {
	var left strings.Builder
	for range 100 {
		left.Reset()
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			line, _ := os.ReadFile(file)
			env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ")) // other tests may use containers now
			own := bytes.Contains(env, []byte(l.dir)) && bytes.Contains(line, []byte("--name\x00krmflow-"))
			if own || bytes.Contains(line, []byte(l.dir+"/graph/")) {
				fmt.Fprintf(&left, "%s\n", bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
			}
		}
		if left.Len() == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return left.String()
}

// function returns the first version of the function with a configuration.
func (l *lab) function(config string) function.Function {
	return function.Function{
		Name: "example.com/v1 Fn/fn", Runtime: function.RuntimeContainer, Image: l.registry + "/fn:tag", Digest: l.v1,
		Config: []byte(config),
		Limits: function.Limits{Timeout: 30 * time.Second},
	}
}

// imageID returns the id that the engine gives a local image.
func (l *lab) imageID(t *testing.T, name string) string {
	t.Helper()
	var ims []found
	if err := json.NewDecoder(bytes.NewReader([]byte(l.must(t, "image", "inspect", name)))).Decode(&ims); err != nil {
		t.Fatal(err)
	}
	return ims[0].id()
}

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "reap":
		if err := Reap(os.Stdin, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case len(os.Args) == 3 && os.Args[1] == "host":
		host(os.Args[2])
		return
	case len(os.Args) == 3 && os.Args[1] == "executor":
		serve()
		return
	case len(os.Args) > 2 && os.Args[1] == "hang":
		hang(os.Args[2:])
		return
	}
	code := m.Run()
	if l := shared.lab; l != nil {
		l.stop()
		l.run("rm", "-f", "-a")
		os.RemoveAll(l.dir)
		os.RemoveAll(l.tmp)
	}
	os.Exit(code)
}
