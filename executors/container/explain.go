package container

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
)

// explain returns the error for an exit status. Engines use 125 to 127 for failures before the
// function runs. Functions may use these values also, so explain attributes them to the engine
// only if there is a message from it.
func (c *call) explain(err error, out executors.Output) error {
	var exit interface {
		error
		ExitCode() int
	}
	if !errors.As(err, &exit) {
		return c.failed(executors.Failed, out, "%s: %v", c.engine.Name, err)
	}
	code := exit.ExitCode()
	said, own := lastWords(string(out.Stderr))
	switch {
	case own && code == 125, own && code <= 127 && code >= 126 && containsAny(said, "oci", "runc", "crun", "conmon", "container", "exec"):
		return c.notStarted(said, out)
	case code == 128+int(syscall.SIGKILL):
		// Nothing else kills the function: the other ways to end a call were handled before.
		return c.failed(executors.Limit, out, "it was killed (signal: killed) because it used more than %s of memory",
			diag.Size(c.function.Limits.Memory)).
			Hint("--fn-memory sets how much a function may use")
	case code > 128 && code < 128+65:
		return c.failed(executors.Failed, out, "it died (signal: %s)", syscall.Signal(code-128))
	case code < 0:
		return c.failed(executors.Failed, out, "%s died: %v", c.engine.Name, err)
	}
	return c.failed(executors.Failed, out, "exit code %d", code)
}

// notStarted returns the error for an engine's message that the function did not run. The cause
// may be the image or the machine.
func (c *call) notStarted(said string, out executors.Output) error {
	switch {
	case containsAny(said, "executable file", "no such file or directory") && containsAny(said, "exec: ", "executable file", "exec `"):
		return c.failed(executors.Failed, out, "the command of the image does not exist: %s", said)
	case containsAny(said, "exec format error"):
		return c.failed(executors.Failed, out, "the command of the image is for another machine: %s", said)
	case containsAny(said, "exec: ", "exec `", "exec container process") && containsAny(said, "permission denied", "is a directory"):
		return c.failed(executors.Failed, out, "the command of the image cannot be executed: %s", said)
	}
	e := c.failed(executors.Failed, out, "%s could not start the container, so the function did not run: %s", c.engine.Name, said)
	if advice := c.engine.advice(said); advice != "" {
		e.Hint("%s", advice)
	}
	return e.Hint("to check whether %s itself fails, run: %s run --rm --network none %s", c.engine.Name, c.engine.Name, shortID(c.image))
}

// advice returns instructions for a message of an engine that cannot start any container, or ""
// if the message is unknown.
func (e Engine) advice(said string) string {
	for _, a := range []struct {
		engine string
		signs  []string
		advice string
	}{
		{"podman", []string{"oci runtime \"", "no valid executable found for oci runtime"},
			`install that runtime, or set a different one in the file named by CONTAINERS_CONF: [engine] runtime = "runc"`},
		{"podman", []string{"setting rlimit"},
			`lower the limits in the file named by CONTAINERS_CONF: [containers] default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]`},
		{"podman", []string{"systemd not running", "systemd cgroup", "sd-bus", "dial unix /run/systemd"},
			`without systemd, set this in the file named by CONTAINERS_CONF: [engine] cgroup_manager = "cgroupfs"`},
		{"podman", []string{"newuidmap", "newgidmap", "subuid", "insufficient uids"},
			"rootless podman needs newuidmap, and ids for this user in /etc/subuid and /etc/subgid"},
		{"", []string{"user namespace", "clone: operation not permitted", "unshare: operation not permitted"},
			"this user cannot create user namespaces on this machine (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"},
		{"", []string{"cgroup", "memory.max", "pids.max"},
			"limits for memory and processes need control groups that this user can manage: the controllers memory and pids"},
		{"docker", []string{"docker daemon", "docker.sock", "docker api"},
			"the docker daemon is not running or denies access to this user; set DOCKER_HOST to use a different one"},
	} {
		if (a.engine == "" || a.engine == e.Name) && containsAny(said, a.signs...) {
			return a.advice
		}
	}
	return ""
}

func containsAny(s string, words ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// shortID returns an image id in the form in which engines list it.
func shortID(image string) string {
	id := strings.TrimPrefix(image, "sha256:")
	return id[:min(len(id), 12)]
}

// complaint returns the message of an engine that failed with err.
func complaint(stderr string, err error) string {
	if line, _ := lastWords(stderr); line != "" {
		return line
	}
	return err.Error()
}

// lastWords returns the last line that is the engine's own message, and true. If there is none
// it returns the last line and false.
func lastWords(stderr string) (line string, own bool) {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	line = lines[len(lines)-1]
	// docker's last line explains how to get help.
	for _, l := range slices.Backward(lines[max(0, len(lines)-4):]) {
		if strings.HasPrefix(l, "docker: ") || strings.HasPrefix(l, "Error: ") || strings.HasPrefix(l, "Error response from daemon: ") {
			line, own = l, true
			break
		}
	}
	line = strings.TrimSpace(line)
	for _, prefix := range []string{"docker: ", "Error: ", "Error response from daemon: "} {
		line = strings.TrimPrefix(line, prefix)
	}
	if len(line) > 500 {
		line = line[:500] + "..."
	}
	return line, own
}
