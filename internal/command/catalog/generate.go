package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/trust"
)

// Generate returns catalog entries for the functions that g calls and that no trusted catalog
// lists. It also copies the entries of trusted catalogs that the new one replaces: the catalog
// at file and, with localize, catalogs that were fetched. file is the absolute path of the new
// catalog, without symbolic links. decisions are the trust decisions by the node id of the
// call. The error joins one error for each call that cannot have an entry.
func Generate(g *graph.Graph, decisions map[string]*trust.Decision, file string, localize bool) ([]*catalog.Entry, error) {
	c := generated{file: file, beside: filepath.Dir(file), localize: localize, listed: map[krm.GVK]*catalog.Entry{}}
	for call, n := range g.Calls() {
		c.add(call, decisions[n.ID])
	}
	return c.entries, errors.Join(c.errs...)
}

// generated collects the entries of a catalog.
type generated struct {
	file, beside string
	localize     bool
	listed       map[krm.GVK]*catalog.Entry // used entries of trusted catalogs
	entries      []*catalog.Entry
	at           []diag.Pos // first configuration for each entry
	errs         []error
}

// add adds an entry for a call unless a trusted catalog has one.
func (g *generated) add(call graph.Call, dec *trust.Decision) {
	switch {
	case call.Chart != nil:
		return
	case dec.Entry != nil:
		if err := g.take(dec.Entry, call.ConfigPos); err != nil {
			g.errs = append(g.errs, err)
		}
		return
	}
	if dec.Unpublished != nil {
		err := diag.Errorf(call.ConfigPos, "", "%s: the digest of image %s is not known: %v", call.Function.Name, dec.Source,
			dec.Unpublished)
		g.errs = append(g.errs, err.With(diag.NoDigest))
		return
	}
	e, err := g.entry(call.Function, dec)
	if err != nil {
		g.errs = append(g.errs, err)
		return
	}
	e.GVK = gvkOf(call)
	for i, known := range g.entries {
		if known.GVK == e.GVK {
			if !addNeeds(known, e) {
				err := diag.Errorf(call.ConfigPos, "", "%s runs a different program here than at %s", e.GVK, g.at[i])
				g.errs = append(g.errs, err.Hint("a catalog has one function for each apiVersion and kind: give one of them another kind"))
			}
			return
		}
	}
	g.entries, g.at = append(g.entries, e), append(g.at, call.ConfigPos)
}

// take copies the entry that a call uses from a trusted catalog, once, if the new catalog
// replaces that catalog. The new catalog applies to all layers, so two calls must not use
// different entries for the same kind.
func (g *generated) take(e *catalog.Entry, at diag.Pos) error {
	ref := e.Catalog.Ref
	known := g.listed[e.GVK]
	switch {
	case known != nil && g.localize && !e.SameProgram(known):
		return diag.Errorf(at, "", "%s is %s here, and %s elsewhere", e.GVK,
			e, known).Hint("a catalog has one function for each apiVersion and kind: name the same catalogs in all layers")
	case known != nil:
		return nil
	}
	g.listed[e.GVK] = e
	if !(g.localize && ref.Fetched()) && (ref.Remote() || ref.Location != g.file) {
		return nil
	}
	if err := pinned(e); ref.Fetched() && err != nil {
		return diag.Errorf(at, "", "%s: %s cannot be copied: %w", e.GVK, e, err)
	}
	own := *e
	g.entries, g.at = append(g.entries, &own), append(g.at, at)
	return nil
}

// pinned returns an error unless every program and image of an entry has a digest and can be
// reached from a different catalog. The copied entry of a remote catalog must not contain a
// path.
func pinned(e *catalog.Entry) error {
	if e.Container != nil {
		if d, err := e.Container.Digest(); err != nil || d.IsZero() {
			return cmp.Or(err, fmt.Errorf("its image %s has no digest", e.Container.Text))
		}
	}
	for _, p := range e.Exec {
		ref, err := catalog.ParseRef(p.URI)
		switch {
		case !catalog.IsAddress(p.URI), err == nil && ref.OfMachine():
			return fmt.Errorf("the catalog is remote, and its program %s is a path", diag.Redact(p.URI))
		case err != nil:
			return err
		case p.Pin.Err() != nil:
			return p.Pin.Err()
		case p.Pin.Digest.IsZero() && (ref.Scheme != catalog.OCI || ref.Pin.IsZero()):
			return fmt.Errorf("its program %s has no digest", ref.Show())
		}
	}
	return nil
}

// addNeeds merges the permissions of o into e and reports whether both run the same program.
func addNeeds(e, o *catalog.Entry) bool {
	if (e.Container == nil) != (o.Container == nil) {
		return false
	}
	if e.Container == nil {
		e.AllowArgs = e.AllowArgs || o.AllowArgs
		return e.Exec[0] == o.Exec[0] && e.ExecRuntime == o.ExecRuntime
	}
	a, b := e.Container, o.Container
	a.Network, a.Storage, a.WritableStorage = a.Network || b.Network, a.Storage || b.Storage, a.WritableStorage || b.WritableStorage
	return a.Text == b.Text && a.Pin == b.Pin
}

// entry returns an entry for the program of a configuration. Denials that a flag can lift are
// ignored for containers, because the planner did not know the allowed mounts.
func (g *generated) entry(f function.Function, dec *trust.Decision) (*catalog.Entry, error) {
	for _, denial := range dec.Denials {
		if len(denial.Allow) == 0 || dec.Inline == nil || dec.Inline.Container == nil {
			return nil, denial.Err
		}
	}
	if in := dec.Inline.Container; in != nil {
		c := &catalog.Container{Text: in.Image, Network: in.Network != nil && *in.Network, Storage: len(in.Mounts) > 0}
		for _, m := range in.Mounts {
			c.WritableStorage = c.WritableStorage || m.Writable
		}
		c.Pin = catalog.Pin{Given: !dec.Digest.IsZero(), Digest: dec.Digest}
		return &catalog.Entry{Container: c}, nil
	}
	rel, err := filepath.Rel(g.beside, f.Program)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s: the program %s is outside %s, the folder of the catalog", f.Name, f.Program, g.beside)
	}
	program := catalog.Platform{URI: filepath.ToSlash(rel), Pin: catalog.Pin{Given: true, Digest: f.Digest}}
	return &catalog.Entry{Exec: []catalog.Platform{program}, ExecRuntime: dec.Inline.Exec.Runtime, AllowArgs: len(f.Args) > 0}, nil
}
