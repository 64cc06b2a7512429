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

// Sources controls how remote content is fetched.
type Sources struct {
	// Options are the session's options. Without a Cache, one is opened for the first fetch and
	// closed after planning.
	remote.Options
	// CacheDir is the folder of that cache, [cache.Dir] if it is empty. With NoCache the cache is
	// temporary. It is also temporary if CacheDir is empty and the user's folder is unusable or
	// not writable. CacheUnused is then called with the reason, once for each cache opened. It
	// may be nil.
	CacheDir    string
	CacheUnused func(error)
	NoCache     bool
	// CacheApart rejects a CacheDir in the repository of a rendered directory or of the working
	// directory: anyone who can write to a cache can choose the result of a render. Set it for a
	// CacheDir from the settings file, which the user did not choose for this run. [cache.Dir] is
	// always rejected there.
	CacheApart bool
	// CacheMax is the maximum size of the cache in bytes, [cache.DefaultMax] if it is 0: see
	// [cache.Cache.Bound].
	CacheMax int64
	// Rendered are the directories that must not contain the cache, because its files would be
	// part of them. The default is [Options.Dirs]. CacheApart applies to their repositories.
	Rendered []string
	// Places caches the resolved paths of these directories. It may be nil.
	Places *filestat.Dirs

	// Vendor is a folder with a copy of a cache, see [cache.Cache.CopyUsed]. If it is set,
	// references in layers are opened only from it. The author of the folder controls the content
	// of repositories, as if it were part of the tree. Catalogs and programs therefore never come
	// from there.
	Vendor string

	// Lock records the required content of references, nil for no lock. With Locked, a reference
	// with neither a version of its own nor an entry is an error. The error for content that does
	// not match the lock wraps [remote.ErrVerification].
	Lock   *lock.File
	Locked bool
	// Found is called with each opened reference and each dependency of a function, once for each
	// place that names it. Calls are concurrent. It may be nil.
	Found func(lock.Entry)
	// Learns is set to make a lock. Found is then also called for content that needs no entry.
	// Programs for other platforms that have no digest are fetched, and the registry is asked for
	// the digest of images that are not on this machine.
	Learns bool
	// Before is the lock that a new lock replaces. Moved is called with the commits that a
	// repository has gained since then, once for each place that names it. Calls are concurrent.
	// subjects are the first lines of the commit messages, which are untrusted text; err is the
	// reason if they are unknown. Both may be nil.
	Before *lock.File
	Moved  func(name string, subjects []string, err error)
}

// Fetching returns a fetch function for [planner.Options]. It opens sessions when they are first
// needed; end releases their resources.
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
		if use == reference.Signatures { // signatures are verified, so a lock would add nothing
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
			err = diag.Errorf(diag.Pos{}, "", "%s is not in %s", missing.Reference,
				s.Vendor).With(diag.NotVendored).Hint("run krmflow lock and krmflow vendor to add it")
		}
		return c, err
	}
	return fetch, func() { endOrdinary(); endVendored(); endOwn() }
}

// opened is an open session with its cache. The cache is closed with it if owned is set.
type opened struct {
	*remote.Session
	cache *cache.Cache
	owned bool
}

// lazily returns a function that opens a session on first use, and one that releases its
// resources.
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

// ordinary returns the session that fetches from the network.
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

// own returns a session with a temporary cache. It is used for catalogs if the author of the
// rendered files may have written the cache of the run.
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

// cacheInTree reports whether the author of a rendered tree may have written the cache of the
// run, which the command line can name. It resolves directories itself: fetches run concurrently,
// and [Sources].Places must not be used concurrently.
func (s Sources) cacheInTree() bool {
	dir, err := s.CacheFolder()
	if s.Cache != nil {
		dir, err = s.Cache.Path(), nil
	}
	return !s.NoCache && err == nil && s.treeAround(dir, &filestat.Dirs{}) != ""
}

// vendored returns a session that opens only content from the folder [Sources.Vendor].
func (s Sources) vendored() (opened, error) {
	c, err := cache.OpenCopy(s.Vendor)
	if err != nil {
		return opened{}, err
	}
	opt := s.Options
	opt.Cache, opt.Offline = c, true
	return opened{Session: remote.NewSession(opt), cache: c}, nil
}

// CacheFolder returns the folder selected by CacheDir.
func (s Sources) CacheFolder() (string, error) {
	if s.CacheDir == "" {
		return cache.Dir()
	}
	return filepath.Abs(s.CacheDir) // git runs in a different directory
}

// OpenLasting opens the persistent cache selected by CacheDir. The caller closes it.
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

// isOwn reports whether the cache folder is krmflow's own default and optional. There may be no
// place for it, as in a container without a home directory.
func (s Sources) isOwn() bool {
	return s.CacheDir == "" && !s.Offline
}

// OpenCache opens the cache selected by CacheDir and NoCache. The caller closes it.
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
	return nil,
		diag.AsError(diag.CacheFolder.Of(err)).Hint("use --cache-dir to choose a different folder, or --no-cache to run without a cache")
}

func (s Sources) unused(why error) {
	if s.CacheUnused != nil {
		s.CacheUnused(why)
	}
}

// errNotApart is the error for a cache folder in a rendered tree.
var errNotApart = errors.New("the cache folder is in the rendered tree")

// A placeError is errNotApart with the folder and the tree.
type placeError struct{ dir, tree, why string }

func (e *placeError) Is(err error) bool { return err == errNotApart }
func (e *placeError) Error() string {
	return fmt.Sprintf("the cache folder %q is inside %q, %s", e.dir, e.tree, e.why)
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

// treeAround returns the rendered tree that contains a folder, "" if none does.
func (s Sources) treeAround(dir string, places *filestat.Dirs) string {
	wd, _ := os.Getwd()
	return places.TreesOf(s.renderedDirs(), wd).Around(dir)
}

// renderedDirs returns the absolute paths of the local directories that are rendered.
func (s Sources) renderedDirs() (dirs []string) {
	wd, _ := os.Getwd()
	for _, root := range s.Rendered {
		if abs, err := absolute(root, wd); err == nil && !loaders.IsRemote(root) {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}
