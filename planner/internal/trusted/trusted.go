// Package trusted manages the catalogs that the user trusts. It reads them when their content is
// first needed, applies the policy to them, and sorts them into the search order of a layer.
package trusted

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/reference"
	"github.com/krmflow/krmflow/trust"
)

// Catalogs are the catalogs that the user trusts, without duplicates. They must not be used
// concurrently.
type Catalogs struct {
	Config
	list []trust.Trusted // nil until the first request
	read bool
	// repositories caches the repositories of directories.
	repositories map[string]string
	// mispinned are the denials of catalogs that do not match a layer's pin.
	mispinned map[string]*trust.Denial
}

// Config lists the trusted catalogs, and the policy for them.
type Config struct {
	// Sources are the catalogs, in search order. Relative paths start at Cwd.
	Sources []trust.Source
	// Publishers are the publishers whose signatures are accepted.
	Publishers []trust.Publisher
	Cwd        string
	Policy     trust.Policy
	Files      *loaders.Local
	// Rendered returns the rendered directories known so far, without symbolic links.
	Rendered func() []string
	Warnings *report.Warnings
	// Deny records that a catalog must not be used, so that nothing may run. It may be called
	// with the same error several times.
	Deny func(error, trust.Reason)
}

// New returns the catalogs of config. It reads nothing.
func New(config Config) *Catalogs {
	return &Catalogs{Config: config, repositories: map[string]string{}, mispinned: map[string]*trust.Denial{}}
}

// all returns the trusted catalogs. Their content is read when the first function needs it: see
// [Catalogs.Read].
func (c *Catalogs) all() []trust.Trusted {
	if c.list == nil {
		c.list = []trust.Trusted{}
		for _, s := range c.Sources {
			if !s.Below {
				c.add(c.trusted(s))
			}
		}
	}
	return c.list
}

// add adds a catalog unless it is a duplicate. A flag takes precedence over the user's
// configuration of the same catalog.
func (c *Catalogs) add(t trust.Trusted) {
	for _, o := range c.list {
		place := t.Err == nil && t.Denial == nil && o.Ref.SamePlace(t.Ref)
		if place && (o.Ref.Pin == t.Ref.Pin && o.Path == t.Path || t.By == trust.ByConfig) {
			return
		}
	}
	c.list = append(c.list, t)
}

// Loaded returns the catalogs that were read.
func (c *Catalogs) Loaded() (list []trust.Trusted) {
	for _, t := range c.list {
		if t.Catalog != nil {
			list = append(list, t)
		}
	}
	return list
}

// Search returns the trusted catalogs in the search order of a layer that lists catalogs, and the
// listed catalogs that are not trusted. Catalogs named by a layer affect the order, never trust.
// A pin of the layer can refuse a catalog.
func (c *Catalogs) Search(listed []catalog.Listed) (search []trust.Trusted, named []trust.Named) {
	c.all()
	refs := make([]catalog.Ref, len(listed))
	for i, l := range listed {
		refs[i] = c.place(l)
	}
	trusted := c.list
	taken := make([]bool, len(trusted))
	for j, t := range trusted {
		if t.By == trust.ByBuiltIn {
			taken[j] = true
			search = append(search, t)
		}
	}
	for i, l := range listed {
		ref, found := refs[i], false
		if ref.Location == "" {
			continue // reported when the layer was compiled
		}
		for j, t := range trusted {
			if t.Is(ref) {
				found = true
				if !taken[j] {
					taken[j] = true
					search = append(search, c.pinned(t, ref.Shown(l.Text), l))
				}
			}
		}
		if !found {
			named = append(named, trust.Named{
				Ref: ref.Shown(l.Text), Pos: l.Source.Locate(0, l.Path...), Flag: c.flag(ref),
				Fetched: !ref.Remote() && c.Files.IsFetched(l.Source),
			})
		}
	}
	for j, t := range trusted {
		if !taken[j] {
			search = append(search, t)
		}
	}
	return search, named
}

// Has reports whether a trusted catalog has, or may have, a function for configurations of a
// kind. Kubernetes' own kinds do not configure functions.
func (c *Catalogs) Has(kind krm.GVK) bool {
	if len(c.all()) == 0 || schema.KnowsScope(schema.Kind(kind)) {
		return false
	}
	c.Read()
	search, _ := c.Search(nil)
	catalogs := trust.Readable(search)
	if len(catalogs) < len(search) {
		return true // the decision about the function reports the unreadable catalog
	}
	return catalog.Search(kind, catalogs).Entry != nil
}

