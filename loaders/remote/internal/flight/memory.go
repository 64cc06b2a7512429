package flight

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// A Memory has answers for all of a process: who asks later gets the same one, and waits for nobody. Failures are kept for a while alone. The zero
// Memory is empty, and a nil one remembers nothing. It is safe for concurrent use.
type Memory[T any] struct {
	// Retry is how long a failure is kept, a minute if it is 0.
	Retry time.Duration

	mu    sync.Mutex
	known map[string]answer[T]
}

type answer[T any] struct {
	value T
	err   error
	until time.Time // zero if there is no error
}

// Ask returns what ask has returned for key, now or before. An error that comes after the end of the context is not kept.
func (m *Memory[T]) Ask(ctx context.Context, key string, ask func() (T, error)) (T, error) {
	if m == nil {
		return ask()
	}
	m.mu.Lock()
	a, ok := m.known[key]
	m.mu.Unlock()
	if ok && (a.err == nil || time.Now().Before(a.until)) {
		return a.value, a.err
	}
	a = answer[T]{}
	if a.value, a.err = ask(); a.err != nil {
		if ctx.Err() != nil {
			return a.value, a.err
		}
		a.until = time.Now().Add(cmp.Or(m.Retry, time.Minute))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]answer[T]{}
	}
	m.known[key] = a
	return a.value, a.err
}
