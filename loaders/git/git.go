// Package git starts the program git: without a terminal, with nothing of the environment but what the caller chooses, and so that git starts no program
// because a repository says so. What it prints is bounded, and what it complains about becomes an error without credentials.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
	"github.com/krmflow/krmflow/internal/sys/detach"
)

// settings hold for every call, whatever the configuration of a repository or of the user says.
var settings = []string{"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}

// A Git starts git. Its methods may be called by one goroutine at a time.
type Git struct {
	// Dir is the directory that git is started in, "" for the working directory.
	Dir string
	// Env is the environment that it gets.
	Env []string
	// Settings are arguments that stand before those of each call, -c and a setting for instance.
	Settings []string
	// Said is what the last call has written to stderr, at most the first 4 KiB.
	Said string

	program string
}

// New returns what starts the git on PATH with these settings. Its environment has nothing yet but what keeps git from asking, and from what needs locks;
// LC_ALL makes it say things in English. The error is that of [exec.LookPath].
func New(settings ...string) (*Git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	return &Git{program: program, Settings: settings, Env: []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1"}}, nil
}

// Inherit adds variables of krmflow's own environment, as far as they are set.
func (g *Git) Inherit(names ...string) {
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			g.Env = append(g.Env, name+"="+value)
		}
	}
}

// Configure adds settings, name and value in turn, in variables: others can see the arguments of a program.
func (g *Git) Configure(config []string) {
	g.Env = append(g.Env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)/2))
	for i := 0; i+1 < len(config); i += 2 {
		g.Env = append(g.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, config[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, config[i+1]))
	}
}

// UserConfig returns the settings that the user's environment has, name and value in turn.
func UserConfig() (config []string) {
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	for i := range min(n, 1000) {
		config = append(config, os.Getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), os.Getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)))
	}
	return config
}

// Command returns a call of git that ends with ctx. On Linux it also ends with the thread that starts it.
func (g *Git) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(settings, g.Settings, args)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.Dir, g.Env, 2*time.Second
	detach.Command(cmd)
	return cmd
}

// maxOutput bounds what [Git.Run] returns, in bytes.
const maxOutput = 64 << 20

// ErrLong says that git prints more than anybody needs.
var ErrLong = errors.New("git prints too much")

// Run calls git and returns what it prints: all of it, or the error is [ErrLong].
func (g *Git) Run(ctx context.Context, args ...string) ([]byte, error) {
	return g.run(ctx, maxOutput, args...)
}

func (g *Git) run(ctx context.Context, most int64, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.Stream(ctx, nil, func(r io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(r, most+1))
		if err == nil && n > most {
			err = ErrLong
		}
		return err
	}, args...)
	return out.Bytes(), err
}

// Stream calls git, gives it input, which may be nil, and gives what it prints to read. If read fails, git is ended. The error is the cause of ctx if that
// has ended, an [*Error] if git has failed, or that of read.
func (g *Git) Stream(ctx context.Context, input io.Reader, read func(io.Reader) error, args ...string) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.Command(within, args...)
	stderr := &first{max: 4096}
	cmd.Stdin, cmd.Stderr = input, stderr
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
	g.Said = stderr.String()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errRead != nil && (g.Said == "" || errors.Is(errRead, diag.ErrLimit) || errors.Is(errRead, ErrLong)):
		return errRead
	case err != nil:
		return &Error{Text: said(g.Said), Err: err}
	}
	return errRead
}

// An Error says how a call of git failed: Text is what git says, in one line and without credentials, and may be empty.
type Error struct {
	Text string
	Err  error
}

func (e *Error) Error() string { return cmp.Or(e.Text, e.Err.Error()) }
func (e *Error) Unwrap() error { return e.Err }

// said returns what git wrote on stderr, in one line and without credentials.
func said(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: ", "remote: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line == "Could not read from remote repository." {
			break // general advice follows
		}
		if strings.HasPrefix(line, "unable to read askpass response") { // nobody was to be asked
			continue
		}
		if line != "" && !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "hint: ") && len(lines) < 4 {
			lines = append(lines, strings.TrimSuffix(hideUsers(line), "."))
		}
	}
	return diag.Sanitise(strings.Join(lines, "; "))
}

// hideUsers removes user and password from the URLs in a text.
func hideUsers(text string) string {
	before, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	end := strings.IndexAny(rest, "/' \"")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	return before + "://" + host[strings.LastIndexByte(host, '@')+1:] + hideUsers(rest[end:])
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
