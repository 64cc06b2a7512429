// Package executors runs KRM functions out of process.
//
// An [Executor] prepares and executes functions of one kind: programs (package executors/exec), images (package
// executors/container), or whatever a third party serves. The same interface stands on both sides of a process boundary:
//
//	scheduler -> Process (client) ~~ gRPC over a Unix socket ~~> Serve -> the Executor value
//
// [Start] starts an executor as a process of its own and returns a client for it, [Serve] is the other end. krmflow starts
// itself for the kinds it brings along; a program of a third party is run only if its bytes have the digest that the user
// gave. A conformance test runs against an Executor value and against the same value behind a process.
//
// No executor outlives the process that started it: each holds the read end of a pipe, its standard input, and ends, with
// all functions that it runs, when the pipe reaches its end.
package executors

import (
	"context"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Executor obtains and runs functions. Its methods must be safe for concurrent use: a run makes several
// calls at the same time, also with one job. scheduler.Options.Calls bounds the calls of Execute. The errors that they return
// because of the function, its program or its limits are of type *[Error]; a cancelled ctx ends a call with ctx's error.
type Executor interface {
	// Prepare obtains what f runs, verifies it, and keeps it, so that Execute runs the verified bytes and no others. It
	// runs nothing. Preparing a function twice costs nothing.
	Prepare(ctx context.Context, f function.Function) error

	// Execute runs f once with list, a ResourceList, as its input. When it returns, whatever the call has started has ended.
	// The list that the function wrote is returned as it is: it may be empty or no list at all. That of a function which
	// ran and failed is returned with the error, because its results may say why.
	Execute(ctx context.Context, f function.Function, list yaml.Chunks) (Output, error)
}

// StderrTail is how many bytes of a function's stderr are kept: the last ones.
const StderrTail = 64 << 10

// What crosses the interface belongs to the vocabulary, so that who only passes it on does not depend on how functions are
// run.
type (
	// Output is what one call of a function has written.
	Output = function.Output
	// Error is why a function could not be prepared or executed.
	Error = function.Error
	// Code says what kind of failure an Error is.
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
