// Package git runs the git program in a controlled way: without a terminal, with only the
// environment variables that the caller selects, and so that git never starts a program that a
// repository configures. Output is limited in size, and error messages of git are returned as
// errors without credentials.
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

// settings apply to every call and override the configuration of repositories and of the user.
var settings = []string{"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never",
	"-c", "gc.auto=0", "-c", "maintenance.auto=false"}

// A Git runs git. It must not be used concurrently.
type Git struct {
	// Dir is the working directory of git; "" means that of the process.
	Dir string
	// Env is the environment of git.
	Env []string
	// Settings are arguments in front of the arguments of each call, for example -c and a
	// setting.
	Settings []string
	// Said is the stderr output of the last call, at most the first 4 KiB.
	Said string

	program string
}

// New returns a Git for the program on PATH with the given settings. The environment only has
// variables that turn off prompts, optional locks and replace refs, and LC_ALL=C for English
// messages. The error is that of [exec.LookPath].
func New(settings ...string) (*Git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	return &Git{program: program, Settings: settings,
		Env: []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1"}}, nil
}

// Inherit adds variables from the environment of krmflow to Env, as far as they are set.
func (g *Git) Inherit(names ...string) {
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			g.Env = append(g.Env, name+"="+value)
		}
	}
}

// Configure adds settings, a list of alternating names and values, as environment variables.
// Unlike arguments, these are not visible to other users.
func (g *Git) Configure(config []string) {
	g.Env = append(g.Env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)/2))
	for i := 0; i+1 < len(config); i += 2 {
		g.Env = append(g.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, config[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, config[i+1]))
	}
}

// UserConfig returns the settings in the user's GIT_CONFIG_* variables as a list of alternating
// names and values.
func UserConfig() (config []string) {
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	for i := range min(n, 1000) {
		config = append(config, os.Getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), os.Getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)))
	}
	return config
}

// Command returns a call of git that is killed when ctx is done. On Linux it is also killed when
// the thread that starts it ends.
func (g *Git) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(settings, g.Settings, args)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.Dir, g.Env, 2*time.Second
	detach.Command(cmd)
	return cmd
}

// maxOutput is the limit for the output of [Git.Run], in bytes.
const maxOutput = 64 << 20

// ErrLong reports that the output of git exceeds the limit.
var ErrLong = errors.New("git prints too much")

// Run calls git and returns its output. The error is [ErrLong] if the output exceeds the limit.
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

// Stream calls git with input on stdin, which may be nil, and calls read with stdout. If read
// fails, git is killed. The error is the cause of ctx if ctx is done, an [*Error] if git failed,
// or the error of read.
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
	runtime.LockOSThread() // git is killed if the thread ends
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

// An Error reports a failed call of git. Text is the message of git on one line, without
// credentials; it may be empty.
type Error struct {
	Text string
	Err  error
}

func (e *Error) Error() string { return cmp.Or(e.Text, e.Err.Error()) }
func (e *Error) Unwrap() error { return e.Err }

// said returns the stderr output of git on one line, without credentials.
func said(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: ", "remote: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line == "Could not read from remote repository." {
			break // followed by general advice
		}
		if strings.HasPrefix(line, "unable to read askpass response") { // caused by our GIT_ASKPASS
			continue
		}
		if line != "" && !strings.HasPrefix(line, "warning: ") && !strings.HasPrefix(line, "hint: ") && len(lines) < 4 {
			lines = append(lines, strings.TrimSuffix(hideUsers(line), "."))
		}
	}
	return diag.Sanitise(strings.Join(lines, "; "))
}

// hideUsers removes user names and passwords from URLs in text.
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

// first is a buffer that discards everything after the first max bytes.
type first struct {
	bytes.Buffer
	max int
}

func (f *first) Write(p []byte) (int, error) {
	f.Buffer.Write(p[:min(len(p), max(0, f.max-f.Len()))])
	return len(p), nil
}
