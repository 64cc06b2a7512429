package exec

import "sync"

// NewWith returns an executor for a machine with at most the given isolation.
func NewWith(i Isolation) *Executor {
	x := New()
	x.isolation = sync.OnceValue(func() Isolation { return Try(i) })
	return x
}

// Isolation returns the isolation of the functions of x.
func (x *Executor) Isolation() Isolation { return x.isolation() }
