// Package flight deduplicates function calls.
package flight

import (
	"context"
	"sync"
)

// A Group runs a function once per key and shares the result with all callers, concurrent and
// later ones. The zero Group is empty. It is safe for concurrent use.
type Group[T any] struct {
	mu    sync.Mutex
	known map[string]*flight[T]
}

type flight[T any] struct {
	done  chan struct{}
	gone  bool // the run was canceled, so waiting callers must retry
	value T
	err   error
}

// Do returns the result of run for key, calling run only if there is no result yet. An error of a
// run whose context is done is not shared; a waiting caller runs its own function instead.
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

// Finished returns the values of all completed runs.
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
