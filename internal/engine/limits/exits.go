package limits

import (
	"sync"
	"time"
)

// Exits are the functions that remove what a command has made outside of this process. They are safe for concurrent use.
type Exits struct {
	mu   sync.Mutex
	list []func()
}

// Add returns f as a function that can be called any number of times, and calls it once. The command calls it when it ends; if it cannot,
// Run does.
func (e *Exits) Add(f func()) func() {
	f = sync.OnceFunc(f)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, f)
	return f
}

// Run calls the functions that have not been called.
func (e *Exits) Run() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.list {
		f()
	}
}

// Within calls f and returns when it has, or after a time.
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
