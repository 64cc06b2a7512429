// Package exit defines the exit codes of krmflow and maps errors to them.
package exit

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/roots"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/krmflow/krmflow/trust"
)

// The exit codes of krmflow. If several apply, the highest takes precedence.
const (
	OK        = 0
	Input     = 1
	Usage     = 2
	Trust     = 3
	Verified  = 4
	Function  = 5
	Limit     = 6
	Retrieval = 7
	Locked    = 9
	Changed   = 10
	Danger    = 11
	Internal  = 70
	Output    = 74
	Trouble   = 128 // replaces Input where 1 means a difference, as with git diff
	Signal    = 128 // plus the number of the signal that ended the run
)

// An Error ends the command with a given exit code.
type Error struct {
	Code int
	// Err is the message. It is nil if a program that was run has already printed it.
	Err error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns a list, as errors.Join does, so that the errors joined in Err are printed one
// by one.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return nil
	}
	return []error{e.Err}
}

// A Told error has already been printed.
type Told struct{ Err error }

func (e *Told) Error() string { return e.Err.Error() }

// Unwrap returns the error as a list, as [diag.Each] expects.
func (e *Told) Unwrap() []error { return []error{e.Err} }

// A Signaled error is the cause of a context that was canceled by a signal.
type Signaled struct{ Signal syscall.Signal }

func (e Signaled) Error() string {
	if e.Signal == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

// AsUsage converts errors caused by the command line to usage errors: see [options.Usage]. It
// returns other errors unchanged.
func AsUsage(err error) error {
	var pattern *roots.PatternError
	var remote *revision.RemoteError
	switch {
	case errors.As(err, &pattern):
		return options.UsageError(err)
	case errors.As(err, &remote):
		return options.UsageError(diag.Errorf(diag.Pos{}, "", "%w", remote).With(diag.Arguments).Hint(
			"leave it out, or write an older version of it to a file by krmflow build, and compare with that: krmflow diff %s --against FILE", diag.ShellWord(diag.Redact(remote.Arg))))
	}
	return err
}

// Code returns the exit code for err, which is not a bug of krmflow. If err joins errors of
// several kinds, the highest code takes precedence.
func Code(err error) int {
	err = AsUsage(err)
	return max(exitOfRun(err), exitOfSource(err))
}

// exitOfSource returns the exit code for errors of remote content and for exceeded limits, OK
// for all others.
func exitOfSource(err error) int {
	switch {
	case errors.Is(err, remote.ErrRetrieval):
		return Retrieval
	case errors.Is(err, diag.ErrLimit):
		return Limit
	case errors.Is(err, remote.ErrVerification):
		return Verified
	}
	return OK
}

// exitOfRun returns the exit code for all other errors.
func exitOfRun(err error) int {
	var sig Signaled
	var own *Error
	var line *options.Error
	var locked *output.LockedError
	var refused *output.RefusedError
	var written *output.WriteError
	var denied *render.DeniedError
	var results *scheduler.ResultsError
	var fe *function.Error
	var unsafe *settings.UnsafeError
	switch {
	case errors.As(err, &sig):
		return Signal + int(sig.Signal)
	case errors.As(err, &line):
		return map[options.Kind]int{options.Usage: Usage, options.Untrusted: Trust, options.Mismatch: Verified}[line.Kind]
	case errors.As(err, &own):
		return own.Code
	case errors.Is(err, sink.ErrChanged):
		return Changed
	case errors.As(err, &locked):
		return Locked
	case errors.As(err, &refused):
		return Input
	case errors.As(err, &written):
		return Output
	case errors.As(err, &denied):
		code := 0
		for _, d := range denied.Denials {
			code = max(code, exitOfDenial(d))
		}
		return code
	case errors.As(err, &results):
		return Function
	case errors.As(err, &unsafe):
		return Trust
	case errors.As(err, &fe):
		return exitOfFunction(fe.Code)
	}
	return Input
}

func exitOfFunction(c function.Code) int {
	switch c {
	case function.Invalid:
		return Input
	case function.Denied:
		return Trust
	case function.Verification:
		return Verified
	case function.Failed, function.Timeout:
		return Function
	case function.LimitExceeded:
		return Limit
	case function.Retrieval:
		return Retrieval
	}
	return Internal
}

func exitOfDenial(d planner.Denial) int {
	switch d.Reason {
	case trust.Invalid:
		return cmp.Or(exitOfSource(d.Err), Input)
	case trust.Mismatch:
		return Verified
	}
	return Trust
}
