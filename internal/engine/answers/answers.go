// Package answers keeps what functions have answered, so that later runs need not run them: in the cache of the user and, if there is one,
// in a cache that is shared with others.
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

// Kind is the kind of what is kept in the cache of the user.
const Kind = "calls"

// MaxSize is how many bytes an answer may have that is kept.
const MaxSize = 64 << 20

// Shared is a cache that is shared with others. Its methods are called from several goroutines at the same time, and bound how long they take.
// It decides itself whether it can still be used after an error: one that cannot has nothing and takes nothing.
type Shared interface {
	// Get returns what was put for a key. The error is one of fs.ErrNotExist if there is nothing.
	Get(ctx context.Context, key krm.Digest) ([]byte, error)
	// Put stores data for a key.
	Put(ctx context.Context, key krm.Digest, data []byte) error
}

// Options say where answers are kept.
type Options struct {
	// Open opens the cache of the user. It is called when the first answer is looked up, and returns nil if there is no cache.
	Open func() *cache.Cache
	// Shared is asked for what the user's cache does not have, and gets what this run adds to that. It may be nil.
	Shared Shared
	// Failed is told once that nothing more is added to the cache of the user, and why, and once what is wrong with the shared one.
	Failed func(shared bool, why error)
}

// Answers are those of one run: see [scheduler.Answers]. What goes wrong makes an answer as good as absent.
type Answers struct {
	ctx  context.Context
	o    Options
	open func() *cache.Cache // once

	full  atomic.Bool // nothing is added to the user's cache
	told  atomic.Bool // what is wrong with the shared one
	puts  sync.WaitGroup
	slots chan struct{}
}

// maxPuts is how many answers are on their way to the shared cache at the same time.
const maxPuts = 4

// New returns the answers of a run that ends with ctx. The caller closes them.
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

// Store keeps the answer for a key. It does not wait for the shared cache.
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

// Close waits for what is on its way to the shared cache.
func (a *Answers) Close() { a.puts.Wait() }

// keep adds to the cache of the user, unless that has failed before.
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

// encode returns an answer as it is kept: the length of what was written to stderr, that, and the list.
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
