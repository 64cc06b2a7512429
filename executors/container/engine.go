package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// An Engine is a program that runs containers.
type Engine struct {
	// Name is podman or docker.
	Name string
	// Path is the path of the program.
	Path string
}

// ErrNoEngine is returned by [Detect] if the machine has no engine.
var ErrNoEngine = errors.New("neither podman nor docker is on PATH")

// Detect returns the engine of this machine: podman if it is on PATH, otherwise docker. override
// selects one by its name or by the path of a program with that name. Detect runs nothing.
func Detect(override string) (Engine, error) {
	names := []string{"podman", "docker"}
	if override != "" {
		name := strings.TrimSuffix(filepath.Base(override), ".exe")
		if name != "podman" && name != "docker" {
			return Engine{}, fmt.Errorf("%q is not a container runtime: expected podman, docker or a path that ends in one of these names",
				override)
		}
		names = []string{override}
	}
	for _, name := range names {
		path, err := osexec.LookPath(name)
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return Engine{}, err
		}
		return Engine{strings.TrimSuffix(filepath.Base(name), ".exe"), path}, nil
	}
	if override != "" {
		return Engine{}, fmt.Errorf("the container runtime %s is not on PATH", override)
	}
	return Engine{}, ErrNoEngine
}

// Environment returns the variables of environ, in the form of os.Environ, that engines need. An
// executor process needs no others. Containers do not receive them.
func Environment(environ []string) []string {
	var kept []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		switch strings.ToUpper(name) {
		case "PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "REGISTRY_AUTH_FILE", "STORAGE_DRIVER", "STORAGE_OPTS",
			"DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
			"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
			"USERPROFILE", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "TEMP", "TMP", "PATHEXT":
			kept = append(kept, e)
			continue
		}
		for _, prefix := range []string{"DOCKER_", "CONTAINER_", "CONTAINERS_", "XDG_", "_CONTAINERS_"} {
			if strings.HasPrefix(name, prefix) {
				kept = append(kept, e)
			}
		}
	}
	return kept
}

// command returns a command of the engine that is killed at the end of ctx.
func (e Engine) command(ctx context.Context, args ...string) *osexec.Cmd {
	cmd := osexec.CommandContext(ctx, e.Path, args...)
	cmd.Env = Environment(os.Environ())
	cmd.SysProcAttr = detached()
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// output runs a command of the engine and returns its standard output. The error contains the
// engine's message.
func (e Engine) output(ctx context.Context, args ...string) (string, error) {
	cmd := e.command(ctx, args...)
	cmd.Cancel = func() error { return killAll(cmd.Process) }
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s: %s", e.Name, complaint(stderr.String(), err))
	}
	return stdout.String(), nil
}

// abilities are features that only some engines have.
type abilities struct {
	unset bool // remove variables that the engine sets itself: podman since 4.2
	// pass is true if the engine can pass its own standard streams to a container: podman since
	// 4.0,
	// except with a remote machine.
	pass bool
}

// abilities detects the features in the engine's help.
func (e Engine) abilities() (can abilities) {
	if e.Name != "podman" {
		return can
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	usage, err := e.output(ctx, "run", "--help")
	can.unset = err == nil && strings.Contains(usage, "--unsetenv ")
	can.pass = can.unset && strings.Contains(usage, "--preserve-fds ") // a client of a remote machine lacks this option
	return can
}

// removeTimeout bounds the removal of a container.
const removeTimeout = 15 * time.Second

// remove kills and removes a container. It has no context, because it must also run after a call
// was cancelled.
func (e Engine) remove(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	args := []string{"rm", "--force"}
	if e.Name == "podman" {
		args = append(args, "--time", "0", "--ignore")
	}
	_, err := e.output(ctx, append(args, name)...)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return nil
	}
	return err
}

// ownerLabel is the container label for the process that started the container, in the format of
// [owner].
const ownerLabel = "dev.krmflow.owner"

// sweep removes the containers and directories left by ended processes of this machine.
func (e Engine) sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "krmflow-*.*.*"))
	for _, dir := range dirs {
		if gone(strings.Split(filepath.Base(dir), ".")[1]) {
			os.RemoveAll(dir)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	out, err := e.output(ctx, "ps", "--all", "--no-trunc", "--filter", "label="+ownerLabel, "--format", `{{.ID}} {{.Labels}}`)
	if err != nil {
		return
	}
	for line := range strings.Lines(out) {
		id, labels, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, value, ok := strings.Cut(labels, ownerLabel); ok {
			value = strings.TrimLeft(value, "=:")
			if n := strings.IndexAny(value, " ,]"); n >= 0 {
				value = value[:n]
			}
			if gone(value) {
				e.remove(id)
			}
		}
	}
}

// owner returns a name for this process that is unique on this machine, also over time.
var owner = sync.OnceValue(func() string { return processName(os.Getpid()) })

// gone reports whether name is the owner name of an ended process of this machine.
func gone(name string) bool {
	machine, rest, ok := strings.Cut(name, "_")
	if !ok || machine != machineName() {
		return false
	}
	var pid int
	if _, err := fmt.Sscanf(rest, "%d", &pid); err != nil || pid <= 0 {
		return false
	}
	return processName(pid) != name
}
