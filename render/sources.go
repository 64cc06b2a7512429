package render

import (
	"context"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
)

// Sources say how what is remote is fetched.
type Sources struct {
	// Options are those of the session. Without a Cache, one is opened when something is to be fetched, and closed after planning.
	remote.Options
	// CacheDir is the folder of that cache, [cache.Dir] if it is empty; with NoCache it is a temporary one.
	CacheDir string
	NoCache  bool
}

// fetching lets the planner fetch. The session is made when something is fetched; end releases what it holds.
func (s Sources) fetching(ctx context.Context) (fetch loaders.Fetch, end func()) {
	session, end := s.session()
	fetch = func(text string, use remote.Use, from remote.Origin) (*remote.Content, error) {
		r, err := remote.Parse(text, use)
		if err != nil {
			return nil, err
		}
		in, err := session()
		if err != nil {
			return nil, err
		}
		return in.Open(ctx, r, from)
	}
	return fetch, end
}

// An opened session has its cache beside it.
type opened struct {
	*remote.Session
	cache *cache.Cache
}

// session returns what makes the session of a run when it is needed, and what releases what that holds.
func (s Sources) session() (session func() (opened, error), end func()) {
	var own *cache.Cache
	session = sync.OnceValues(func() (opened, error) {
		opt := s.Options
		if opt.Cache == nil {
			var err error
			if own, err = s.open(); err != nil {
				return opened{}, err
			}
			opt.Cache = own
		}
		return opened{remote.NewSession(opt), opt.Cache}, nil
	})
	return session, func() {
		if own != nil {
			own.Close()
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
