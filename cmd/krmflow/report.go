package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/rs/zerolog"
)

// reporter prints what ended the command: lines for people, or with json one object a line.
type reporter struct {
	w    io.Writer
	json bool
}

// wantsJSON reports whether args ask for logs in JSON. A command line that cannot be parsed is reported in that form, too.
func wantsJSON(args []string) (json bool) {
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg, "--log-format=")
		if i > 0 && args[i-1] == "--log-format" {
			value, ok = arg, true
		}
		if ok {
			json = value == "json"
		}
	}
	return json
}

// report prints err and returns its exit code.
func (r reporter) report(err error) int {
	if err == nil {
		return 0
	}
	var bug *diag.PanicError
	if errors.As(err, &bug) {
		return r.bug(bug)
	}
	var sig signalError
	if errors.As(err, &sig) {
		r.print(interrupted(sig, err))
		return exitCode(err)
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitOutput // a reader that went away is nobody's mistake
	}
	list := problems(err)
	for _, problem := range list.Errors() {
		r.print(short(problem))
	}
	return exitCode(err)
}

// interrupted returns sig with hints that name the nodes that it has ended, which err tells.
func interrupted(sig signalError, err error) error {
	e := &diag.Error{Msg: sig.Error(), Err: sig}
	list := problems(err)
	for _, p := range list.Errors() {
		var node *scheduler.NodeError
		if errors.As(p, &node) && errors.As(p, new(signalError)) {
			e.Hint("%s was running", node.Node.ID)
		}
	}
	return e
}

// problems returns the errors that err joins.
func problems(err error) (list diag.Mistakes) {
	var add func(error)
	add = func(err error) {
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				add(e)
			}
		} else if ee, ok := err.(*exitError); ok {
			add(ee.err)
		} else {
			list.Add(err)
		}
	}
	add(err)
	return list
}

// What a message may have: the text of the input in it may be long.
const (
	maxMessageLine  = 4 << 10
	maxMessageLines = 50
)

// short returns an error that has few lines of bearable length.
func short(err error) error {
	if len(err.Error()) <= maxMessageLine {
		return err
	}
	e := *atPlace(err)
	e.Field, e.Msg = truncate(e.Field), truncate(e.Msg)
	hints := e.Hints
	e.Hints = nil
	for i, h := range hints {
		if i == maxMessageLines {
			e.Hint("and %s", diag.Count(len(hints)-i, "more line"))
			break
		}
		e.Hints = append(e.Hints, truncate(h))
	}
	return &e
}

func truncate(line string) string {
	if len(line) <= maxMessageLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxMessageLine], "") + " ... and " + diag.Count(len(line)-maxMessageLine, "more byte")
}

func (r reporter) print(err error) {
	if r.json {
		z := zerolog.New(r.w).With().Timestamp().Logger()
		ev := z.Error()
		var node *scheduler.NodeError
		if errors.As(err, &node) {
			ev.Str("node", node.Node.ID)
		}
		send(ev, atPlace(err))
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.HasPrefix(line, "  ") {
			line = "Error: " + line
		}
		fmt.Fprintln(r.w, line)
	}
}

// atPlace returns err as an error at the place that it names.
func atPlace(err error) *diag.Error {
	var node *scheduler.NodeError
	if errors.As(err, &node) {
		return node.At()
	}
	return diag.AsError(err)
}

// send logs e with file, line, field and hints if it has them.
func send(ev *zerolog.Event, e *diag.Error) {
	if e.Pos.File != "" {
		ev.Str("file", e.Pos.File)
	}
	if e.Pos.Line > 0 {
		ev.Int("line", e.Pos.Line)
	}
	if e.Field != "" {
		ev.Str("field", e.Field)
	}
	if len(e.Hints) > 0 {
		ev.Strs("hints", e.Hints)
	}
	ev.Msg(e.Msg)
}

// bug prints that krmflow is wrong. What it was working on may be secret, so a stack is only printed on demand.
func (r reporter) bug(bug *diag.PanicError) int {
	e := &diag.Error{Msg: fmt.Sprintf("%v: this is a bug of krmflow, please report it", bug)}
	if os.Getenv("KRMFLOW_DEBUG") == "" {
		e.Hint("KRMFLOW_DEBUG=1 shows where; look for secrets in it before you pass it on")
	} else {
		e.Hints = slices.Collect(strings.SplitSeq(fmt.Sprintf("%v\n%s", bug.Value, bug.Stack), "\n"))
	}
	r.print(e)
	return exitInternal
}
