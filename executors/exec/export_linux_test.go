package exec

import "sync"

// NewWith returns an executor on a machine that has no more than the given isolation.
func NewWith(i Isolation) *Executor {
	x := New()
	x.isolation = sync.OnceValue(func() Isolation { return Try(i) })
	return x
}

// Isolation returns what isolates the functions of x.
func (x *Executor) Isolation() Isolation { return x.isolation() }
