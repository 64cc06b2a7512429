// Package remote fetches what a tree refers to over a network: files and archives by https, repositories by git, artifacts of
// registries.
//
// A [Session] is one run: [Session.Resolve] asks which commit or digest a [reference.Reference] stands for, and [Session.Open]
// returns the content, as a read-only tree or as bytes. Each is asked for once per run, however many ask, so that one run never sees
// two versions of anything. What is named by a commit or a digest and is in the cache needs no network.
//
// Where a reference stands decides what it may do: see [Origin].
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

// An Origin says where a reference stands. It decides what the reference may reach.
type Origin int

// The origins.
const (
	// FromUser is for references in files of this machine and on the command line. They may name any host, and repositories
	// of this machine; git and registries get the credentials that the user has configured.
	FromUser Origin = iota
	// FromFetched is for references in something that was fetched itself. They may name public hosts over https: no address of this
	// machine or its networks, no file, and nothing is sent that the user has configured.
	FromFetched
)

// Options are those of a run. The zero value of a limit stands for its default.
type Options struct {
	// Cache holds what is fetched. It is needed.
	Cache *cache.Cache
	// Offline makes everything an [OfflineError] that the cache does not have.
	Offline bool
	// Timeout bounds one fetch, unless the reference has a timeout of its own. The default is 30 s.
	Timeout time.Duration
	// MaxBytes bounds a file, an archive or an artifact as it is sent. The default is 64 MiB.
	MaxBytes int64
	// Total counts for several sessions, which bring 64 times as much as MaxBytes together at most. Without it, a session counts by itself.
	Total *Total
	// MaxTree bounds a repository or an archive when it is unpacked.
	MaxTree cache.Limits
	// Parallel is how many fetches there are at the same time. The default is 8.
	Parallel int
	// Memory has what references without a version of their own stood for in earlier sessions of this process, and may be nil.
	Memory *Memory
	// AllowHTTP lets the user's references use http without a digest.
	AllowHTTP bool
	// Progress is told what is fetched, and may be nil. It is called by one goroutine at a time.
	Progress func(Event)
	// Transport sends requests, nil for one that is made for it. It is for tests, which have an authority of their own.
	Transport *http.Transport
}

// A Memory has what branches, tags and addresses stood for in the sessions of one process. The zero Memory is empty.
type Memory = flight.Memory[reference.Version]

// An Event tells about one fetch.
type Event struct {
	// Reference is what is fetched, without credentials.
	Reference string
	// State says how far it is. It begins with Asking, Started or Sending, and ends with Done or Failed.
	State State
	// Attempt is the number of a retry, from 1, and Wait how long it waits before.
	Attempt int
	Wait    time.Duration
	// Took is how long a fetch took that is done.
	Took time.Duration
	// Err is why it failed.
	Err error
}

// A State is one of a fetch.
type State string

// The states.
const (
	Asking   State = "asking" // which version a reference stands for
	Started  State = "started"
	Sending  State = "sending"
	Retrying State = "retrying"
	Done     State = "done"
	Failed   State = "failed"
)

// A Session fetches for one run. It is safe for concurrent use.
type Session struct {
	opt       Options
	slots     chan struct{}
	versions  flight.Group[reference.Version]
	contents  flight.Group[*Content]
	charts    flight.Group[krm.Digest] // of registries
	tags      flight.Group[[]string]
	histories flight.Group[[]string]
	published flight.Group[*Content]
	report    sync.Mutex
	clients   func() clients
}

// NewSession returns a session. It connects to nothing and starts nothing before something is asked for.
func NewSession(opt Options) *Session {
	opt.Timeout = cmp.Or(opt.Timeout, 30*time.Second)
	opt.MaxBytes = cmp.Or(opt.MaxBytes, 64<<20)
	opt.Parallel = cmp.Or(opt.Parallel, 8)
	opt.Total = cmp.Or(opt.Total, &Total{})
	s := &Session{opt: opt, slots: make(chan struct{}, opt.Parallel)}
	s.clients = sync.OnceValue(func() clients { return newClients(opt.Transport) })
	return s
}

// Close releases the connections and files that the session has opened. What was returned can be used further.
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

// Content is what a reference stands for: a tree, or the bytes of one file.
type Content struct {
	// Reference is the one that was opened, with its version: it is not mutable.
	Reference reference.Reference
	Version   reference.Version
	// Provenance is the known origin of the content.
	Provenance Provenance
	// Tree is all of a repository, an archive, or an artifact with several files; nil for a single file. [reference.Reference.Path] is the
	// place in it that is meant.
	Tree *cache.Tree
	// MediaType is that of a single file, as a registry tells.
	MediaType string
	// Signatures are all that there is of a reference of the use [reference.Signatures].
	Signatures []Signature

	data []byte
}

// Bytes returns the file that is meant. The caller must not change it.
func (c *Content) Bytes() ([]byte, error) {
	if c.Tree == nil {
		return c.data, nil
	}
	return c.Tree.ReadFile(cmp.Or(c.Reference.Path, "."))
}

// at returns the content for another path in the same tree.
func (c *Content) at(r reference.Reference) (*Content, error) {
	own := *c
	own.Reference = r.At(c.Version)
	own.Provenance = provenance(r, c.Version)
	if c.Tree == nil && own.Reference.Path != "" {
		return nil, notFetched(r, nil, "it is a single file, and has no %q", own.Reference.Path)
	}
	if c.Tree != nil && own.Reference.Path != "" {
		_, err := c.Tree.Real(own.Reference.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, notFetched(r, err, "there is no %q at %s", own.Reference.Path, c.Version)
		case err != nil:
			return nil, notFetched(r, err, "%s", cause(err))
		}
	}
	return &own, nil
}

// Resolve returns the version that a reference stands for. A branch or a tag is asked for once per run; a file without a digest is
// fetched to know it. The error wraps [ErrRetrieval], [ErrVerification], [ErrRefused] or diag.ErrLimit, or is an [OfflineError].
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

// Open returns the content of a reference, from the cache if it is there. The content of a
// reference with a digest or a commit may have any origin: see [Provenance]. The errors are those
// of [Session.Resolve].
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

// location returns the one of a reference's locations that all have: github.com has each repository with and without .git.
func location(r reference.Reference) string {
	if strings.HasPrefix(r.Location, "https://github.com/") && r.Scheme == reference.Git {
		return strings.TrimSuffix(r.Location, ".git")
	}
	return r.Location
}

// key names what is fetched, whatever path in it is meant.
func key(r reference.Reference, from Origin) string {
	if r.Scheme == reference.Helm {
		return fmt.Sprintf("%d %q %q %q %s", from, r.Location, r.Path, r.Ref, r.Pin)
	}
	return fmt.Sprintf("%d %s %s %s %t %s %t %t", from, r.Scheme, location(r), r.Pin, r.Archive, r.Form, r.Either, r.Direct)
}

// fetch runs what fetches r.
func (s *Session) fetch(ctx context.Context, r reference.Reference, run func(context.Context) error) error {
	return s.bounded(ctx, r, Started, run)
}

// bounded runs what uses the network: when there is a slot for it, for as long as it may take, with what is told about it.
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
		err = notFetched(r, errTimeout, "it took longer than %s", limit).With(diag.FetchTimeout).Hint("--fetch-timeout sets how long it may take")
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

// Unpack returns the files of an archive: see [archive.Unpack]. The limits are [Options].MaxTree.
func (s *Session) Unpack(data []byte) (*cache.Tree, error) {
	return archive.Unpack(s.opt.Cache, s.opt.MaxTree, data)
}