// flag returns the value of the flag that trusts a catalog named by a layer. The pin of the layer
// is left out, so that a user who copies the flag trusts the content at the address, not other
// content with this digest. An artifact keeps its digest, which may be its only name.
func (c *Catalogs) flag(ref catalog.Ref) string {
	if ref.Remote() && ref.Scheme != catalog.OCI {
		ref.Pin = krm.Digest{}
	}
	return ref.Shown(catalog.PathText(c.Files.Name(ref.Location))).String()
}

// place returns the reference of a catalog that a layer lists, empty if it is invalid. If the
// user trusts its place, the catalog is trusted from now on, unless the layer was fetched: its
// author must not choose trusted catalogs. An entry of the user for a single catalog takes
// precedence over a place.
func (c *Catalogs) place(l catalog.Listed) catalog.Ref {
	ref, err := catalog.ParseRef(l.Text)
	if err != nil {
		return catalog.Ref{}
	}
	ref = ref.In(l.Dir)
	// The layer is in a fetched repository.
	if beside, err := catalog.ParseRef(c.Files.Address(ref.Location)); err == nil {
		beside.Pin = ref.Pin
		ref = beside
	}
	path := ref.Location
	if !ref.Remote() {
		if real, err := loaders.Real(path); err == nil {
			ref = ref.At(real)
		}
	}
	known := slices.ContainsFunc(c.list, func(t trust.Trusted) bool { return t.Is(ref) || !t.Named && t.Ref.SamePlace(ref) })
	if by := c.covers(ref); by != "" && !known && !c.Files.IsFetched(l.Source) {
		t := trust.Trusted{Ref: ref.Shown(ref.Location), Path: path, By: by, Named: true, LayerPin: trust.LayerPin(ref.Pin)}
		t.Ref.Pin = krm.Digest{}
		c.list = append(c.list, t)
		if c.read {
			c.load(&c.list[len(c.list)-1])
		}
	}
	return ref
}

// covers returns the source of the trust in a catalog's place, "" if the place is not trusted.
func (c *Catalogs) covers(ref catalog.Ref) string {
	for _, s := range c.Sources {
		if !s.Below {
			continue
		}
		if place, err := catalog.ParsePlace(s.Ref); err == nil && ref.Below(place) && isFetchedAs(ref) {
			return s.By
		}
	}
	if c.publisher(ref) != nil {
		return trust.ByConfig
	}
	return ""
}

// isFetchedAs reports whether a catalog is fetched in the way that its reference suggests. Some
// hosts have repositories at addresses that look like addresses of files. There, a parameter
// would choose a commit, and anyone who can open a pull request can create commits.
func isFetchedAs(ref catalog.Ref) bool {
	if !ref.Remote() {
		return true
	}
	r, err := reference.Parse(ref.Address(), reference.Published)
	switch {
	case err != nil || r.Archive:
		return false
	case r.Scheme == reference.Git:
		end := "//" + r.Path
		if r.Ref != "" {
			end += "?ref=" + r.Ref
		}
		return ref.Scheme == catalog.Git && strings.HasSuffix(ref.Location, end)
	case r.Scheme == reference.OCI:
		return ref.Scheme == catalog.OCI
	}
	return ref.Scheme == catalog.HTTPS || ref.Scheme == catalog.HTTP
}

// pinned returns a trusted catalog, denied if it does not match the pin in an entry of a catalogs
// field.
func (c *Catalogs) pinned(t trust.Trusted, ref catalog.Ref, at catalog.Listed) trust.Trusted {
	if ref.Pin.IsZero() || t.Catalog == nil || t.Digest == ref.Pin {
		return t
	}
	denial := trust.Mispinned(ref, t.Digest)
	denial.Err.Pos, denial.Err.Field = at.Source.Locate(0, at.Path...), at.Source.Field(at.Path)
	text := denial.Err.Error()
	if c.mispinned[text] == nil {
		c.mispinned[text] = denial // one denial for all functions of the layer
	}
	t.Catalog, t.Denial = nil, c.mispinned[text]
	return t
}
