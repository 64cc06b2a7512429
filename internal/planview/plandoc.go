// Package planview writes the forms of a plan: text for people, a JSON document for programs,
// and the differences between a plan and an earlier document.
package planview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
)

// Version is the apiVersion of the JSON form of a plan. Adding a field does not change the
// version; within a version, fields are never renamed and never change their meaning.
const Version = "krmflow.dev/v1alpha1"

// Form returns the type whose JSON encoding is the form of a plan, for code that documents the
// form.
func Form() reflect.Type { return reflect.TypeFor[Document]() }

// WriteJSON writes a plan as one JSON document. made is nil if nothing has run. The output is
// deterministic, except for the state of the cache.
func WriteJSON(w io.Writer, p *planner.Plan, made *Preview) error { return New(p, made).Write(w) }

// Write writes the document as JSON.
func (d *Document) Write(w io.Writer) error {
	// The writer escapes control characters in the way JSON does, so the document stays the same
	// even on a terminal.
	enc := json.NewEncoder(diag.SanitisingWriter(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// Read parses a document that [WriteJSON] wrote. It returns an error if data is not a plan or
// has a different version.
func Read(data []byte) (*Document, error) {
	d := &Document{}
	if err := json.Unmarshal(data, d); err != nil || d.Kind != "Plan" {
		return nil, errors.New("not a plan: write one with plan -o json")
	}
	if d.APIVersion != Version {
		return nil, fmt.Errorf("the plan has version %q, this krmflow has %s", d.APIVersion, Version)
	}
	return d, nil
}

// New returns the document of a plan. made is nil if nothing has run.
func New(p *planner.Plan, made *Preview) *Document {
	return newDocument(p, made, func(name string) string { return name })
}

// NewAs returns the document of a plan after text replacements. oldnew has the form of the
// arguments of [strings.NewReplacer] and is modified. It is used to replace the path prefixes of
// a checkout, so that its plan can be compared with the plan of a different checkout of the same
// files.
func NewAs(p *planner.Plan, made *Preview, oldnew ...string) (*Document, error) {
	for i, text := range oldnew {
		quoted, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		oldnew[i] = string(quoted[1 : len(quoted)-1])
	}
	as := strings.NewReplacer(oldnew...)
	doc := newDocument(p, made, as.Replace)
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	d := &Document{secret: doc.secret}
	return d, json.Unmarshal([]byte(as.Replace(string(text))), d)
}

// newDocument returns the document of a plan. as renames the files that salt the digest of
// Secret values.
func newDocument(p *planner.Plan, made *Preview, as func(string) string) *Document {
	doc := &Document{APIVersion: Version, Kind: "Plan", Roots: []Root{}, Nodes: []Node{}, Layers: []Layer{}, Files: []File{}}
	for _, f := range p.Fetched() {
		doc.Fetched = append(doc.Fetched, Fetched{f.Reference, f.Version, f.Pinned})
	}
	for _, t := range p.Catalogs {
		doc.Catalogs = append(doc.Catalogs, Catalog{t.Asked().String(), t.Catalog.Digest.String(), t.By, t.Signed})
	}
	doc.addRoots(p, made)
	if made != nil && made.Against != "" {
		doc.Against = &Against{Folder: made.Against}
		if !made.Elsewhere.none() {
			doc.Against.Others = &made.Elsewhere
		}
	}
	for i, n := range p.Graph.Nodes {
		d := Node{ID: n.ID, Verb: n.Op.Verb(), Summary: n.Summary, Layer: n.Layer, Origin: originDocOf(n.Origin)}
		if d.Changes = originDocsOf(n.Changes); n.Item != nil {
			d.Item, d.Changes = &Item{n.Item.Kind, n.Item.Name, n.Item.Place, n.Item.Of, d.Changes}, nil
		}
		for _, in := range n.Inputs {
			d.Inputs = append(d.Inputs, p.Graph.Nodes[in].ID)
		}
		for _, id := range n.After {
			d.After = append(d.After, p.Graph.Nodes[id].ID)
		}
		if call, ok := n.Op.(graph.Call); ok {
			dec := p.Decisions[n.ID]
			d.Function = functionDocOf(call, dec)
			d.Function.Cache = made.cache(n, dec)
		}
		d.Since = made.step(i)
		doc.Nodes = append(doc.Nodes, d)
	}
	for _, l := range p.Layers().All() {
		d := Layer{File: l.File, Kind: l.Kind, Files: l.Files, Roots: l.Roots}
		for _, u := range l.Uses {
			d.Uses = append(d.Uses, Use(u))
		}
		doc.Layers = append(doc.Layers, d)
	}
	for _, f := range p.Files() {
		if isSecret(p, f) {
			doc.Files = append(doc.Files, File{Path: f.File, Secret: true})
		} else {
			doc.Files = append(doc.Files, File{Path: f.File, Digest: krm.Digest(f.Digest()).String()})
		}
	}
	doc.Secrets, doc.secret = secrets(p, as)
	for _, x := range p.Warnings {
		doc.Warnings = append(doc.Warnings, Message{x.Pos.File, x.Pos.Line, x.Field, x.Msg, x.Hints})
	}
	return doc
}

// addRoots adds the roots, with their output as far as it is known, and the failed roots with
// their errors.
func (doc *Document) addRoots(p *planner.Plan, made *Preview) {
	for i, r := range rootsOf(p, made) {
		if len(r.failed) > 0 {
			d := Failed{Dir: r.dir}
			for _, err := range r.failed {
				at := mistake(err)
				d.Errors = append(d.Errors, Message{at.Pos.File, at.Pos.Line, at.Field, at.Msg, at.Hints})
			}
			doc.Failed = append(doc.Failed, d)
		}
		if i >= len(p.Graph.Roots) {
			continue // not in the graph: it could not be planned
		}
		d := Root{Dir: r.dir, Node: p.Graph.Nodes[p.Graph.Roots[i].Node].ID, After: p.After[r.dir], Files: r.files(),
			Steps: countDocs(r.steps()), Warnings: r.warnings}
		for _, l := range r.layers {
			d.Layers = append(d.Layers, l.File)
		}
		if r.out != nil {
			d.Known, d.Resources, d.Objects, d.Changes = true, countDocs(r.out.Kinds), r.out.Objects, r.out.Changes
		} else {
			for _, n := range r.calls {
				d.Waits = append(d.Waits, n.ID)
			}
		}
		doc.Roots = append(doc.Roots, d)
	}
}

// mistake returns an error with its location.
func mistake(err error) *diag.Error {
	if placed, ok := err.(interface{ At() *diag.Error }); ok {
		return placed.At()
	}
	return diag.AsError(err)
}

func countDocs(of map[string]int) (docs []Count) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		docs = append(docs, Count{name, of[name]})
	}
	return docs
}

func originDocOf(o graph.Origin) Origin {
	pos := o.Pos()
	return Origin{pos.File, pos.Line, o.Field()}
}

func originDocsOf(list []graph.Origin) (docs []Origin) {
	for _, o := range list {
		docs = append(docs, originDocOf(o))
	}
	return docs
}

// reasonDoc returns the JSON form of a reason, "" for none.
func reasonDoc(r trust.Reason) string {
	if r == 0 {
		return ""
	}
	return r.String()
}

func functionDocOf(call graph.Call, dec *trust.Decision) *Function {
	d := &Function{
		Allowed: dec.Allowed, Runtime: string(dec.Runtime), Source: dec.Source, Args: dec.Args, TrustedBy: dec.By,
		Executor: dec.Executor, Isolation: dec.Isolation, ListVersion: call.Version, Cacheable: dec.NotReused == "",
		Reason: reasonDoc(dec.Worst),
	}
	if c := call.Chart; c != nil {
		d.Chart = &Chart{Name: c.Name, Version: c.Version, Source: c.Source}
		if !c.Digest.IsZero() {
			d.Chart.Digest = c.Digest.String()
		}
	} else if !secretConfig(call) {
		d.Config = krm.DigestOf(call.Function.Config).String()
	}
	d.ConfigFile, d.ConfigLine = call.ConfigPos.File, call.ConfigPos.Line
	if !dec.Digest.IsZero() {
		d.Digest = dec.Digest.String()
	}
	if dec.Entry != nil {
		d.Catalog, d.CatalogDigest, d.Entry = dec.Entry.Catalog.Ref.String(), dec.Entry.Catalog.Digest.String(), dec.Entry.Index+1
	}
	for _, e := range dec.Shadowed {
		d.Shadows = append(d.Shadows, e.String())
	}
	for _, g := range dec.Grants {
		d.Grants = append(d.Grants, Grant{g.Capability, g.By})
	}
	for _, x := range dec.Denials {
		d.Denials = append(d.Denials, x.Err.Error())
	}
	return d
}
