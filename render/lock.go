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

// opener opens references: it is that of a session.
type opener func(r reference.Reference) (*remote.Content, error)

// locked opens a reference as the lock says. What a layer names is opened as if the text had the commit or the digest of the entry, so that
// nothing but that content can come. A catalog or a program is opened as the user names it and compared: whoever can edit the lock must
// not be able to choose what runs, for instance a commit that somebody else has pushed to a copy of the repository.
func (s Sources) locked(text string, use reference.Use, r reference.Reference, open opener) (*remote.Content, error) {
	e, known := s.entry(r)
	if e.Kind == lock.Program { // with the digest of what runs, which the plan is compared with
		known = false
	}
	var c *remote.Content
	var err error
	switch {
	case known && !r.Mutable() && versionOf(r) != e.Version():
		err = differs(e, "it is referred to as "+versionOf(r))
	case !known && r.Mutable() && s.Locked && use != reference.Blob: // the digest of a program is what its catalog says
		err = s.missing(lockName(r))
	case known && r.Mutable() && !decidesWhatRuns(use):
		c, err = openEntry(text, r, e, open)
	default:
		c, err = open(r)
	}
	if err == nil && known && c.Version.String() != e.Version() {
		return nil, differs(e, "what came is "+c.Version.String())
	}
	if err == nil && s.Found != nil && use != reference.Blob {
		s.Found(entryOf(r, c.Version))
	}
	return c, err
}

// decidesWhatRuns reports whether content of a use is a catalog or a program. The author of a tree
// can also write its lock, its vendor folder and a cache in it, and must not influence where such
// content comes from.
func decidesWhatRuns(use reference.Use) bool {
	return use == reference.Catalog || use == reference.Published || use == reference.Blob || use == reference.Signatures
}

// moved asks which commits are between the one that was locked before and the one that came.
func (s Sources) moved(ctx context.Context, in opened, r reference.Reference, c *remote.Content, from remote.Origin) {
	name := lockName(r)
	old, ok := s.Before.Get(name)
	if !ok || old.Commit == "" || c.Version.Commit == "" || old.Commit == c.Version.Commit {
		return
	}
	if r.Either { // it could name a file, and named a repository
		r, _ = r.Repository()
	}
	subjects, err := in.History(ctx, r, old.Commit, c.Version.Commit, from)
	s.Moved(name, subjects, err)
}

// missing returns the error for what has to be in the lock.
func (s Sources) missing(name string) error {
	path := lock.Name
	if s.Lock != nil {
		path = s.Lock.Path
	}
	e := &diag.Error{Msg: fmt.Sprintf("%s is not in %s", name, path), Code: diag.NotLocked, Err: remote.ErrVerification}
	return e.Hint("with --locked, nothing is fetched that is not locked; krmflow lock adds it")
}

// entry returns what the lock says about a reference. An entry that was made before the reference had a digest counts, too.
func (s Sources) entry(r reference.Reference) (lock.Entry, bool) {
	e, ok := s.Lock.Get(lockName(r))
	if !ok && !r.Pin.IsZero() {
		r.Pin = krm.Digest{}
		e, ok = s.Lock.Get(lockName(r))
	}
	return e, ok
}

// lockName returns the name of the entry for a reference: all that share a fetch have one.
func lockName(r reference.Reference) string {
	if r.Scheme != reference.Helm {
		r.Path = ""
	}
	return nameWithPath(r)
}

// nameWithPath returns the name of the entry for one file in what is fetched.
func nameWithPath(r reference.Reference) string {
	if u, err := url.Parse(r.Location); err == nil && u.User != nil && u.Scheme != "ssh" {
		u.User = nil
		r.Location = u.String()
	}
	return r.String()
}

// entryOf returns the entry for what a reference has turned out to be.
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

// versionOf returns the commit or the digest that a reference has in its text.
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
		text, _ := diag.Parts(err) // its hint is for a digest in the text
		return nil, withUpdate(text, e, err)
	case errors.Is(err, remote.ErrRetrieval) && e.Commit != "":
		// The commit is not there any more, or the server gives none but what has a name.
		now, errNow := open(r)
		if errNow == nil && now.Version.Commit == e.Commit {
			return now, nil
		}
		if errNow == nil {
			return nil, differs(e, "that is not there any more, but "+now.Version.String())
		}
	}
	return c, err
}

// atEntry returns the reference with the version of its entry.
func atEntry(text string, r reference.Reference, e lock.Entry) (reference.Reference, error) {
	if e.Commit != "" && r.Scheme == reference.HTTPS { // it could name a file, and named a repository
		if repo, err := reference.Parse(text, reference.Dir); err == nil {
			r = repo
		}
	}
	switch isGit := r.Scheme == reference.Git; {
	case isGit && e.Commit == "" || !isGit && e.Digest.IsZero():
		return r, differs(e, "it is of another kind")
	case isGit:
		r.Ref = e.Commit
	default:
		r.Pin = e.Digest
	}
	return r, nil
}

// differs returns the error for something that is not what its entry says.
func differs(e lock.Entry, how string) error {
	return withUpdate(fmt.Sprintf("%s must be %s, and %s", e.Name, e.Version(), how), e, remote.ErrVerification)
}

func withUpdate(text string, e lock.Entry, cause error) error {
	err := &diag.Error{Msg: text, Err: cause}
	return err.Hint("%s says what it must be; if the change is meant: krmflow lock %s", e.Pos, diag.ShellWord("--update="+e.Name))
}
