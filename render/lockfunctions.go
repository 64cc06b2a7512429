package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/reference"
	"github.com/krmflow/krmflow/trust"
)

// A functionLock compares what the functions of a plan need with a lock. It denies, and allows nothing.
type functionLock struct {
	*Options
	ctx  context.Context
	plan *planner.Plan
	call graph.Call // that is compared, and its node
	node string
	dec  *trust.Decision
}

// lockFunctions compares what the functions of a plan need with the lock, the programs of all platforms, and tells Found about it. Without
// Sources there is nothing to compare.
func (o *Options) lockFunctions(ctx context.Context, plan *planner.Plan) {
	if s := o.Sources; s == nil || len(plan.Decisions) == 0 || s.Lock == nil && !s.Locked && s.Found == nil {
		return
	}
	l := functionLock{Options: o, ctx: ctx, plan: plan}
	l.catalogs()
	for call, n := range plan.Graph.Calls() {
		l.call, l.node, l.dec = call, n.ID, plan.Decisions[n.ID]
		switch e := l.dec.Entry; {
		case e != nil:
			l.entry(e)
		case l.dec.Allowed && l.dec.Inline != nil && l.dec.Inline.Container != nil:
			l.image(l.dec.Inline.Container.Image, krm.Digest{})
		}
	}
}

// catalogs tells about the remote catalogs that were read. Where they come from was compared when they were fetched.
func (l *functionLock) catalogs() {
	for _, t := range l.plan.Catalogs {
		if !t.Ref.Remote() || t.Content != nil {
			continue
		}
		address := t.Asked().Address()
		r, err := reference.Parse(address, reference.Catalog)
		if err != nil {
			continue // it was fetched
		}
		serial, _ := t.Catalog.Serial() // which was read before
		e := lock.Entry{Name: nameWithPath(r), Kind: lock.Catalog, Digest: t.Digest, Serial: uint64(serial)}
		if r.Scheme == reference.Git {
			e.Digest, e.Commit = krm.Digest{}, l.commit(address)
		}
		l.compare(e)
	}
}

// commit returns the commit that was fetched for an address.
func (l *functionLock) commit(address string) string {
	for _, f := range l.plan.Fetched() {
		if f.Reference == diag.Redact(address) {
			return f.Version
		}
	}
	return ""
}

// entry compares what an entry of a catalog can run.
func (l *functionLock) entry(e *catalog.Entry) {
	if e.Container != nil {
		if pin, err := e.Container.Digest(); err == nil { // else it is denied
			l.image(e.Container.Text, pin)
		}
	}
	for _, p := range e.Exec {
		l.program(p)
	}
}

// program compares a program at an address, unless nothing says what it is and it is for another platform: it is not fetched then, but
// to make a lock.
func (l *functionLock) program(p catalog.Platform) {
	ref, err := catalog.ParseRef(p.URI)
	if err != nil || !catalog.IsAddress(p.URI) || p.Pin.Err() != nil {
		return // it lies beside the catalog, or could not run
	}
	pin := p.Pin.Digest
	if !p.Pin.Given {
		pin = ref.Pin
	}
	r, err := reference.Parse(ref.Address(), reference.Blob)
	if err != nil {
		return
	}
	e := lock.Entry{Name: nameWithPath(r), Kind: lock.Program, Digest: pin}
	if member := path.Clean(p.Bin); p.Bin != "" && (r.Scheme == reference.OCI || isArchive(r.Location)) {
		e.Name += "//" + member
	}
	switch own := l.dec.Function.URI == ref.Address(); {
	case !pin.IsZero():
		l.compare(e)
		return
	case own:
		e.Digest = l.dec.Digest
	case l.Sources.Learns && l.dec.Allowed:
		if e.Digest, err = loaders.NewLocal(l.ctx, loaders.Config{Unrestricted: true, Fetch: l.Plan.Fetch}).FetchProgram(ref.Address()); err != nil {
			l.deny(trust.Invalid, err)
			return
		}
	default:
		return
	}
	l.compareMutable(e)
}

