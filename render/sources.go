package render

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/reference"
)

// Sources say how what is remote is fetched.
type Sources struct {
	// Options are those of the session. Without a Cache, one is opened when something is to be fetched, and closed after planning.
	remote.Options
	// CacheDir is the folder of that cache, [cache.Dir] if it is empty; with NoCache it is a temporary one. It is that, too, if
	// neither CacheDir nor the environment names one and the user has no place for it.
	CacheDir string
	NoCache  bool

	// Vendor is a copy of a cache, see [cache.Cache.CopyUsed], that holds what layers refer to: nothing else is taken for that then. Whoever
	// wrote the folder says what is in a repository, as if it was part of the tree; so catalogs and programs never come from there. Empty
	// stands for none.
	Vendor string

	// Lock says which content references must have, nil for no lock. With Locked, a reference that has neither a version of its own nor an
	// entry is an error. What differs from a lock is one that wraps [remote.ErrVerification].
	Lock   *lock.File
	Locked bool
	// Found is told what was opened, by several goroutines at a time and once for each place that names it. It may be nil.
	Found func(lock.Entry)
}

// fetching lets the planner fetch. Sessions are made when something is fetched; end releases what they hold.
func (s Sources) fetching(ctx context.Context) (fetch loaders.Fetch, end func()) {
	ordinary, end := s.session()
	vendored := sync.OnceValues(s.vendored)
	fetch = func(text string, use reference.Use, from remote.Origin) (*remote.Content, error) {
		r, err := reference.Parse(text, use)
		if err != nil {
			return nil, err
		}
		session, fromVendor := ordinary, s.Vendor != "" && use != reference.Catalog && use != reference.Blob && use != reference.Signatures
		if fromVendor {
			session = vendored
		}
		in, err := session()
		if err != nil {
			return nil, err
		}
		if use == reference.Signatures { // they are verified, which no lock can do better
			list, err := in.Signatures(ctx, r, from)
			return &remote.Content{Reference: r, Signatures: list}, err
		}
		c, err := s.locked(text, use, r, func(r reference.Reference) (*remote.Content, error) { return in.Open(ctx, r, from) })
		if missing := (*remote.OfflineError)(nil); fromVendor && errors.As(err, &missing) {
			err = diag.Errorf(diag.Pos{}, "", "%s is not in %s", missing.Reference, s.Vendor).Hint("krmflow lock and krmflow vendor put it there")
		}
		return c, err
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
			if own, err = s.OpenCache(); err != nil {
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

// vendored returns the session that opens what is in the folder [Sources.Vendor], and nothing else.
func (s Sources) vendored() (opened, error) {
	c, err := cache.OpenCopy(s.Vendor)
	if err != nil {
		return opened{}, err
	}
	opt := s.Options
	opt.Cache, opt.Offline = c, true
	return opened{remote.NewSession(opt), c}, nil
}

// OpenCache opens the cache that CacheDir and NoCache say. The caller closes it.
func (s Sources) OpenCache() (*cache.Cache, error) {
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
