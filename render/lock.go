package render

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/reference"
)

// An opener opens references in a session.
type opener func(r reference.Reference) (*remote.Content, error)

// locked opens a reference and enforces its lock entry. References in layers are opened as if the
// text contained the entry's commit or digest, so no other content can be returned. Catalogs and
// programs are opened as the user names them, and the result is compared with the entry: anyone
// who can edit the lock must not be able to choose the code that runs, for instance a commit that
// an attacker pushed to a fork of the repository.
func (s Sources) locked(text string, use reference.Use, r reference.Reference, open opener) (*remote.Content, error) {
	e, known := s.entry(r)
	if e.Kind == lock.Program { // the digest of the executable, which is compared with the plan
		known = false
	}
	var c *remote.Content
	var err error
	switch {
	case known && !r.Mutable() && versionOf(r) != e.Version():
		err = differs(e, "the reference names "+versionOf(r))
	case !known && r.Mutable() && s.Locked && use != reference.Blob:
		// A program's digest comes from its catalog.
		err = s.missing(lockName(r))
	case known && r.Mutable() && !decidesWhatRuns(use):
		c, err = openEntry(text, r, e, open)
	default:
		c, err = open(r)
	}
	if err == nil && known && c.Version.String() != e.Version() {
		return nil, differs(e, "the fetched content is "+c.Version.String())
	}
	if err == nil && s.Found != nil && use != reference.Blob {
		s.Found(entryOf(r, c.Version))
	}
	return c, err
}

// decidesWhatRuns reports whether content for a use is a catalog, a program or a signature. The
// author of a tree can also write its lock, its vendor folder and a cache in it, and must not
// influence where such content comes from.
func decidesWhatRuns(use reference.Use) bool {
	return use == reference.Catalog || use == reference.Published || use == reference.Blob || use == reference.Signatures
}

// moved requests the commits between the one locked before and the one opened, and passes them to
// s.Moved.
func (s Sources) moved(ctx context.Context, in opened, r reference.Reference, c *remote.Content, from remote.Origin) {
	name := lockName(r)
	old, ok := s.Before.Get(name)
	if !ok || old.Commit == "" || c.Version.Commit == "" || old.Commit == c.Version.Commit {
		return
	}
	if r.Either { // it could have been a file, but is a repository
		r, _ = r.Repository()
	}
	subjects, err := in.History(ctx, r, old.Commit, c.Version.Commit, from)
	s.Moved(name, subjects, err)
}

// missing returns the error for a reference that must be in the lock but is not.
func (s Sources) missing(name string) error {
	path := lock.Name
	if s.Lock != nil {
		path = s.Lock.Path
	}
	e := &diag.Error{Msg: fmt.Sprintf("%s is not in %s", name, path), Code: diag.NotLocked, Err: remote.ErrVerification}
	return e.Hint("--locked fetches only locked content; run krmflow lock to add it")
}

// entry returns the lock entry of a reference. An entry made before the reference had a digest
// also applies.
func (s Sources) entry(r reference.Reference) (lock.Entry, bool) {
	e, ok := s.Lock.Get(lockName(r))
	if !ok && !r.Pin.IsZero() {
		r.Pin = krm.Digest{}
		e, ok = s.Lock.Get(lockName(r))
	}
	return e, ok
}

// lockName returns the name of a reference's entry. References that share a fetch share an entry.
func lockName(r reference.Reference) string {
	if r.Scheme != reference.Helm {
		r.Path = ""
	}
	return nameWithPath(r)
}

// nameWithPath returns the name of the entry for one file of the fetched content.
func nameWithPath(r reference.Reference) string {
	if u, err := url.Parse(r.Location); err == nil && u.User != nil && u.Scheme != "ssh" {
		u.User = nil
		r.Location = u.String()
	}
	return r.String()
}

// entryOf returns the entry for a reference that resolved to v.
func entryOf(r reference.Reference, v reference.Version) lock.Entry {
	e := lock.Entry{Name: lockName(r), Kind: lock.Content, Commit: v.Commit, Digest: v.Digest}
	switch v.Scheme {
	case reference.Git:
		e.Kind = lock.Git
	case reference.OCI:
		e.Kind = lock.Artifact
	case reference.Helm:
		e.Kind = lock.Chart
	}
	return e
}

// versionOf returns the commit or digest in the text of a reference.
func versionOf(r reference.Reference) string {
	if r.Scheme == reference.Git {
		return r.Ref
	}
	return r.Pin.String()
}

// openEntry opens a reference at the version of its entry.
func openEntry(text string, r reference.Reference, e lock.Entry, open opener) (*remote.Content, error) {
	at, err := atEntry(text, r, e)
	if err != nil {
		return nil, err
	}
	c, err := open(at)
	switch {
	case errors.Is(err, remote.ErrVerification):
		text, _ := diag.Parts(err) // drops the hint, which is about a digest in the text
		return nil, withUpdate(text, e, err)
	case errors.Is(err, remote.ErrRetrieval) && e.Commit != "":
		// The commit no longer exists, or the server serves only named refs.
		now, errNow := open(r)
		if errNow == nil && now.Version.Commit == e.Commit {
			return now, nil
		}
		if errNow == nil {
			return nil, differs(e, "that no longer exists; the reference now is "+now.Version.String())
		}
	}
	return c, err
}

// atEntry returns the reference pinned to the version of its entry.
func atEntry(text string, r reference.Reference, e lock.Entry) (reference.Reference, error) {
	// The reference could have been a file, but is a repository.
	if e.Commit != "" && r.Scheme == reference.HTTPS {
		if repo, err := reference.Parse(text, reference.Dir); err == nil {
			r = repo
		}
	}
	switch isGit := r.Scheme == reference.Git; {
	case isGit && e.Commit == "" || !isGit && e.Digest.IsZero():
		return r, differs(e, "the reference is of a different kind")
	case isGit:
		r.Ref = e.Commit
	default:
		r.Pin = e.Digest
	}
	return r, nil
}

// differs returns the error for content that does not match its entry.
func differs(e lock.Entry, how string) error {
	return withUpdate(fmt.Sprintf("%s must be %s, but %s", e.Name, e.Version(), how), e, remote.ErrVerification)
}

func withUpdate(text string, e lock.Entry, cause error) error {
	err := &diag.Error{Msg: text, Err: cause}
	return err.Hint("it is locked at %s; to accept the change, run krmflow lock %s", e.Pos, diag.ShellWord("--update="+e.Name))
}
