package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

// openHTTPS returns a file or the files of an archive. If the file does not exist and the
// reference may name a repository, it returns the repository.
func (s *Session) openHTTPS(ctx context.Context, r reference.Reference, from Origin) (*Content, error) {
	if r.Archive {
		return s.openArchive(ctx, r, from)
	}
	if !r.Pin.IsZero() {
		if data, err := s.opt.Cache.Get(r.Pin); err == nil {
			return &Content{Version: reference.Version{Scheme: reference.HTTPS, Digest: r.Pin}, data: data}, nil
		}
	}
	if r.Either && s.hasCommit(r, from) {
		return s.openRepository(ctx, r, from, nil)
	}
	c := &Content{}
	fetch := func() (_ reference.Version, err error) {
		c.data, err = s.fetchFile(ctx, r, from)
		if err == nil && isWebPage(c.data) {
			err = notFetched(r, errWebPage, "%s", errWebPage)
		}
		if err != nil {
			return reference.Version{}, err
		}
		d, err := s.opt.Cache.Put(c.data)
		return reference.Version{Scheme: reference.HTTPS, Digest: d}, err
	}
	var err error
	c.Version, err = s.remembered(ctx, r, from, fetch)
	if err == nil && c.data == nil {
		if c.data, err = s.opt.Cache.Get(c.Version.Digest); err != nil { // evicted from the cache
			c.Version, err = fetch()
		}
	}
	if r.Either && (isNotFound(err) || errors.Is(err, errWebPage)) {
		return s.openRepository(ctx, r, from, err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// remembered calls fetch, which must put the content into the cache, and returns its version. If
// an earlier session has fetched the content, it returns that version instead.
func (s *Session) remembered(ctx context.Context, r reference.Reference, from Origin,
	fetch func() (reference.Version, error)) (reference.Version, error) {
	if s.opt.Offline {
		return fetch()
	}
	return s.opt.Memory.Ask(ctx, key(r, from), fetch)
}

// errWebPage reports a web page in place of a file.
var errWebPage = errors.New("the server returned a web page")

// isWebPage reports whether data is HTML. Many servers send a page instead of status 404, and no
// manifest starts like one.
func isWebPage(data []byte) bool {
	start := strings.ToLower(string(bytes.TrimSpace(data[:min(len(data), 512)])))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// hasCommit reports whether a URL was found to be a repository before and names a commit that is
// in the cache.
func (s *Session) hasCommit(r reference.Reference, from Origin) bool {
	repo, err := r.Repository()
	if err != nil || !reference.IsCommit(repo.Ref) {
		return false
	}
	_, ok := s.opt.Cache.Lookup(gitEntry(repo, repo.Ref, from))
	return ok
}

// openRepository opens a URL that does not name a file as a repository, as kustomize does.
func (s *Session) openRepository(ctx context.Context, r reference.Reference, from Origin, errFile error) (*Content, error) {
	repo, err := r.Repository()
	if err != nil {
		return nil, errFile
	}
	c, err := s.Open(ctx, repo, from)
	if err != nil {
		if errFile != nil {
			err = diag.AsError(err).Hint("it is not available as a file either: %s", cause(errFile))
		}
		return nil, err
	}
	return &Content{Version: c.Version, Tree: c.Tree}, nil
}

// fetchFile returns the content of a URL and verifies it against the digest of the reference, if
// it has one.
func (s *Session) fetchFile(ctx context.Context, r reference.Reference, from Origin) (data []byte, err error) {
	if s.opt.Offline {
		return nil, &OfflineError{Reference: r.String()}
	}
	err = s.fetch(ctx, r, func(ctx context.Context) error {
		data, err = s.get(ctx, r, from)
		return err
	})
	if err != nil {
		return nil, explain(wrap(r, err))
	}
	if got := krm.DigestOf(data); !r.Pin.IsZero() && got != r.Pin {
		return nil, mismatch(r, r.Pin, got)
	}
	return data, nil
}

// explain adds a hint to an authorization error.
func explain(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusUnauthorized || status.code == http.StatusForbidden) {
		return diag.AsError(diag.NoCredentials.Of(err)).Hint(
			"anonymous read is required: files are fetched without credentials; use git or a registry for private content")
	}
	return err
}

// readUpTo reads all of r, up to limit bytes. size is the announced size, or negative if unknown.
func readUpTo(limit, size int64, r io.Reader) ([]byte, error) {
	if size > limit {
		return nil, tooLong(limit)
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLong(limit)
	}
	return data, err
}

func tooLong(limit int64) error {
	return diag.Limitf("larger than %s", diag.Size(limit)).Hint("--max-fetch-bytes sets the limit for one fetch")
}

// openArchive returns the files of an archive, which must have a digest.
func (s *Session) openArchive(ctx context.Context, r reference.Reference, from Origin) (*Content, error) {
	unpacked := func(ctx context.Context) (*cache.Tree, error) {
		data, err := s.opt.Cache.Get(r.Pin)
		if err != nil {
			if data, err = s.fetchFile(ctx, r, from); err != nil {
				return nil, err
			}
		}
		tree, err := s.Unpack(data)
		if err != nil {
			return nil, wrap(r, err)
		}
		return tree, s.opt.Cache.Record("archive", r.Pin.String(), tree.Digest)
	}
	tree, err := s.tree("archive", r.Pin.String())
	if err != nil {
		if tree, err = unpacked(ctx); err != nil {
			return nil, err
		}
	}
	later := context.WithoutCancel(ctx)
	tree.Restore = func() error { _, err := unpacked(later); return err }
	return &Content{Version: reference.Version{Scheme: reference.HTTPS, Digest: r.Pin}, Tree: tree}, nil
}
