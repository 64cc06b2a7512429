// Package remote fetches remote references: files and archives over https, git repositories, and
// artifacts and charts from registries and chart repositories.
//
// A [Session] belongs to one run. [Session.Resolve] returns the commit or digest of a
// [reference.Reference], and [Session.Open] its content, as a read-only tree or as bytes. Each
// reference is resolved and fetched once per session, even if it is used concurrently, so a run
// never uses two versions of the same reference. Content with a known commit or digest that is in
// the cache needs no network.
//
// The origin of a reference determines which hosts it may reach and whether the user's
// credentials are used; see [Origin].
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/archive"
	"github.com/krmflow/krmflow/loaders/remote/internal/flight"
	"github.com/krmflow/krmflow/reference"
)

// An Origin is the kind of file that contains a reference. It determines the hosts that the
// reference may reach.
type Origin int

// The origins.
const (
	// FromUser is for references in local files and on the command line. They may name any host
	// and local repositories. git and registries use the credentials that the user has
	// configured.
	FromUser Origin = iota
	// FromFetched is for references in fetched content. They may only name public hosts over
	// https: no address of this machine or its networks, and no file. Nothing from the user's
	// configuration is sent.
	FromFetched
)

// Options configure a session. A zero limit means the default.
type Options struct {
	// Cache stores fetched content. It is required.
	Cache *cache.Cache
	// Offline forbids network access. Content that is not in the cache is an [OfflineError].
	Offline bool
	// Timeout is the time limit of one fetch, unless the reference has its own. The default is
	// 30 s.
	Timeout time.Duration
	// MaxBytes is the size limit for a file, an archive or an artifact as transferred. The
	// default is 64 MiB.
	MaxBytes int64
	// Total counts the fetched bytes of several sessions together; their limit is 64 times
	// MaxBytes. If nil, the session has a Total of its own.
	Total *Total
	// MaxTree limits the unpacked size of a repository or an archive.
	MaxTree cache.Limits
	// Parallel is the number of concurrent fetches. The default is 8.
	Parallel int
	// Memory has the versions that references without a version resolved to in earlier sessions
	// of this process. It may be nil.
	Memory *Memory
	// AllowHTTP permits http without a digest in the user's references.
	AllowHTTP bool
	// Progress, if not nil, is called for each step of a fetch. Calls are never concurrent.
	Progress func(Event)
	// Transport overrides the HTTP transport. It is for tests with a private certificate
	// authority.
	Transport *http.Transport
}

// A Memory stores the versions of branches, tags and addresses for the sessions of a process. The
// zero Memory is empty.
type Memory = flight.Memory[reference.Version]

// An Event reports progress of a fetch.
type Event struct {
	// Reference is the reference without credentials.
	Reference string
	// State is the current step. The first event of a fetch is Asking, Started or Sending, the
	// last is Done or Failed.
	State State
	// Attempt is the number of the retry, starting at 1, and Wait the delay before it.
	Attempt int
	Wait    time.Duration
	// Took is the duration of a finished fetch.
	Took time.Duration
	// Err is the error of a failed fetch.
	Err error
}

// A State is a step of a fetch.
type State string

// The states.
const (
	Asking   State = "asking" // resolving a reference to a version
	Started  State = "started"
	Sending  State = "sending"
	Retrying State = "retrying"
	Done     State = "done"
	Failed   State = "failed"
)

// A Session fetches references for one run. It is safe for concurrent use.
type Session struct {
	opt       Options
	slots     chan struct{}
	versions  flight.Group[reference.Version]
	contents  flight.Group[*Content]
	charts    flight.Group[krm.Digest] // of charts in registries
	tags      flight.Group[[]string]
	histories flight.Group[[]string]
	published flight.Group[*Content]
	report    sync.Mutex
	clients   func() clients
}

// NewSession returns a session. It does not use the network.
func NewSession(opt Options) *Session {
	opt.Timeout = cmp.Or(opt.Timeout, 30*time.Second)
	opt.MaxBytes = cmp.Or(opt.MaxBytes, 64<<20)
	opt.Parallel = cmp.Or(opt.Parallel, 8)
	opt.Total = cmp.Or(opt.Total, &Total{})
	s := &Session{opt: opt, slots: make(chan struct{}, opt.Parallel)}
	s.clients = sync.OnceValue(func() clients { return newClients(opt.Transport) })
	return s
}

// Close closes the session's connections and files. Returned content remains usable.
func (s *Session) Close() error {
	var errs []error
	for _, c := range s.contents.Finished() {
		if c != nil && c.Tree != nil {
			errs = append(errs, c.Tree.Close())
		}
	}
	s.clients().close()
	return errors.Join(errs...)
}

// Content is the content of a reference: a tree, or the bytes of one file.
type Content struct {
	// Reference is the opened reference with its version. It is immutable.
	Reference reference.Reference
	Version   reference.Version
	// Provenance is the known origin of the content.
	Provenance Provenance
	// Tree is the whole repository, archive or multi-file artifact; nil for a single file.
	// [reference.Reference.Path] is the path of the referenced part.
	Tree *cache.Tree
	// MediaType is the media type of a single file from a registry.
	MediaType string
	// Signatures are the signatures, for a reference of the use [reference.Signatures].
	Signatures []Signature

	data []byte
}

// Bytes returns the referenced file. The caller must not modify it.
func (c *Content) Bytes() ([]byte, error) {
	if c.Tree == nil {
		return c.data, nil
	}
	return c.Tree.ReadFile(cmp.Or(c.Reference.Path, "."))
}

