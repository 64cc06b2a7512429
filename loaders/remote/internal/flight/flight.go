// Package flight does what many ask for at the same time once.
package flight

import (
	"context"
	"sync"
)

// A Group does each thing once, however many ask for it. The zero Group has done nothing. It is safe for concurrent use.
type Group[T any] struct {
	mu    sync.Mutex
	known map[string]*flight[T]
}

type flight[T any] struct {
	done  chan struct{}
	gone  bool // it was cancelled: who waits does it anew
	value T
	err   error
}

// Do returns what run returned for key, now or before. A run whose context was cancelled does not count.
func (f *Group[T]) Do(ctx context.Context, key string, run func() (T, error)) (T, error) {
	for {
		f.mu.Lock()
		one, ok := f.known[key]
		if !ok {
			if f.known == nil {
				f.known = map[string]*flight[T]{}
			}
			one = &flight[T]{done: make(chan struct{}), gone: true}
			f.known[key] = one
		}
		f.mu.Unlock()
		if !ok {
			f.lead(ctx, key, one, run)
			return one.value, one.err
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
		if !one.gone {
			return one.value, one.err
		}
	}
}

// Finished returns the values that are known.
func (f *Group[T]) Finished() (values []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.known {
		select {
		case <-one.done:
			values = append(values, one.value)
		default:
		}
	}
	return values
}

func (f *Group[T]) lead(ctx context.Context, key string, one *flight[T], run func() (T, error)) {
	defer func() {
		if one.gone {
			f.mu.Lock()
			delete(f.known, key)
			f.mu.Unlock()
		}
		close(one.done)
	}()
	one.value, one.err = run()
	one.gone = ctx.Err() != nil && one.err != nil
}
