package main

import (
	"errors"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/console"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/scheduler"
)

// flagValue returns the value of a flag in args, or "" if it is not set. It does not depend on the
// flag parser, so that errors of the command line itself are also reported in the requested form.
func flagValue(args []string, flag string) (value string) {
	for i, arg := range args {
		text, ok := strings.CutPrefix(arg, "--"+flag+"=")
		if i > 0 && args[i-1] == "--"+flag {
			text, ok = arg, true
		}
		if ok {
			value = text
		}
	}
	return value
}

// report prints err and returns its exit code.
func report(to console.Reporter, err error) int {
	var bug *diag.PanicError
	var sig exit.Signaled
	var own *exit.Error
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &own) && own.Err == nil: // the program's stderr has been passed through
	case errors.As(err, &bug):
		to.Bug(bug)
		return exit.Internal
	case errors.As(err, &sig):
		to.Print(interrupted(sig, err))
	case errors.Is(err, syscall.EPIPE):
		return exit.Output // the reader closed the pipe, which is not an error to report
	case errors.As(err, new(*exit.Told)):
	default:
		to.PrintEach(err)
	}
	return exit.Code(err)
}

// interrupted returns sig as an error with hints that name the interrupted nodes, which are
// taken from err.
func interrupted(sig exit.Signaled, err error) error {
	e := &diag.Error{Msg: sig.Error(), Err: sig}
	var list diag.Mistakes
	list.Add(err)
	for _, p := range list.Errors() {
		var node *scheduler.NodeError
		if errors.As(p, &node) && errors.As(p, new(exit.Signaled)) {
			e.Hint("%s was running", node.Node.ID)
		}
	}
	return e
}