// at returns the same content for r, which may refer to a different path in the tree.
func (c *Content) at(r reference.Reference) (*Content, error) {
	own := *c
	own.Reference = r.At(c.Version)
	own.Provenance = provenance(r, c.Version)
	if c.Tree == nil && own.Reference.Path != "" {
		return nil, notFetched(r, nil, "it is a single file and has no %q", own.Reference.Path)
	}
	if c.Tree != nil && own.Reference.Path != "" {
		_, err := c.Tree.Real(own.Reference.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, notFetched(r, err, "no %q at %s", own.Reference.Path, c.Version)
		case err != nil:
			return nil, notFetched(r, err, "%s", cause(err))
		}
	}
	return &own, nil
}

// Resolve returns the version of a reference. A branch or tag is resolved once per session. A
// file without a digest is fetched to compute one. The error wraps [ErrRetrieval],
// [ErrVerification], [ErrRefused] or diag.ErrLimit, or is an [OfflineError].
func (s *Session) Resolve(ctx context.Context, r reference.Reference, from Origin) (reference.Version, error) {
	if err := s.allow(r, from); err != nil {
		return reference.Version{}, err
	}
	if r.Scheme == reference.Git && reference.IsCommit(r.Ref) {
		return reference.Version{Scheme: reference.Git, Commit: r.Ref}, nil
	}
	if r.Scheme == reference.HTTPS || r.Scheme == reference.Helm {
		c, err := s.Open(ctx, r, from)
		if err != nil {
			return reference.Version{}, err
		}
		return c.Version, nil
	}
	if !r.Pin.IsZero() {
		return reference.Version{Scheme: r.Scheme, Digest: r.Pin}, nil
	}
	key := key(r, from) + "\n" + r.Ref
	v, err := s.versions.Do(ctx, key, func() (reference.Version, error) {
		if s.opt.Offline {
			return reference.Version{}, &OfflineError{Reference: r.String()}
		}
		return s.opt.Memory.Ask(ctx, key, func() (v reference.Version, err error) {
			err = s.bounded(ctx, r, Asking, func(ctx context.Context) error {
				if r.Scheme == reference.Git {
					v, err = s.resolveGit(ctx, r, from)
				} else {
					v, err = s.resolveOCI(ctx, r, from)
				}
				return err
			})
			return v, err
		})
	})
	return v, of(r, err)
}

// Open returns the content of a reference, from the cache if possible. The content of a reference
// with a digest or commit may have any origin; see [Provenance]. The errors are those of
// [Session.Resolve].
func (s *Session) Open(ctx context.Context, r reference.Reference, from Origin) (*Content, error) {
	if err := s.allow(r, from); err != nil {
		return nil, err
	}
	key := key(r, from)
	var v reference.Version
	if r.Scheme == reference.Git || r.Scheme == reference.OCI {
		var err error
		if v, err = s.Resolve(ctx, r, from); err != nil {
			return nil, err
		}
		key += "\n" + v.String()
	}
	c, err := s.contents.Do(ctx, key, func() (*Content, error) {
		switch r.Scheme {
		case reference.Git:
			return s.openGit(ctx, r, v, from)
		case reference.OCI:
			return s.openOCI(ctx, r, v, from)
		case reference.Helm:
			return s.openChart(ctx, r, from)
		}
		return s.openHTTPS(ctx, r, from)
	})
	if err != nil {
		return nil, of(r, err)
	}
	return c.at(r)
}

// location returns the canonical location of r. Repositories on github.com have the same content
// with and without .git.
func location(r reference.Reference) string {
	if strings.HasPrefix(r.Location, "https://github.com/") && r.Scheme == reference.Git {
		return strings.TrimSuffix(r.Location, ".git")
	}
	return r.Location
}

// key returns the key of the fetched content of r. It does not depend on the path in a tree, so
// that all references to a repository share one fetch.
func key(r reference.Reference, from Origin) string {
	if r.Scheme == reference.Helm {
		return fmt.Sprintf("%d %q %q %q %s", from, r.Location, r.Path, r.Ref, r.Pin)
	}
	return fmt.Sprintf("%d %s %s %s %t %s %t %t", from, r.Scheme, location(r), r.Pin, r.Archive, r.Form, r.Either, r.Direct)
}

// fetch runs a function that fetches r; see bounded.
func (s *Session) fetch(ctx context.Context, r reference.Reference, run func(context.Context) error) error {
	return s.bounded(ctx, r, Started, run)
}

// bounded runs a function that uses the network. It waits for a free slot, sets the timeout and
// reports progress.
func (s *Session) bounded(ctx context.Context, r reference.Reference, begin State, run func(context.Context) error) error {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.take(0); err != nil {
		return wrap(r, err)
	}
	limit := cmp.Or(r.Timeout, s.opt.Timeout)
	limited, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	start := time.Now()
	s.tell(Event{Reference: r.String(), State: begin})
	err := run(limited)
	if err != nil && errors.Is(context.Cause(limited), errTimeout) {
		err = notFetched(r, errTimeout, "the fetch took longer than %s",
			limit).With(diag.FetchTimeout).Hint("--fetch-timeout sets how long it may take")
	} else if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.tell(Event{Reference: r.String(), State: Failed, Err: err, Took: time.Since(start)})
		return err
	}
	s.tell(Event{Reference: r.String(), State: Done, Took: time.Since(start)})
	return nil
}

func (s *Session) tell(e Event) {
	if s.opt.Progress == nil {
		return
	}
	s.report.Lock()
	defer s.report.Unlock()
	s.opt.Progress(e)
}

// Unpack returns the files of an archive; see [archive.Unpack]. The limits are [Options].MaxTree.
func (s *Session) Unpack(data []byte) (*cache.Tree, error) {
	return archive.Unpack(s.opt.Cache, s.opt.MaxTree, data)
}
