package diag

import (
	"fmt"
	"runtime/debug"
)

// A PanicError is a panic, which is a bug in krmflow. It is reported as an error with exit code
// 70 so that a panic cannot take the process down. Its text contains no input data.
type PanicError struct {
	// Where names the current work, for instance by the id of a node.
	Where string
	Value any
	Stack []byte
}

// Panicked returns the error for a recovered value. The deferred function itself must call it;
// otherwise the stack does not show the panic.
func Panicked(where string, value any) *PanicError {
	return &PanicError{where, value, debug.Stack()}
}

func (e *PanicError) Error() string { return fmt.Sprintf("internal error in %s", e.Where) }

// Kind returns [Bug]: see [CodeOf].
func (e *PanicError) Kind() Code { return Bug }
