package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/internal/sink"
	"github.com/krmflow/krmflow/internal/wrapping"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/krmflow/krmflow/trust"
)

// The exit codes of krmflow. Where several apply, the highest counts.
const (
	exitOK        = 0
	exitInput     = 1
	exitUsage     = 2
	exitTrust     = 3
	exitVerified  = 4
	exitFunction  = 5
	exitLimit     = 6
	exitRetrieval = 7
	exitLocked    = 9
	exitChanged   = 10
	exitInternal  = 70
	exitOutput    = 74
	exitTrouble   = 128 // what exitInput is where that says that something differs, as with git diff
	exitSignal    = 128 // plus the number of the signal that ended the run
)

// exitCodes says what each code means. Help prints it, README has the same words, and docs/functions.md those of its part.
var exitCodes = []struct {
	code int
	when string
}{
	{exitOK, "done"},
	{exitInput, "the input is wrong or the output folder or file cannot be used"},
	{exitUsage, "the command line is wrong"},
	{exitTrust, "a function is not trusted"},
	{exitVerified, "something is not what it was said to be"},
	{exitFunction, "a function failed"},
	{exitLimit, "a function used too much, or the tree asks for too much"},
	{exitRetrieval, "something could not be fetched"},
	{exitLocked, "another run writes the output"},
	{exitChanged, "--check found a difference"},
	{exitInternal, "a bug of krmflow"},
	{exitOutput, "the output was lost while it was written (no space, stdout gone)"},
	{exitTrouble, "the input is wrong, with diff --exit-code, whose 1 says that something differs"},
	{exitSignal + 2, "interrupted"},
	{exitSignal + 15, "terminated"},
}

// exitHelp returns the codes as a sentence, in lines of at most width bytes.
func exitHelp(width int) string {
	var list []string
	for _, e := range exitCodes {
		list = append(list, fmt.Sprintf("%d %s", e.code, e.when))
	}
	text := "Exit"
	line := len(text)
	for word := range strings.FieldsSeq("codes: " + strings.Join(list, ", ") + ".") {
		between := " "
		if line+1+len(word) > width {
			between, line = "\n", -1
		}
		text += between + word
		line += 1 + len(word)
	}
	return text
}

// An exitError ends the command with a code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns a list, as errors.Join does: each of the errors that err joins is printed by itself.
func (e *exitError) Unwrap() []error { return []error{e.err} }

// usageError is a mistake in the command line.
func usageError(err error) error { return options.UsageError(err) }

// exitCode returns the exit code that err stands for, if it is no bug. Errors of several kinds have the highest one.
func exitCode(err error) int {
	err = cli.AsUsage(err)
	return max(exitOfRun(err), exitOfSource(err))
}

// exitOfSource returns the exit code for what is wrong with what is remote, or takes too much.
func exitOfSource(err error) int {
	switch {
	case errors.Is(err, remote.ErrRetrieval):
		return exitRetrieval
	case errors.Is(err, diag.ErrLimit):
		return exitLimit
	case errors.Is(err, remote.ErrVerification):
		return exitVerified
	}
	return exitOK
}

// exitOfRun returns the exit code for all else.
func exitOfRun(err error) int {
	var sig signalError
	var ee *exitError
	var line *options.Error
	var locked *output.LockedError
	var refused *output.RefusedError
	var written *output.WriteError
	var denied *render.DeniedError
	var results *scheduler.ResultsError
	var fe *function.Error
	var unsafe *settings.UnsafeError
	var command *wrapping.ExitError
	switch {
	case errors.As(err, &command):
		return command.Code
	case errors.As(err, &sig):
		return exitSignal + int(sig.sig)
	case errors.As(err, &line):
		return map[options.Kind]int{options.Usage: exitUsage, options.Untrusted: exitTrust, options.Mismatch: exitVerified}[line.Kind]
	case errors.As(err, &ee):
		return ee.code
	case errors.Is(err, sink.ErrChanged):
		return exitChanged
	case errors.As(err, &locked):
		return exitLocked
	case errors.As(err, &refused):
		return exitInput
	case errors.As(err, &written):
		return exitOutput
	case errors.As(err, &denied):
		code := 0
		for _, d := range denied.Denials {
			code = max(code, exitOfDenial(d))
		}
		return code
	case errors.As(err, &results):
		return exitFunction
	case errors.As(err, &unsafe):
		return exitTrust
	case errors.As(err, &fe):
		return exitOfFunction(fe.Code)
	}
	return exitInput
}

func exitOfFunction(c function.Code) int {
	switch c {
	case function.Invalid:
		return exitInput
	case function.Denied:
		return exitTrust
	case function.Verification:
		return exitVerified
	case function.Failed, function.Timeout:
		return exitFunction
	case function.LimitExceeded:
		return exitLimit
	case function.Retrieval:
		return exitRetrieval
	}
	return exitInternal
}

func exitOfDenial(d planner.Denial) int {
	switch d.Reason {
	case trust.Invalid:
		return cmp.Or(exitOfSource(d.Err), exitInput)
	case trust.Mismatch:
		return exitVerified
	}
	return exitTrust
}
