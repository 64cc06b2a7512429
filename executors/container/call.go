package container

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
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
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/bounded"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A call is one run of a function.
type call struct {
	engine   Engine
	function function.Function
	image    string
	name     string // of the container
	can      abilities
	dir      string // private; contains the files for /local and the environment
	sources  []source
}

// makeDir creates the private directory of the call. Only this user can enter it; the files
// mounted from it are readable for every user, because the container runs as a different one.
func (c *call) makeDir() (err error) {
	var id [8]byte
	rand.Read(id[:])
	c.name = "krmflow-" + hex.EncodeToString(id[:])
	if c.dir, err = os.MkdirTemp("", c.name+"."+owner()+".*"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(c.dir)
		}
	}()
	if strings.ContainsAny(c.dir, ":,\"") {
		return fmt.Errorf("the directory for temporary files, %s, has a character that %s cannot mount", c.dir, c.engine.Name)
	}
	local := filepath.Join(c.dir, "local")
	if err := os.Mkdir(local, 0o755); err != nil {
		return err
	}
	config := filepath.Join(local, "functionConfig.yaml")
	if err := os.WriteFile(config, c.function.Config, 0o644); err != nil {
		return err
	}
	// Override the umask.
	if err := errors.Join(os.Chmod(local, 0o755), os.Chmod(config, 0o644)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, "env"), c.env(), 0o600)
}

// env returns the variables of the container, one per line.
func (c *call) env() []byte {
	env := []string{"LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"}
	if c.engine.Name == "docker" && dockerProxies() {
		// Otherwise docker would pass the user's proxies to the container.
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"} {
			env = append(env, name+"=", strings.ToLower(name)+"=")
		}
	}
	return []byte(strings.Join(append(env, c.function.Env...), "\n") + "\n")
}

func dockerProxies() bool {
	dir := os.Getenv("DOCKER_CONFIG")
	if dir == "" {
		home, _ := os.UserHomeDir()
		dir = filepath.Join(home, ".docker")
	}
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	return err == nil && bytes.Contains(config, []byte(`"proxies"`))
}

// args returns the command that runs or creates the container.
func (c *call) args() []string {
	f := c.function
	memory := strconv.FormatInt(f.Limits.Memory, 10)
	network := f.Network
	if network == "" {
		network = "none"
	}
	streams := []string{"--interactive", "--log-driver", "none"}
	if c.can.pass {
		// With --interactive, podman loses output if a function exits before it has read all of its
		// input.
		streams = []string{"--log-driver", "passthrough"}
	}
	command := []string{"run", "--rm"}
	if c.inSteps() {
		command = []string{"create"}
	}
	args := append(command, streams...)
	args = append(args,
		"--name", c.name, "--label", ownerLabel+"="+owner(), "--pull", "never",
		"--network", network, "--hostname", "function",
		"--cap-drop", "all", "--security-opt", "no-new-privileges",
		"--read-only", "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777",
		"--pids-limit", strconv.Itoa(f.Limits.Procs), "--memory", memory, "--memory-swap", memory,
		"--env-file", filepath.Join(c.dir, "env"),
		"--volume", filepath.Join(c.dir, "local")+":/local:ro,Z",
	)
	if c.engine.Name == "podman" {
		args = append(args, "--http-proxy=false", "--read-only-tmpfs=false", "--systemd=false")
	}
	args = append(args, c.user(os.Getuid(), os.Getgid())...)
	if c.can.unset {
		args = append(args, "--unsetenv", "TERM", "--unsetenv", "container")
	}
	for _, m := range f.Mounts {
		args = append(args, "--mount", mountOption(m))
	}
	return append(args, "--", c.image)
}

// user returns the options for the user of the function. uid and gid are the ids of this
// process, negative on systems without ids.
func (c *call) user(uid, gid int) []string {
	if !c.function.AsCurrentUser || uid < 0 {
		return []string{"--user", "65534:65534"}
	}
	args := []string{"--user", fmt.Sprintf("%d:%d", uid, gid)}
	if c.engine.Name == "podman" && uid != 0 {
		// Without root, podman maps the ids of a container to different ones outside.
		args = append(args, "--userns", "keep-id")
	}
	return args
}

func mountOption(m function.Mount) string {
	options := []string{"type=" + m.Type}
	if m.Source != "" {
		options = append(options, "source="+m.Source)
	}
	options = append(options, "target="+m.Dest)
	if !m.Writable && m.Type != "tmpfs" {
		options = append(options, "readonly")
	}
	return strings.Join(options, ",")
}

// run runs the container and removes it.
func (c *call) run(ctx context.Context, list yaml.Chunks) (executors.Output, error) {
	f := c.function
	limited, cancel := context.WithTimeout(ctx, f.Limits.Timeout)
	defer cancel()
	running, stop := context.WithCancelCause(limited)
	defer stop(nil)
	stdout := bounded.NewOutput(f.Limits.Output, func() { stop(bounded.ErrFull) })
	stderr := &bounded.Tail{Limit: executors.StderrTail}
	run := c.runAtOnce
	if c.inSteps() {
		run = c.runInSteps
	}
	err := run(running, list, stdout, stderr)
	var removed error
	// Otherwise --rm has removed it.
	if err != nil || c.inSteps() {
		removed = c.engine.remove(c.name)
	}
	out := executors.Output{List: stdout.Blocks(), Stderr: stderr.Bytes()}
	var known *executors.Error
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case context.Cause(running) == bounded.ErrFull:
		return executors.Output{Stderr: out.Stderr},
			c.failed(executors.Limit, out, "wrote more than %s to stdout, stopped", diag.Size(f.Limits.Output)).
				Hint("--max-fn-output sets how much a function may write")
	case limited.Err() != nil:
		return out, c.failed(executors.Timeout, out, "still running after %s, stopped",
			f.Limits.Timeout).Hint("--fn-timeout sets how long a function may take")
	case errors.As(err, &known):
		return executors.Output{}, known // without its output
	case err != nil:
		return out, c.explain(err, out)
	case removed != nil:
		return out, c.failed(executors.Failed, out, "its container was not removed: %v", removed)
	}
	return out, nil
}

// command returns a command of the engine.
func (c *call) command(args ...string) *osexec.Cmd {
	cmd := c.engine.command(context.Background(), args...)
	cmd.Dir = c.dir // engines write files to their working directory
	return cmd
}

// runAtOnce runs the container with a single command.
func (c *call) runAtOnce(ctx context.Context, list yaml.Chunks, stdout, stderr io.Writer) error {
	stdin := net.Buffers(slices.Clone(list))
	cmd := c.command(c.args()...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &stdin, stdout, stderr
	if err := c.wait(ctx, cmd); err != nil {
		return err
	}
	return c.unchanged()
}

// wait runs cmd until it exits or ctx ends. If ctx ends, it removes the container, and the
// engine's command then exits by itself. An engine that is killed while it creates a container
// may leave a partial one.
func (c *call) wait(ctx context.Context, cmd *osexec.Cmd) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		c.engine.remove(c.name)
		select {
		case <-ended:
			return ctx.Err()
		case <-time.After(retry):
		}
	}
	cmd.Process.Kill()
	<-ended
	return ctx.Err()
}

const (
	patience = 10 * time.Second       // time for an engine to notice that its container is gone
	retry    = 100 * time.Millisecond // interval; the container may not exist yet
)

func (c *call) failed(code executors.Code, out executors.Output, format string, args ...any) *executors.Error {
	e := fail(c.function, code, format, args...)
	e.Stderr = out.Stderr
	return e
}
