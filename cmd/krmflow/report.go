package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/krm"
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
	var bug *krm.PanicError
	if errors.As(err, &bug) {
		return r.bug(bug)
	}
	var sig signalError
	if errors.As(err, &sig) {
		r.print(interrupted(sig, err))
		return exitSignal + int(sig.sig)
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitOutput // a reader that went away is nobody's mistake
	}
	code := exitInput
	var ee *exitError
	switch {
	case errors.As(err, &ee):
		code = ee.code
	case functionExit(err) != 0:
		code = functionExit(err)
	}
	for _, problem := range problems(err) {
		r.print(problem)
	}
	return code
}

// interrupted returns sig with hints that name the nodes that it has ended, which err tells.
func interrupted(sig signalError, err error) error {
	hints := ""
	for _, p := range problems(err) {
		var node *scheduler.NodeError
		if errors.As(p, &node) && errors.As(p, new(signalError)) {
			hints += "\n  " + node.Node.ID + " was running"
		}
	}
	return fmt.Errorf("%w%s", sig, hints)
}

// problems returns the errors that err joins.
func problems(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, problems(e)...)
		}
		return all
	}
	if ee, ok := err.(*exitError); ok {
		return problems(ee.err)
	}
	return []error{err}
}

func (r reporter) print(err error) {
	if r.json {
		z := zerolog.New(r.w).With().Timestamp().Logger()
		ev := z.Error()
		var node *scheduler.NodeError
		if errors.As(err, &node) {
			ev.Str("node", node.Node.ID)
		}
		placed(ev, place(err))
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.HasPrefix(line, "  ") {
			line = "Error: " + line
		}
		fmt.Fprintln(r.w, line)
	}
}

// place returns err as an error at the place that it names.
func place(err error) *krm.Error {
	var node *scheduler.NodeError
	if errors.As(err, &node) {
		return node.At()
	}
	return krm.AsError(err)
}

// placed logs e with file, line, field and hints if it has them.
func placed(ev *zerolog.Event, e *krm.Error) {
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
func (r reporter) bug(bug *krm.PanicError) int {
	e := &krm.Error{Msg: fmt.Sprintf("%v: this is a bug of krmflow, please report it", bug)}
	if os.Getenv("KRMFLOW_DEBUG") == "" {
		e.Hint("KRMFLOW_DEBUG=1 shows where; look for secrets in it before you pass it on")
	} else {
		e.Hints = slices.Collect(strings.SplitSeq(fmt.Sprintf("%v\n%s", bug.Value, bug.Stack), "\n"))
	}
	r.print(e)
	return exitInternal
}
