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

// hasPodman reports whether containers can be tested for real. Where that must not be skipped, in CI, its absence is an error.
func hasPodman() (bool, error) {
	_, err := exec.LookPath("podman")
	if err != nil && executortest.MustTest() {
		return false, fmt.Errorf("%w: containers must be tested here", err)
	}
	return err == nil, nil
}

// image makes an image of a program of this repository, in a new storage of the script's own, and sets a variable to its
// digest: image PACKAGE NAME VARIABLE. The program is all that is in it.
func image(ts *testscript.TestScript, args []string) {
	dir, err := os.MkdirTemp("", "engine-") // podman is slow where the path of its storage is long
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
