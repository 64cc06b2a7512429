package krmflow_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/executortest"
)

// run runs a program in dir with variables besides those of the test and returns what it has printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// TestImage makes the image and renders a tree with it that is mounted read-only.
func TestImage(t *testing.T) {
	if _, err := exec.LookPath("podman"); err != nil {
		executortest.Missing(t, "podman")
	}
	dir, err := os.MkdirTemp("", "image-") // podman is slow where the path of its storage is long
	if err != nil {
		t.Fatal(err)
	}
	vars, err := executortest.PodmanConfig(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	t.Cleanup(func() {
		run(t, dir, env, "podman", "rm", "-f", "-a")
		os.RemoveAll(dir)
	})
	if _, errs, err := run(t, ".", env, "make", "image", "IMAGE=localhost/krmflow:test", "VERSION=v1.2.3", "GOBUILD=env CGO_ENABLED=0 go build"); err != nil {
		t.Fatal(err, errs)
	}
	tree, err := filepath.Abs("testdata/kustomize/shop")
	if err != nil {
		t.Fatal(err)
	}
	podman := func(args ...string) string {
		out, errs, err := run(t, dir, env, "podman", append([]string{"run", "--rm", "--read-only", "--network=none", "--volume=" + tree + ":/work:ro"}, args...)...)
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, errs)
		}
		return out
	}
	want, err := os.ReadFile(filepath.Join("testdata/kustomize/shop/golden/overlays/prod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := podman("localhost/krmflow:test", "build", "overlays/prod"); got != string(want) {
		t.Errorf("it renders %d bytes, not %d", len(got), len(want))
	}
	if got := podman("localhost/krmflow:test", "version", "--short"); got != "v1.2.3\n" {
		t.Errorf("version %q", got)
	}
	if got := podman("--entrypoint=kustomize", "localhost/krmflow:test", "version"); got != "v5.8.2\n" {
		t.Errorf("as kustomize, version %q", got)
	}
	config, _, _ := run(t, dir, env, "podman", "image", "inspect", "--format", "{{.User}} {{.Created}} {{.Config.Entrypoint}}", "localhost/krmflow:test")
	if !strings.HasPrefix(config, "65532:65532 1970-01-01 ") {
		t.Errorf("the image is %s", config)
	}
}
