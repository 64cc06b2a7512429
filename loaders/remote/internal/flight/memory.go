package flight

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// A Memory caches results for the lifetime of a process. Unlike a [Group], it does not merge
// concurrent calls. Errors expire. The zero Memory is empty; a nil Memory caches nothing. It is
// safe for concurrent use.
type Memory[T any] struct {
	// Retry is the time after which an error expires. Zero means one minute.
	Retry time.Duration

	mu    sync.Mutex
	known map[string]answer[T]
}

type answer[T any] struct {
	value T
	err   error
	until time.Time // when an error expires; zero for a value
}

// Ask returns the cached result for key, or calls ask and caches its result. An error after ctx
// is done is not cached.
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
