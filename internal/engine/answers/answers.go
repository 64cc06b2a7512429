// Package answers caches the answers of functions, so that later runs need not call them: in
// the user's cache and, if configured, in a cache that is shared between machines.
package answers

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Kind is the kind of the entries in the user's cache.
const Kind = "calls"

// MaxSize is the maximum size in bytes of a cached answer.
const MaxSize = 64 << 20

// Shared is a cache that is shared between machines. Its methods are called concurrently and
// must limit their own time. After an error the implementation decides whether it remains
// usable. If not, Get finds no entries and Put stores none.
type Shared interface {
	// Get returns the data stored for a key. The error wraps fs.ErrNotExist if there is none.
	Get(ctx context.Context, key krm.Digest) ([]byte, error)
	// Put stores data for a key.
	Put(ctx context.Context, key krm.Digest, data []byte) error
}

// Options configure the caches.
type Options struct {
	// Open opens the user's cache. It is called at the first lookup, and returns nil if there
	// is no cache.
	Open func() *cache.Cache
	// Shared is asked for answers that are not in the user's cache, and receives new answers.
	// It may be nil.
	Shared Shared
	// Failed is called with the first error of each cache: for the user's cache, to which no
	// more answers are added then, and for the shared cache.
	Failed func(shared bool, why error)
}

// Answers are the cached answers for one run: see [scheduler.Answers]. An answer that cannot be
// read counts as absent; errors are only reported to [Options.Failed].
type Answers struct {
	ctx  context.Context
	o    Options
	open func() *cache.Cache // opens the cache once

	full  atomic.Bool // stop adding to the user's cache
	told  atomic.Bool // an error of the shared cache was reported
	puts  sync.WaitGroup
	slots chan struct{}
}

// maxPuts is the maximum number of concurrent uploads to the shared cache.
const maxPuts = 4

// New returns the answers for a run that ends with ctx. The caller must close them.
func New(ctx context.Context, o Options) *Answers {
	a := &Answers{ctx: ctx, o: o, slots: make(chan struct{}, maxPuts)}
	a.open = sync.OnceValue(o.Open)
	return a
}

// Lookup returns the answer for a key.
func (a *Answers) Lookup(ctx context.Context, key krm.Digest) (out function.Output, ok bool) {
	c := a.open()
	if c != nil {
		if data, ok := c.Kept(Kind, key); ok {
			if out, ok := decode(data); ok {
				return out, true
			}
		}
	}
	if a.o.Shared == nil {
		return out, false
	}
	data, err := a.o.Shared.Get(ctx, key)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil:
		a.tell(err)
	case err == nil && len(data) <= MaxSize:
		if out, ok = decode(data); ok {
			a.keep(c, key, data)
		}
	}
	return out, ok
}

// Store stores the answer for a key. It does not wait for the shared cache, unless maxPuts
// uploads are already running.
func (a *Answers) Store(_ context.Context, key krm.Digest, out function.Output) {
	if out.List.Len()+len(out.Stderr) > MaxSize-binary.MaxVarintLen64 {
		return
	}
	data := encode(out)
	a.keep(a.open(), key, data)
	if a.o.Shared == nil {
		return
	}
	select {
	case a.slots <- struct{}{}:
	case <-a.ctx.Done():
		return
	}
	a.puts.Go(func() {
		defer func() { <-a.slots }()
		if err := a.o.Shared.Put(a.ctx, key, data); err != nil && a.ctx.Err() == nil {
			a.tell(err)
		}
	})
}

// Close waits for running uploads to the shared cache.
func (a *Answers) Close() { a.puts.Wait() }

// keep adds an answer to the user's cache, unless that has failed before.
func (a *Answers) keep(c *cache.Cache, key krm.Digest, data []byte) {
	if c == nil || a.full.Load() {
		return
	}
	if err := c.Keep(Kind, key, data); err != nil && !a.full.Swap(true) {
		a.o.Failed(false, err)
	}
}

func (a *Answers) tell(why error) {
	if !a.told.Swap(true) {
		a.o.Failed(true, why)
	}
}

// encode returns the stored form of an answer: the length of stderr, stderr, and the list.
func encode(out function.Output) []byte {
	data := make([]byte, 0, binary.MaxVarintLen64+len(out.Stderr)+out.List.Len())
	data = append(binary.AppendUvarint(data, uint64(len(out.Stderr))), out.Stderr...)
	for _, part := range out.List {
		data = append(data, part...)
	}
	return data
}

func decode(data []byte) (out function.Output, ok bool) {
	n, head := binary.Uvarint(data)
	if head <= 0 || n > uint64(len(data)-head) {
		return out, false
	}
	if n > 0 {
		out.Stderr = data[head : head+int(n)]
	}
	if list := data[head+int(n):]; len(list) > 0 {
		out.List = yaml.Chunks{list}
	}
	return out, true
}
