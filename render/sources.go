package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/reference"
)

// Sources say how what is remote is fetched.
type Sources struct {
	// Options are those of the session. Without a Cache, one is opened when something is to be fetched, and closed after planning.
	remote.Options
	// CacheDir is the folder of that cache, [cache.Dir] if it is empty; with NoCache it is a
	// temporary one. It is also temporary if CacheDir is empty and the user's folder cannot be used
	// or written to. CacheUnused is then called with the reason, once for each cache that is
	// opened. It may be nil.
	CacheDir    string
	CacheUnused func(error)
	NoCache     bool
	// CacheApart refuses a CacheDir in the repository of a rendered directory or of the working
	// directory: anyone who can write to a cache can choose the result of a render. It is for a
	// CacheDir from the settings, which the user did not choose for this run. [cache.Dir] is always
	// refused there.
	CacheApart bool
	// CacheMax is how many bytes it may have, [cache.DefaultMax] if it is 0: see [cache.Cache.Bound].
	CacheMax int64
	// Rendered are the directories that the cache must not be in, because its files would be part
	// of them. The default is [Options.Dirs]. CacheApart applies to their repositories.
	Rendered []string
	// Places knows where they are, if the run has looked for that; it may be nil.
	Places *filestat.Dirs

	// Vendor is a copy of a cache, see [cache.Cache.CopyUsed], that holds what layers refer to: nothing else is taken for that then. Whoever
	// wrote the folder says what is in a repository, as if it was part of the tree; so catalogs and programs never come from there. Empty
	// stands for none.
	Vendor string

	// Lock says which content references must have, nil for no lock. With Locked, a reference that has neither a version of its own nor an
	// entry is an error. What differs from a lock is one that wraps [remote.ErrVerification].
	Lock   *lock.File
	Locked bool
	// Found is told what was opened and what functions need, by several goroutines at a time and once for each place that names it. It may be
	// nil.
	Found func(lock.Entry)
	// Learns is set to make a lock. Then Found is also told about what needs no entry, and what nothing says the digest of is fetched,
	// although it is for another platform, or asked for, although it is not on this machine.
	Learns bool
	// Before is the lock that a new one replaces. Moved is told which commits a repository has got since, by several goroutines at a time and
	// once for each place that names it: what each says in its first line, which anybody can have written, or why nobody knows. Both may be nil.
	Before *lock.File
	Moved  func(name string, subjects []string, err error)
}

// Fetching returns what fetches, as a [planner.Options] wants it. Sessions are made when something is fetched; end releases what they hold.
func (s Sources) Fetching(ctx context.Context) (fetch loaders.Fetch, end func()) {
	ordinary, endOrdinary := lazily(s.ordinary)
	vendored, endVendored := lazily(s.vendored)
	own, endOwn := lazily(s.own)
	inTree := sync.OnceValue(s.cacheInTree)
	fetch = func(text string, use reference.Use, from remote.Origin) (*remote.Content, error) {
		r, err := reference.Parse(text, use)
		if err != nil {
			return nil, err
		}
		session, fromVendor := ordinary, s.Vendor != "" && !decidesWhatRuns(use)
		switch {
		case fromVendor:
			session = vendored
		case needsOwnCache(use, r) && inTree():
			session = own
		}
		in, err := session()
		if err != nil {
			return nil, err
		}
		if use == reference.Signatures { // they are verified, which no lock can do better
			list, err := in.Signatures(ctx, r, from)
			return &remote.Content{Reference: r, Signatures: list}, err
		}
		open := func(r reference.Reference) (*remote.Content, error) { return in.Open(ctx, r, from) }
		if use == reference.Published {
			open = func(r reference.Reference) (*remote.Content, error) { return in.Published(ctx, r) }
		}
		c, err := s.locked(text, use, r, open)
		if err == nil && s.Moved != nil {
			s.moved(ctx, in, r, c, from)
		}
		if missing := (*remote.OfflineError)(nil); fromVendor && errors.As(err, &missing) {
			err = diag.Errorf(diag.Pos{}, "", "%s is not in %s", missing.Reference, s.Vendor).With(diag.NotVendored).Hint("krmflow lock and krmflow vendor put it there")
		}
		return c, err
	}
	return fetch, func() { endOrdinary(); endVendored(); endOwn() }
}

// An opened session has its cache beside it. That cache is closed with it if it is owned.
type opened struct {
	*remote.Session
	cache *cache.Cache
	owned bool
}

// lazily returns what makes a session of a run when it is needed, and what releases what that holds.
func lazily(open func() (opened, error)) (session func() (opened, error), end func()) {
	var made opened
	session = sync.OnceValues(func() (_ opened, err error) {
		made, err = open()
		return made, err
	})
	return session, func() {
		if made.Session != nil {
			made.Close()
		}
		if made.owned {
			made.cache.Close()
		}
	}
}

// ordinary returns the session that fetches.
func (s Sources) ordinary() (in opened, err error) {
	if in.cache = s.Cache; in.cache == nil {
		if in.cache, err = s.OpenCache(); err != nil {
			return in, err
		}
		in.owned = true
		in.cache.Sweep()
	}
	opt := s.Options
	opt.Cache = in.cache
	in.Session = remote.NewSession(opt)
	return in, nil
}

