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

	"github.com/krmflow/krmflow/krm"
)

// An Executor obtains and runs functions. Its methods may be called from many goroutines. The errors that they return
// because of the function, its program or its limits are of type *[Error]; a cancelled ctx ends a call with ctx's error.
type Executor interface {
	// Prepare obtains what f runs, verifies it, and keeps it, so that Execute runs the verified bytes and no others. It
	// runs nothing. Preparing a function twice costs nothing.
	Prepare(ctx context.Context, f krm.Function) error

	// Execute runs f once with list, a ResourceList, as its input. When it returns, whatever the call has started has ended.
	// The list that the function wrote is returned as it is: it may be empty or no list at all.
	Execute(ctx context.Context, f krm.Function, list []byte) (Output, error)
}

// StderrTail is how many bytes of a function's stderr are kept: the last ones.
const StderrTail = 64 << 10

// Output is what one call of a function has written.
type Output struct {
	List   []byte // stdout
	Stderr []byte // the tail of stderr, at most StderrTail bytes; raw, so escape it before it meets a terminal
}

// A Code says what kind of failure an [Error] is.
type Code int

const (
	// Internal is a fault of the executor or of the machine.
	Internal Code = iota
	// Invalid means that the function can never run as it is: no such file, no interpreter, another architecture.
	Invalid
	// Denied means that running it would need a permission that was not given.
	Denied
	// Verification means that it is not what was agreed on: another digest.
	Verification
	// Failed means that it ran and failed, or that its executor crashed while it ran.
	Failed
	// Timeout means that it was stopped because its time was over.
	Timeout
	// Limit means that it was stopped because it used too much of something else.
	Limit
)

// An Error is why a function could not be prepared or executed.
type Error struct {
	Code   Code
	Msg    string // begins with the function's name; hint lines follow, indented by two blanks
	Stderr []byte // of the function, as in [Output]
}

func (e *Error) Error() string { return e.Msg }
