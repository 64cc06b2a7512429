package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

// A Provenance says what is known about where content came from. A digest says which bytes content has and never who published them: the
// cache finds content by its digest alone, so an address with a digest can name bytes that any other reference of a tree has brought.
type Provenance int

const (
	// ByVersion is content that has the digest or commit of its reference, or of a lock. It may have come from anywhere.
	ByVersion Provenance = iota
	// ByAddress is content that the address of its reference has served: to this session, or to an earlier one that recorded it.
	ByAddress
)

// provenance returns that of what [Session.Open] returns for r: an address without a version of its own is asked in each session.
func provenance(r reference.Reference, v reference.Version) Provenance {
	if r.Either && v.Scheme == reference.Git {
		r, _ = r.Repository()
	}
	if r.Mutable() {
		return ByAddress
	}
	return ByVersion
}

// Published is [Session.Open] for a file that is trusted because of its address: the address itself must have served the content, and a
// digest in the reference is only compared with it. It finds content by that digest only if an earlier call has recorded that the same
// address has served it. The record is in the cache, which nobody but the user can write to. The user's references alone are taken.
//
// No redirection of a file or a repository is followed: an address that redirects to wherever its query says would vouch for anything, and one
// of a repository that was moved for its new owner. An artifact is asked for by its digest, in its own repository. A commit proves nothing,
// since repositories also give out commits of their forks: a branch or a tag must be at it, and no other ref.
func (s *Session) Published(ctx context.Context, r reference.Reference) (*Content, error) {
	if r.Archive || r.Scheme == reference.Helm || r.Scheme == reference.Git && !r.Mutable() {
		return nil, refused(r, "nothing shows who published it")
	}
	want := r.Pin
	asked := r
	switch r.Scheme {
	case reference.HTTPS:
		asked.Pin, asked.Direct = krm.Digest{}, true
	case reference.Git:
		asked.Direct = true
	}
	if err := s.allow(asked, FromUser); err != nil {
		return nil, err
	}
	if want.IsZero() { // then it is asked for in any case
		return s.Open(ctx, asked, FromUser)
	}
	c, err := s.published.Do(ctx, key(r, FromUser), func() (*Content, error) {
		if c := s.recorded(ctx, r); c != nil {
			return c, nil
		}
		if s.opt.Offline {
			return nil, &UnprovenError{Reference: r.String()}
		}
		if r.Scheme == reference.OCI {
			if err := s.askManifest(ctx, r); err != nil {
				return nil, err
			}
		}
		c, err := s.Open(ctx, asked, FromUser)
		if err != nil {
			return nil, err
		}
		if c.Version.Digest != want {
			return nil, mismatch(r, want, c.Version.Digest)
		}
		return c, s.opt.Cache.Record(publishedEntry, publishedKey(r), want)
	})
	if err != nil {
		return nil, of(r, err)
	}
	if c, err = c.at(r); err == nil {
		c.Provenance = ByAddress
	}
	return c, err
}

// publishedEntry is the kind of the entries in the cache that say which content an address has served.
const publishedEntry = "published"

// publishedKey returns the key of such an entry: the whole address and the digest, so that what one address has served says nothing about
// another one, not even about one with another query.
func publishedKey(r reference.Reference) string { return key(r, FromUser) + "\n" + r.Ref }

// recorded returns content that the address of r has served to an earlier session, nil if it is not known to have.
func (s *Session) recorded(ctx context.Context, r reference.Reference) *Content {
	if d, ok := s.opt.Cache.Lookup(publishedEntry, publishedKey(r)); !ok || d != r.Pin {
		return nil
	}
	if r.Scheme == reference.OCI {
		if c, err := s.Open(ctx, r, FromUser); err == nil {
			return c
		}
		return nil
	}
	data, err := s.opt.Cache.Get(r.Pin)
	if err != nil {
		return nil
	}
	return &Content{Version: reference.Version{Scheme: r.Scheme, Digest: r.Pin}, data: data}
}

// askManifest asks a registry for the manifest with the digest of r, whatever the cache has: a registry gives it out only in the repositories
// that it was pushed to.
func (s *Session) askManifest(ctx context.Context, r reference.Reference) error {
	return s.bounded(ctx, r, Asking, func(ctx context.Context) error {
		return s.registry(r, FromUser, func(reg *registry) error {
			_, err := reg.manifest(ctx, r.Pin)
			return err
		})
	})
}

// An UnprovenError says that an address must not be asked, and that nothing shows what it has served.
type UnprovenError struct {
	// Reference is the address with a digest, without credentials.
	Reference string
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("nothing in the cache shows that %s was published there, and nothing is fetched offline", e.Reference)
}

// IsUnproven reports whether err is an [UnprovenError].
func IsUnproven(err error) bool {
	var unproven *UnprovenError
	return errors.As(err, &unproven)
}
