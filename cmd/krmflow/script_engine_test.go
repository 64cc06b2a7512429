package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/rogpeppe/go-internal/testscript"
)

// hasPodman reports whether tests can run real containers. In CI, where these tests must not be
// skipped, a missing podman is an error.
func hasPodman() (bool, error) {
	_, err := exec.LookPath("podman")
	if err != nil && executortest.MustTest() {
		return false, fmt.Errorf("%w: containers must be tested here", err)
	}
	return err == nil, nil
}

// image implements image PACKAGE NAME VARIABLE. It makes an image that contains only a program of
// this repository, in a new storage for the script, and sets a variable to its digest.
func image(ts *testscript.TestScript, args []string) {
	dir, err := os.MkdirTemp("", "engine-") // podman is slow if its storage has a long path
	ts.Check(err)
	env, err := executortest.PodmanConfig(dir, "")
	ts.Check(err)
	for name, value := range env {
		ts.Setenv(name, value)
	}
	ts.Defer(func() {
		ts.Exec("podman", "rm", "-f", "-a")
		os.RemoveAll(dir)
	})
	goBuild(ts, []string{args[0], filepath.Join(dir, "fn"), args[2]})
	file := filepath.Join(dir, "Containerfile")
	ts.Check(os.WriteFile(file, []byte("FROM scratch\nENV FROM_IMAGE=yes\nCOPY fn /fn\nENTRYPOINT [\"/fn\"]\n"), 0o644))
	ts.Check(ts.Exec("podman", "build", "-q", "-t", args[1], dir))
	ts.Check(ts.Exec("podman", "image", "inspect", "--format", "{{.Digest}}", args[1]))
	ts.Setenv(args[2], strings.TrimSpace(ts.ReadFile("stdout")))
}
