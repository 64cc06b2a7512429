package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

// A Provenance is the known origin of content. A digest identifies bytes, but not their publisher:
// the cache finds content by its digest alone, so an address with a digest can name bytes that any
// other reference of a tree has fetched.
type Provenance int

const (
	// ByVersion is content with the digest or commit of its reference or of a lock. It may have any
	// origin.
	ByVersion Provenance = iota
	// ByAddress is content that the address of its reference has served, in this session or in an
	// earlier one that recorded it.
	ByAddress
)

// provenance returns the provenance of the content that [Session.Open] returns for r. Each session
// sends a request to an address without a version.
func provenance(r reference.Reference, v reference.Version) Provenance {
	if r.Either && v.Scheme == reference.Git {
		r, _ = r.Repository()
	}
	if r.Mutable() {
		return ByAddress
	}
	return ByVersion
}

// Published is [Session.Open] for a file that is trusted because of its address. The address itself
// must have served the content, and a digest in the reference is only compared. Content is found in
// the cache by that digest only if an earlier call has recorded that the same address has served
// it. The record is in the cache, which only the user can write to. Published accepts only
// references of the user.
//
// Redirects of files and repositories are not followed: an address that redirects to a URL in its
// query would vouch for any content, and a moved repository for its new owner. An artifact is
// requested by its digest from its own repository. A commit proves nothing, because repositories
// also serve commits of their forks: a branch or a tag must be at it, and no other ref.
func (s *Session) Published(ctx context.Context, r reference.Reference) (*Content, error) {
	if r.Archive || r.Scheme == reference.Helm || r.Scheme == reference.Git && !r.Mutable() {
		return nil, refused(r, "there is no proof of who published it")
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
	if want.IsZero() { // an address without a digest is asked in every session
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

// publishedEntry is the kind of cache entries that record which content an address has served.
const publishedEntry = "published"

// publishedKey returns the key of such an entry. It has the whole address and the digest, so that
// a record applies to one address only, including its query.
func publishedKey(r reference.Reference) string { return key(r, FromUser) + "\n" + r.Ref }

// recorded returns the content that the address of r has served to an earlier session, nil
// without a record.
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

// askManifest requests the manifest with the digest of r from its registry, even if the cache has
// it: a registry serves a manifest only from the repositories that it was pushed to.
func (s *Session) askManifest(ctx context.Context, r reference.Reference) error {
	return s.bounded(ctx, r, Asking, func(ctx context.Context) error {
		return s.registry(r, FromUser, func(reg *registry) error {
			_, err := reg.manifest(ctx, r.Pin)
			return err
		})
	})
}

// An UnprovenError reports that no request to an address is allowed and that the cache has no
// record of the content that it served.
type UnprovenError struct {
	// Reference is the address with a digest, without credentials.
	Reference string
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("the cache has no proof that %s was published there, and it cannot be fetched offline", e.Reference)
}

// IsUnproven reports whether err is an [UnprovenError].
func IsUnproven(err error) bool {
	var unproven *UnprovenError
	return errors.As(err, &unproven)
}
