package catalogs

import (
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

// Generate returns the entries of a catalog, which lies in the folder beside, of the functions that g calls and no trusted catalog lists.
// The decisions are those about the calls, by the id of their node. The error joins one for each call that cannot have an entry.
func Generate(g *graph.Graph, decisions map[string]*trust.Decision, beside string) ([]*catalog.Entry, error) {
	c := generated{beside: beside}
	for call, n := range g.Calls() {
		c.add(call, decisions[n.ID])
	}
	return c.entries, errors.Join(c.errs...)
}

// generated collects the entries of a catalog that lies in the folder beside.
type generated struct {
	beside  string
	entries []*catalog.Entry
	at      []diag.Pos // of the first configuration of each
	errs    []error
}

// add makes an entry of a call, unless a trusted catalog has one.
func (g *generated) add(call graph.Call, dec *trust.Decision) {
	if dec.Entry != nil || call.Chart != nil {
		return
	}
	e, err := g.entry(call.Function, dec)
	if err != nil {
		g.errs = append(g.errs, err)
		return
	}
	e.GVK = krm.ParseGVK(call.Config.Get("apiVersion").Text(), call.Config.Get("kind").Text())
	for i, known := range g.entries {
		if known.GVK == e.GVK {
			if !addNeeds(known, e) {
				err := diag.Errorf(call.ConfigPos, "", "%s runs something else here than at %s", e.GVK, g.at[i])
				g.errs = append(g.errs, err.Hint("a catalog has one function for each apiVersion and kind: give one of them another kind"))
			}
			return
		}
	}
	g.entries, g.at = append(g.entries, e), append(g.at, call.ConfigPos)
}

// addNeeds adds what o needs to e and reports whether both run the same.
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

// entry returns an entry with what runs for a configuration. What a flag can allow is no mistake in a container: the planner was not told
// which mounts there are.
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
		return nil, fmt.Errorf("%s: the program %s is outside %s, where the catalog lies", f.Name, f.Program, g.beside)
	}
	program := catalog.Platform{URI: filepath.ToSlash(rel), Pin: catalog.Pin{Given: true, Digest: f.Digest}}
	return &catalog.Entry{Exec: []catalog.Platform{program}, ExecRuntime: dec.Inline.Exec.Runtime, AllowArgs: len(f.Args) > 0}, nil
}
