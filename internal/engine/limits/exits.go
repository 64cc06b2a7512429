package limits

import (
	"sync"
	"time"
)

// Exits are cleanup functions for resources outside this process. They are safe for concurrent
// use.
type Exits struct {
	mu   sync.Mutex
	list []func()
}

// Add registers f and returns a function that calls it. f runs only once, however often that
// function is called. The command calls it when it ends. If the command cannot end, [Exits.Run]
// calls f.
func (e *Exits) Add(f func()) func() {
	f = sync.OnceFunc(f)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, f)
	return f
}

// Run calls all functions that have not been called yet.
func (e *Exits) Run() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.list {
		f()
	}
}

// Within calls f and waits until it returns, but no longer than limit.
func Within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
