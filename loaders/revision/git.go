package revision

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/detach"
)

// git starts the program git in one directory.
type git struct {
	program, dir string
	env          []string
	warned       string // what the last call said beside its answer
}

// settings hold for every call. Whatever the configuration of a repository says, git starts no program for it and connects to nothing: what
// is missing in a partial clone stays missing.
var settings = []string{
	"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.warnAmbiguousRefs=true", "-c", "core.quotePath=false",
	"-c", "protocol.allow=never", "-c", "credential.helper=", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
}

// newGit returns what starts git in a directory. Of the environment it gets where the user's configuration is, which may say that a repository
// of somebody else is trusted; but not GIT_DIR and the like, which hooks of git have: the directory decides.
func newGit(dir string) (*git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, diag.NoRevision.Errorf("%s is read by the program git, which is not on PATH", Prefix)
	}
	g := &git{program: program, dir: dir}
	g.env = []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_ASKPASS=false"}
	names := []string{"PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "GIT_EXEC_PATH",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG_COUNT"}
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	for i := range min(n, 1000) {
		names = append(names, fmt.Sprintf("GIT_CONFIG_KEY_%d", i), fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))
	}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			g.env = append(g.env, name+"="+value)
		}
	}
	return g, nil
}

// command returns a call of git that ends with ctx.
func (g *git) command(ctx context.Context, stderr io.Writer, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(settings, args)...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = g.dir, g.env, stderr, 2*time.Second
	detach.Command(cmd)
	return cmd
}

// run calls git and returns what it prints.
func (g *git) run(ctx context.Context, args ...string) (out []byte, err error) {
	const most = 1 << 20
	err = g.stream(ctx, func(r io.Reader) error {
		out, err = io.ReadAll(io.LimitReader(r, most))
		return err
	}, args...)
	return out, err
}

// stream calls git and gives what it prints to read. If read fails, git is ended. The error has what git said.
func (g *git) stream(ctx context.Context, read func(io.Reader) error, args ...string) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	stderr := &first{max: 4096}
	cmd := g.command(within, stderr, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the program ends with the thread that started it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	errRead := read(out)
	if errRead != nil {
		cancel()
	}
	err = cmd.Wait()
	g.warned = stderr.String()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errRead != nil:
		return errRead
	case err != nil:
		return &gitError{text: said(g.warned), err: err}
	}
	return nil
}

// A gitError says how a call of git failed.
type gitError struct {
	text string
	err  error
}

func (e *gitError) Error() string { return cmp.Or(e.text, e.err.Error()) }
func (e *gitError) Unwrap() error { return e.err }

// said returns what git wrote on stderr, in one line.
func said(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line != "" && !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "hint: ") && len(lines) < 4 {
			lines = append(lines, strings.TrimSuffix(line, "."))
		}
	}
	return diag.OneLine(strings.Join(lines, "; "))
}

// first keeps the first bytes that are written to it.
type first struct {
	bytes.Buffer
	max int
}

func (f *first) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), max(0, f.max-f.Len()))])
	return len(p), nil
}
