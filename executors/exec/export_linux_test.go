package exec

// NewWith returns an executor that believes this machine to have the given isolation.
func NewWith(i Isolation) *Executor {
	x := New()
	x.isolation = func() Isolation { return i }
	return x
}
