package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/internal/cli/program"
)

// A session is a process that runs one command line after the other. The start of a process takes
// far more time than a small render, so tests that run hundreds of command lines share one
// process. Use [exec.Command] for behaviour that concerns the process: signals, limits, streams,
// exit.
type session struct {
	t        testing.TB
	cmd      *exec.Cmd
	commands *json.Encoder
	outcomes *json.Decoder
	log      bytes.Buffer // stderr of the process itself
}

// A commandLine is one run of krmflow in a session.
type commandLine struct {
	Dir  string
	Env  []string // the whole environment
	Args []string
}

// An outcome is the result of a commandLine.
type outcome struct {
	Stdout, Stderr []byte
	Combined       []byte // both, in the order of the writes
	Code           int
}

// inSession is the environment variable that makes the program krmflow of the tests serve a
// session.
const inSession = "KRMFLOW_TEST_SESSION"

// newSession starts a session, which ends with the test. It must not be used concurrently.
func newSession(t testing.TB) *session {
	t.Helper()
	s := &session{t: t, cmd: exec.Command("krmflow")}
	s.cmd.Env = append(os.Environ(), inSession+"=1")
	s.cmd.Stderr = &s.log
	in, err := s.cmd.StdinPipe()
	out, errOut := s.cmd.StdoutPipe()
	if err := errors.Join(err, errOut, s.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	s.commands, s.outcomes = json.NewEncoder(in), json.NewDecoder(out)
	t.Cleanup(func() {
		in.Close()
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, s.log.Bytes())
		}
	})
	return s
}

// run runs krmflow in a directory, with variables in addition to those of the test.
func (s *session) run(dir string, env []string, args ...string) outcome {
	s.t.Helper()
	var o outcome
	c := commandLine{Dir: dir, Env: append(os.Environ(), env...), Args: args}
	if err := errors.Join(s.commands.Encode(c), s.outcomes.Decode(&o)); err != nil {
		s.t.Fatalf("krmflow %s: %v", strings.Join(args, " "), err)
	}
	return o
}

// serveSession runs the command lines that it reads from stdin.
func serveSession() {
	commands, outcomes := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c commandLine
		err := commands.Decode(&c)
		if err == io.EOF {
			return
		}
		if err == nil {
			err = os.Chdir(c.Dir)
		}
		if err != nil {
			fatal("%v", err)
		}
		os.Clearenv()
		for _, v := range c.Env {
			if name, value, _ := strings.Cut(v, "="); name != inSession {
				os.Setenv(name, value)
			}
		}
		var both lockedBuffer
		stdout, stderr := writerTo{&both, new(bytes.Buffer)}, writerTo{&both, new(bytes.Buffer)}
		code := start(program.CalledAs("krmflow"), c.Args, strings.NewReader(""), stdout, stderr)
		both.Lock()
		err = outcomes.Encode(outcome{Stdout: stdout.own.Bytes(), Stderr: stderr.own.Bytes(), Combined: both.text.Bytes(), Code: code})
		both.Unlock()
		if err != nil {
			fatal("%v", err)
		}
	}
}

// A lockedBuffer has the text of two streams.
type lockedBuffer struct {
	sync.Mutex
	text bytes.Buffer
}

// writerTo writes to a buffer of its own and to a shared one.
type writerTo struct {
	both *lockedBuffer
	own  *bytes.Buffer
}

func (w writerTo) Write(text []byte) (int, error) {
	w.both.Lock()
	defer w.both.Unlock()
	w.both.text.Write(text)
	return w.own.Write(text)
}
