// Package executors runs KRM functions out of process.
//
// An [Executor] prepares and executes functions of one kind: programs (package executors/exec),
// images (package executors/container), or anything a third party supports. Both sides of the
// process boundary use this interface:
//
//	scheduler -> Process (client) ~~ gRPC over a Unix socket ~~> Serve -> the Executor value
//
// [Start] starts an executor as a separate process and returns a client for it; [Serve] runs in
// that process. For the built-in kinds krmflow starts itself. It runs a third-party program only
// if the program has the digest given by the user. The conformance test runs against an Executor
// value directly and against the same value in a separate process.
//
// No executor outlives the process that started it. The standard input of an executor is a pipe
// held open by that process. When the pipe is closed, for any reason, the executor stops all its
// functions and exits.
package executors

import (
	"context"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Executor obtains and runs functions. Its methods must be safe for concurrent use: a run
// makes several calls at the same time, even with one job. scheduler.Options.Calls bounds the
// concurrent calls of Execute. Errors caused by the function, its program or its limits are of
// type *[Error]. If ctx is cancelled, a call returns ctx's error.
type Executor interface {
	// Prepare obtains the program or image of f, verifies it and keeps it, so that Execute runs
	// exactly the verified bytes. It runs nothing. It is idempotent; repeated calls are cheap.
	Prepare(ctx context.Context, f function.Function) error

	// Execute runs f once with list, a ResourceList, as its input. All processes started by the
	// call have ended when it returns. The list written by the function is returned unchanged; it
	// may be empty or malformed. If the function ran and failed, its list is returned together with
	// the error, because its results may contain the reason.
	Execute(ctx context.Context, f function.Function, list yaml.Chunks) (Output, error)
}

// StderrTail is the number of bytes kept from the end of a function's standard error.
const StderrTail = 64 << 10

// The types of the interface are defined in package function, so that packages that only pass
// values on do not depend on this one.
type (
	// Output is the output of one call of a function.
	Output = function.Output
	// Error is the reason why a function could not be prepared or executed.
	Error = function.Error
	// Code classifies an Error.
	Code = function.Code
)

// The codes of errors.
const (
	Internal     = function.Internal
	Invalid      = function.Invalid
	Denied       = function.Denied
	Verification = function.Verification
	Failed       = function.Failed
	Timeout      = function.Timeout
	Limit        = function.LimitExceeded
	Retrieval    = function.Retrieval
)