func isArchive(location string) bool {
	location, _, _ = strings.Cut(location, "?")
	return slices.ContainsFunc([]string{".tar", ".tar.gz", ".tar.xz", ".tar.zst", ".tgz", ".txz", ".tzst", ".zip"}, func(end string) bool { return strings.HasSuffix(location, end) })
}

// image compares an image, which has the digest pin if that is not zero. Which one a tag stands for on this machine is what counts; to make
// a lock, the registry is asked if there is none.
func (l *functionLock) image(text string, pin krm.Digest) {
	m, err := function.ParseImage(text)
	if err != nil || m.Registry == "localhost" {
		return // it exists on this machine alone
	}
	e := lock.Entry{Name: m.String(), Kind: lock.Image, Digest: cmp.Or(pin, m.Digest)}
	runs := l.dec.Allowed && l.dec.Runtime == function.RuntimeContainer
	old, known := l.Sources.Lock.Get(e.Name)
	switch {
	case !e.Digest.IsZero():
		l.compare(e)
		return
	case runs && known && slices.Contains(l.Plan.Functions.Image(text).Digests, old.Digest):
		e.Digest = old.Digest // an index and what is in it have a digest each
	case runs && !l.dec.Digest.IsZero():
		e.Digest = l.dec.Digest
	case l.Sources.Learns && l.dec.Allowed:
		if e.Digest, err = l.sources().imageDigest(l.ctx, m); err != nil {
			l.deny(trust.Invalid, err)
			return
		}
	case runs && known:
		l.differs(old, "there is no such image on this machine to compare: pull it")
		return
	case !runs:
		return
	}
	l.compareMutable(e)
}

// imageDigest asks the registry which digest the tag of an image is on.
func (s Sources) imageDigest(ctx context.Context, m function.Image) (krm.Digest, error) {
	session, end := lazily(s.ordinary)
	defer end()
	in, err := session()
	if err != nil {
		return krm.Digest{}, err
	}
	v, err := in.Resolve(ctx, reference.Reference{Scheme: reference.OCI, Location: m.Registry + "/" + m.Repository, Ref: m.Tag}, remote.FromUser)
	return v.Digest, err
}

// compareMutable is compare for what only the lock says the digest of.
func (l *functionLock) compareMutable(e lock.Entry) {
	if _, known := l.Sources.Lock.Get(e.Name); !known && l.Sources.Locked {
		l.deny(trust.Mismatch, l.Sources.missing(e.Name))
		return
	}
	l.compare(e)
	if l.Sources.Found != nil && !l.Sources.Learns {
		l.Sources.Found(e)
	}
}

// compare denies the function if the lock has another version of what it needs. A new lock gets all that is needed, a run that uses a
// lock needs no entry for what a catalog or the reference itself says.
func (l *functionLock) compare(e lock.Entry) {
	if old, known := l.Sources.Lock.Get(e.Name); known && old.Version() != e.Version() {
		l.differs(old, "it is "+e.Version())
		return
	}
	if l.Sources.Found != nil && (l.Sources.Learns || e.Kind == lock.Catalog) {
		l.Sources.Found(e)
	}
}

func (l *functionLock) differs(e lock.Entry, how string) { l.deny(trust.Mismatch, differs(e, how)) }

// deny denies the function that is compared. The same is said once.
func (l *functionLock) deny(why trust.Reason, err error) {
	if l.dec != nil {
		text, hints := diag.Parts(err)
		at := diag.Errorf(l.call.ConfigPos, "", "%s: %s", l.name(), text)
		at.Hints, at.Err = hints, errors.Unwrap(err)
		err = at
	}
	l.plan.Denied = append(l.plan.Denied, planner.Denial{Node: l.node, Err: err, Reason: why})
}

func (l *functionLock) name() string {
	id := krm.ParseGVK(l.call.Config.Get("apiVersion").Text(), l.call.Config.Get("kind").Text())
	return diag.OneLine(fmt.Sprintf("%s/%s", id, l.call.Config.Get("metadata").Get("name").Text()))
}