// needsOwnCache reports whether a catalog is found in a cache by a record: of the content that an
// address served, or of the files in a commit. Content that is found by its digest alone is
// verified, so the author of the cache does not matter.
func needsOwnCache(use reference.Use, r reference.Reference) bool {
	return use == reference.Published || use == reference.Catalog && r.Scheme == reference.Git
}

// own returns a session with a temporary cache. It is for catalogs if the author of the rendered
// files may have written the cache of the run.
func (s Sources) own() (in opened, err error) {
	if in.cache, err = cache.Temporary(); err != nil {
		return in, err
	}
	in.owned = true
	opt := s.Options
	opt.Cache, opt.Memory = in.cache, nil
	in.Session = remote.NewSession(opt)
	return in, nil
}

// cacheInTree reports whether the author of a rendered tree may have written the cache of the run,
// which the command line can name. It looks at directories itself: fetches run concurrently, and
// [Sources].Places must not be used concurrently.
func (s Sources) cacheInTree() bool {
	dir, err := s.CacheFolder()
	if s.Cache != nil {
		dir, err = s.Cache.Path(), nil
	}
	return !s.NoCache && err == nil && s.treeAround(dir, &filestat.Dirs{}) != ""
}

// vendored returns the session that opens what is in the folder [Sources.Vendor], and nothing else.
func (s Sources) vendored() (opened, error) {
	c, err := cache.OpenCopy(s.Vendor)
	if err != nil {
		return opened{}, err
	}
	opt := s.Options
	opt.Cache, opt.Offline = c, true
	return opened{Session: remote.NewSession(opt), cache: c}, nil
}

// CacheFolder returns the folder that CacheDir says.
func (s Sources) CacheFolder() (string, error) {
	if s.CacheDir == "" {
		return cache.Dir()
	}
	return filepath.Abs(s.CacheDir) // git runs elsewhere
}

// OpenLasting opens the cache that CacheDir says. The caller closes it.
func (s Sources) OpenLasting() (*cache.Cache, error) {
	dir, err := s.CacheFolder()
	if err == nil {
		err = s.checkPlace(dir)
	}
	if err != nil {
		return nil, err
	}
	c, err := cache.Open(dir)
	if err != nil {
		return nil, err
	}
	c.Bound(cmp.Or(s.CacheMax, cache.DefaultMax))
	if s.isOwn() {
		c.Unused = s.unused
	}
	return c, nil
}

// isOwn reports whether nobody has asked for the cache. Then there may be no place for it, as in a container without a home.
func (s Sources) isOwn() bool {
	return s.CacheDir == "" && !s.Offline
}

// OpenCache opens the cache that CacheDir and NoCache say. The caller closes it.
func (s Sources) OpenCache() (*cache.Cache, error) {
	if s.NoCache {
		return cache.Temporary()
	}
	c, err := s.OpenLasting()
	if err == nil {
		return c, nil
	}
	if s.isOwn() || s.CacheApart && !s.Offline && errors.Is(err, errNotApart) {
		s.unused(err)
		return cache.Temporary()
	}
	return nil, diag.AsError(diag.CacheFolder.Of(err)).Hint("--cache-dir names another folder for the cache, --no-cache does without one")
}

func (s Sources) unused(why error) {
	if s.CacheUnused != nil {
		s.CacheUnused(why)
	}
}

// errNotApart is the error for a cache folder in a rendered tree.
var errNotApart = errors.New("the cache folder is in the tree that is rendered")

// A placeError is an errNotApart with the folder and the tree.
type placeError struct{ dir, tree, why string }

func (e *placeError) Is(err error) bool { return err == errNotApart }
func (e *placeError) Error() string {
	return fmt.Sprintf("the cache folder %q is inside of %q, %s", e.dir, e.tree, e.why)
}

// checkPlace returns an error for a cache folder in a rendered directory, and for one in the same
// repository that the user did not name for this run.
func (s Sources) checkPlace(dir string) error {
	places := cmp.Or(s.Places, &filestat.Dirs{})
	real := filestat.Resolve(dir)
	for _, root := range s.renderedDirs() {
		if root := places.Real(root); root != "" && diag.Within(real, root) {
			return &placeError{dir, root, "which is rendered"}
		}
	}
	if s.CacheDir != "" && !s.CacheApart {
		return nil
	}
	if tree := s.treeAround(dir, places); tree != "" {
		return &placeError{dir, tree, "whose authors could choose the result of a render"}
	}
	return nil
}

// treeAround returns the tree that a folder is in, of those that are rendered, "" if it is in none.
func (s Sources) treeAround(dir string, places *filestat.Dirs) string {
	wd, _ := os.Getwd()
	return places.TreesOf(s.renderedDirs(), wd).Around(dir)
}

// renderedDirs returns the absolute paths of the directories that are rendered on this machine.
func (s Sources) renderedDirs() (dirs []string) {
	wd, _ := os.Getwd()
	for _, root := range s.Rendered {
		if abs, err := absolute(root, wd); err == nil && !loaders.IsRemote(root) {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}
