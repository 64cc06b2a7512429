package main

import (
	"errors"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/console"
	"github.com/krmflow/krmflow/internal/wrapping"
	"github.com/krmflow/krmflow/scheduler"
)

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

// A toldError has been printed.
type toldError struct{ error }

// Unwrap returns the error as one of several, which [diag.Each] looks for.
func (e *toldError) Unwrap() []error { return []error{e.error} }

// report prints err and returns its exit code.
func report(to console.Reporter, err error) int {
	var bug *diag.PanicError
	var sig signalError
	var command *wrapping.ExitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &command) && command.Err == nil: // its stderr was passed on
	case errors.As(err, &bug):
		to.Bug(bug)
		return exitInternal
	case errors.As(err, &sig):
		to.Print(interrupted(sig, err))
	case errors.Is(err, syscall.EPIPE):
		return exitOutput // a reader that went away is nobody's mistake
	case errors.As(err, new(*toldError)):
	default:
		to.PrintEach(err)
	}
	return exitCode(err)
}

// interrupted returns sig with hints that name the nodes that it has ended, which err tells.
func interrupted(sig signalError, err error) error {
	e := &diag.Error{Msg: sig.Error(), Err: sig}
	var list diag.Mistakes
	list.Add(err)
	for _, p := range list.Errors() {
		var node *scheduler.NodeError
		if errors.As(p, &node) && errors.As(p, new(signalError)) {
			e.Hint("%s was running", node.Node.ID)
		}
	}
	return e
}
