package render

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
)

// Sources say how what is remote is fetched.
type Sources struct {
	// Options are those of the session. Without a Cache, one is opened when something is to be fetched, and closed after planning.
	remote.Options
	// CacheDir is the folder of that cache, [cache.Dir] if it is empty; with NoCache it is a temporary one. It is that, too, if
	// neither CacheDir nor the environment names one and the user has no place for it.
	CacheDir string
	NoCache  bool
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
		return in.Open(ctx, r, from)
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
	dir, err := s.CacheDir, error(nil)
	if dir == "" {
		dir, err = cache.Dir()
	} else {
		dir, err = filepath.Abs(dir) // git runs elsewhere
	}
	if err == nil {
		var c *cache.Cache
		if c, err = cache.Open(dir); err == nil {
			return c, nil
		}
	}
	if s.CacheDir == "" && os.Getenv("KRMFLOW_CACHE_DIR") == "" && !s.Offline {
		return cache.Temporary() // nobody has asked for one, and there is no place for it, as in a container without a home
	}
	return nil, diag.AsError(err).Hint("--cache-dir names another folder for the cache, --no-cache does without one")
}
