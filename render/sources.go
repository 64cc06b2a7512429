package render

import (
	"context"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
)

// Sources say how what is remote is fetched.
type Sources struct {
	// Options are those of the session. Without a Cache, one is opened when something is to be fetched, and closed after planning.
	remote.Options
	// CacheDir is the folder of that cache, [cache.Dir] if it is empty; with NoCache it is a temporary one.
	CacheDir string
	NoCache  bool

	// Lock says which content references must have, nil for no lock. With Locked, a reference that has neither a version of its own nor an
	// entry is an error. What differs from a lock is one that wraps [remote.ErrVerification].
	Lock   *lock.File
	Locked bool
	// Found is told what was opened, by several goroutines at a time and once for each place that names it. It may be nil.
	Found func(lock.Entry)
}

// fetching lets the planner fetch. The session is made when something is fetched; end releases what it holds.
func (s Sources) fetching(ctx context.Context) (fetch loaders.Fetch, end func()) {
	var opened *cache.Cache
	session := sync.OnceValues(func() (*remote.Session, error) {
		opt := s.Options
		if opt.Cache == nil {
			var err error
			if opened, err = s.open(); err != nil {
				return nil, err
			}
			opt.Cache = opened
		}
		return remote.NewSession(opt), nil
	})
	fetch = func(text string, use remote.Use, from remote.Origin) (*remote.Content, error) {
		r, err := remote.Parse(text, use)
		if err != nil {
			return nil, err
		}
		in, err := session()
		if err != nil {
			return nil, err
		}
		return s.locked(text, r, func(r remote.Reference) (*remote.Content, error) { return in.Open(ctx, r, from) })
	}
	return fetch, func() {
		if opened != nil {
			opened.Close()
		}
	}
}

func (s Sources) open() (*cache.Cache, error) {
	if s.NoCache {
		return cache.Temporary()
	}
	dir := s.CacheDir
	if dir == "" {
		var err error
		if dir, err = cache.Dir(); err != nil {
			return nil, err
		}
	}
	return cache.Open(dir)
}
