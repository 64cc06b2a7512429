package diag

import (
	"fmt"
	"runtime/debug"
)

// A PanicError is a panic: a bug of krmflow, reported as an error so that it cannot take the process down, with exit code 70.
// Its text holds no input data.
type PanicError struct {
	// Where says what was being done: the id of a node, for instance.
	Where string
	Value any
	Stack []byte
}

// Panicked returns the error for the value that a deferred call recovered. It must be called by the function that was
// deferred, so that the stack is that of the panic.
func Panicked(where string, value any) *PanicError {
	return &PanicError{where, value, debug.Stack()}
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error in %s", e.Where) }

// Kind says which kind of message it is: see [CodeOf].
func (e *PanicError) Kind() Code { return Bug }
