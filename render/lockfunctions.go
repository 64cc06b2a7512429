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

// A functionLock compares the dependencies of a plan's functions with a lock. It can deny
// functions, never allow them.
type functionLock struct {
	*Options
	ctx  context.Context
	plan *planner.Plan
	call graph.Call // the current call, its node and its decision
	node string
	dec  *trust.Decision
}

// lockFunctions compares the dependencies of a plan's functions, including the programs of all
// platforms, with the lock, and reports them to Found. Without Sources it does nothing.
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

// catalogs reports the remote catalogs that were read. Their source was compared when they were
// fetched.
func (l *functionLock) catalogs() {
	for _, t := range l.plan.Catalogs {
		if !t.Ref.Remote() || t.Content != nil {
			continue
		}
		address := t.Asked().Address()
		r, err := reference.Parse(address, reference.Catalog)
		if err != nil {
			continue // cannot happen: the catalog was fetched from it
		}
		serial, _ := t.Catalog.Serial() // cannot fail: the serial was parsed before
		e := lock.Entry{Name: nameWithPath(r), Kind: lock.Catalog, Digest: t.Digest, Serial: uint64(serial)}
		if r.Scheme == reference.Git {
			e.Digest, e.Commit = krm.Digest{}, l.commit(address)
		}
		l.compare(e)
	}
}

// commit returns the fetched commit of an address.
func (l *functionLock) commit(address string) string {
	for _, f := range l.plan.Fetched() {
		if f.Reference == diag.Redact(address) {
			return f.Version
		}
	}
	return ""
}

// entry compares the image and programs of a catalog entry.
func (l *functionLock) entry(e *catalog.Entry) {
	if e.Container != nil {
		if pin, err := e.Container.Digest(); err == nil { // otherwise the function is denied
			l.image(e.Container.Text, pin)
		}
	}
	for _, p := range e.Exec {
		l.program(p)
	}
}

// program compares a program with an address. It skips a program for a different platform that
// has no digest: such a program is fetched only to make a lock.
func (l *functionLock) program(p catalog.Platform) {
	ref, err := catalog.ParseRef(p.URI)
	if err != nil || !catalog.IsAddress(p.URI) || p.Pin.Err() != nil {
		return // a file next to the catalog, or a program that cannot run
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
		if e.Digest, err = loaders.NewLocal(l.ctx,
			loaders.Config{Unrestricted: true, Fetch: l.Plan.Fetch}).FetchProgram(ref.Address()); err != nil {
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
	return slices.ContainsFunc([]string{".tar", ".tar.gz", ".tar.xz", ".tar.zst", ".tgz", ".txz", ".tzst", ".zip"},
		func(end string) bool { return strings.HasSuffix(location, end) })
}

// image compares an image, which has the digest pin if that is not zero. For a tag, the digest of
// the local image applies. To make a lock, the registry is asked if the image is missing locally.
func (l *functionLock) image(text string, pin krm.Digest) {
	m, err := function.ParseImage(text)
	if err != nil || m.Registry == "localhost" {
		return // the image exists only on this machine
	}
	e := lock.Entry{Name: m.String(), Kind: lock.Image, Digest: cmp.Or(pin, m.Digest)}
	runs := l.dec.Allowed && l.dec.Runtime == function.RuntimeContainer
	old, known := l.Sources.Lock.Get(e.Name)
	switch {
	case !e.Digest.IsZero():
		l.compare(e)
		return
	case runs && known && slices.Contains(l.Plan.Functions.Image(text).Digests, old.Digest):
		e.Digest = old.Digest // an index and the images in it have different digests
	case runs && !l.dec.Digest.IsZero():
		e.Digest = l.dec.Digest
	case l.Sources.Learns && l.dec.Allowed:
		if e.Digest, err = l.sources().imageDigest(l.ctx, m); err != nil {
			l.deny(trust.Invalid, err)
			return
		}
	case runs && known:
		l.differs(old, "the image is not on this machine: pull it to compare it")
		return
	case !runs:
		return
	}
	l.compareMutable(e)
}

// imageDigest asks the registry for the digest of an image's tag.
func (s Sources) imageDigest(ctx context.Context, m function.Image) (krm.Digest, error) {
	session, end := lazily(s.ordinary)
	defer end()
	in, err := session()
	if err != nil {
		return krm.Digest{}, err
	}
	v, err := in.Resolve(ctx, reference.Reference{Scheme: reference.OCI, Location: m.Registry + "/" + m.Repository, Ref: m.Tag},
		remote.FromUser)
	return v.Digest, err
}

// compareMutable is compare for an entry whose digest is recorded only in the lock.
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

// compare denies the function if the lock has a different version of e. With Learns, every entry
// is reported to Found. Otherwise only catalogs are, because an entry is not required if a
// catalog or the reference itself fixes the version.
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

// deny denies the function being compared. [DeniedError.Unwrap] removes duplicates.
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
