// Package plandoc has the forms of a plan: a text for people, a JSON document for programs, and how a plan differs from a document that
// was written before.
package plandoc

import (
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
)

// Version is the apiVersion of the JSON form of a plan. A field may be added without a new version; nothing that has
// a version is renamed or changes its meaning.
const Version = "krmflow.dev/v1alpha1"

// Form returns the type that encoding/json makes the JSON form of, for those who describe it.
func Form() reflect.Type { return reflect.TypeFor[planDoc]() }

// The JSON form of a plan, which docs/plan.md documents.
type (
	planDoc struct {
		APIVersion string       `json:"apiVersion"`
		Kind       string       `json:"kind"`
		Roots      []rootDoc    `json:"roots"`
		Catalogs   []catalogDoc `json:"catalogs,omitempty"`
		Fetched    []fetchedDoc `json:"fetched,omitempty"`
		Failed     []failedDoc  `json:"failed,omitempty"`
		Nodes      []nodeDoc    `json:"nodes"`
		Layers     []layerDoc   `json:"layers"`
		Files      []fileDoc    `json:"files"`
		Secrets    string       `json:"secrets,omitempty"`
		Warnings   []messageDoc `json:"warnings,omitempty"`
		Against    *againstDoc  `json:"against,omitempty"`
	}
	againstDoc struct {
		Folder string   `json:"folder"`
		Others *Changes `json:"others,omitempty"` // to files that belong to no root of the plan
	}
	failedDoc struct {
		Dir    string       `json:"dir"`
		Errors []messageDoc `json:"errors"`
	}
	rootDoc struct {
		Dir       string     `json:"dir"`
		Node      string     `json:"node"`
		Layers    []string   `json:"layers,omitempty"`
		Files     []string   `json:"files,omitempty"`
		Steps     []countDoc `json:"steps,omitempty"`     // that change or generate resources, by what configures them
		Resources []countDoc `json:"resources,omitempty"` // by kind
		Known     bool       `json:"known,omitempty"`     // Resources are all that it yields
		Waits     []string   `json:"waits,omitempty"`     // nodes: what it yields is not known before these have run
		Warnings  int        `json:"warnings,omitempty"`
		Changes   *Changes   `json:"changes,omitempty"`
	}
	countDoc struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
	}
	fetchedDoc struct {
		Ref     string `json:"ref"`
		Version string `json:"version"` // a commit or a digest
	}
	catalogDoc struct {
		Ref       string `json:"ref"`
		Digest    string `json:"digest"`
		TrustedBy string `json:"trustedBy"`
		SignedBy  string `json:"signedBy,omitempty"`
	}
	nodeDoc struct {
		ID      string    `json:"id"`
		Verb    string    `json:"verb"`
		Inputs  []string  `json:"inputs,omitempty"`
		After   []string  `json:"after,omitempty"`
		Summary string    `json:"summary,omitempty"`
		Layer   string    `json:"layer"`
		Origin  originDoc `json:"origin"`
		Item    *itemDoc  `json:"item,omitempty"`
		// Changes are the steps that changed the configuration of a node that is no item.
		Changes []originDoc `json:"changes,omitempty"`
		// Since is what of the node has changed since its roots were rendered last: see [Since].
		Since string `json:"since,omitempty"`
		// Function is the decision about the function of a call.
		Function *functionDoc `json:"function,omitempty"`
	}
	// chartDoc is the chart that helm renders in a call.
	chartDoc struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Source  string `json:"source,omitempty"`
		Digest  string `json:"digest,omitempty"`
	}
	// itemDoc is the item of a Composition that a node is made from.
	itemDoc struct {
		Kind    string      `json:"kind"`
		Name    string      `json:"name"`
		Place   int         `json:"place"`
		Of      int         `json:"of"`
		Changes []originDoc `json:"changes,omitempty"`
	}
	functionDoc struct {
		Allowed       bool       `json:"allowed"`
		Runtime       string     `json:"runtime,omitempty"`
		Source        string     `json:"source,omitempty"`
		Digest        string     `json:"digest,omitempty"`
		Args          []string   `json:"args,omitempty"`
		Catalog       string     `json:"catalog,omitempty"`
		CatalogDigest string     `json:"catalogDigest,omitempty"`
		Entry         int        `json:"entry,omitempty"`
		TrustedBy     string     `json:"trustedBy,omitempty"`
		Shadows       []string   `json:"shadows,omitempty"`
		Grants        []grantDoc `json:"grants,omitempty"`
		Executor      string     `json:"executor,omitempty"`
		Isolation     string     `json:"isolation,omitempty"`
		ListVersion   string     `json:"listVersion,omitempty"`
		Cacheable     bool       `json:"cacheable"`
		Cache         string     `json:"cache"`
		Chart         *chartDoc  `json:"chart,omitempty"`
		Config        string     `json:"config,omitempty"`
		ConfigFile    string     `json:"configFile"`
		ConfigLine    int        `json:"configLine,omitempty"`
		Denials       []string   `json:"denials,omitempty"`
		Reason        string     `json:"reason,omitempty"`
	}
	grantDoc struct {
		Capability string `json:"capability"`
		By         string `json:"by"`
	}
	originDoc struct {
		File  string `json:"file"`
		Line  int    `json:"line,omitempty"`
		Field string `json:"field,omitempty"`
	}
	layerDoc struct {
		File  string   `json:"file"`
		Kind  string   `json:"kind"`
		Uses  []useDoc `json:"uses,omitempty"`
		Files []string `json:"files"`
		Roots []string `json:"roots"`
	}
	useDoc struct {
		Field string `json:"field"`
		Layer string `json:"layer"`
	}
	fileDoc struct {
		Path   string `json:"path"`
		Digest string `json:"digest,omitempty"`
		Secret bool   `json:"secret,omitempty"` // Secrets of the plan stands for Digest
	}
	messageDoc struct {
		File    string   `json:"file,omitempty"`
		Line    int      `json:"line,omitempty"`
		Field   string   `json:"field,omitempty"`
		Message string   `json:"message"`
		Hints   []string `json:"hints,omitempty"`
	}
)

// WriteJSON writes a plan as one JSON document. The same tree gives the same bytes, but for what the cache has by now.
// made is nil if nothing has run.
func WriteJSON(w io.Writer, p *planner.Plan, made *Preview) error {
	doc := planDoc{APIVersion: Version, Kind: "Plan", Roots: []rootDoc{}, Nodes: []nodeDoc{}, Layers: []layerDoc{}, Files: []fileDoc{}}
	for _, f := range p.Fetched() {
		doc.Fetched = append(doc.Fetched, fetchedDoc{f.Reference, f.Version})
	}
	for _, t := range p.Catalogs {
		doc.Catalogs = append(doc.Catalogs, catalogDoc{t.Ref.String(), t.Catalog.Digest.String(), t.By, t.Signed})
	}
	doc.addRoots(p, made)
	if made != nil && made.Against != "" {
		doc.Against = &againstDoc{Folder: made.Against}
		if !made.Elsewhere.none() {
			doc.Against.Others = &made.Elsewhere
		}
	}
	for i, n := range p.Graph.Nodes {
		d := nodeDoc{ID: n.ID, Verb: n.Op.Verb(), Summary: n.Summary, Layer: n.Layer, Origin: originDocOf(n.Origin)}
		if d.Changes = originDocsOf(n.Changes); n.Item != nil {
			d.Item, d.Changes = &itemDoc{n.Item.Kind, n.Item.Name, n.Item.Place, n.Item.Of, d.Changes}, nil
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
	for _, l := range p.Layers() {
		d := layerDoc{File: l.File, Kind: l.Kind, Files: l.Files, Roots: l.Roots}
		for _, u := range l.Uses {
			d.Uses = append(d.Uses, useDoc(u))
		}
		doc.Layers = append(doc.Layers, d)
	}
	for _, f := range p.Files() {
		if isSecret(p, f) {
			doc.Files = append(doc.Files, fileDoc{Path: f.File, Secret: true})
		} else {
			doc.Files = append(doc.Files, fileDoc{Path: f.File, Digest: krm.Digest(f.Digest()).String()})
		}
	}
	doc.Secrets = secrets(p)
	for _, x := range p.Warnings {
		doc.Warnings = append(doc.Warnings, messageDoc{x.Pos.File, x.Pos.Line, x.Field, x.Msg, x.Hints})
	}
	// What it escapes is what JSON calls so, too: the document is the same, also on a terminal.
	enc := json.NewEncoder(diag.SanitisingWriter(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// addRoots adds what is known of each root, and what is wrong with it.
func (doc *planDoc) addRoots(p *planner.Plan, made *Preview) {
	for i, r := range rootsOf(p, made) {
		if len(r.failed) > 0 {
			d := failedDoc{Dir: r.dir}
			for _, err := range r.failed {
				at := mistake(err)
				d.Errors = append(d.Errors, messageDoc{at.Pos.File, at.Pos.Line, at.Field, at.Msg, at.Hints})
			}
			doc.Failed = append(doc.Failed, d)
		}
		if i >= len(p.Graph.Roots) {
			continue // it could not be planned
		}
		d := rootDoc{Dir: r.dir, Node: p.Graph.Nodes[p.Graph.Roots[i].Node].ID, Files: r.files(), Steps: countDocs(r.steps()), Warnings: r.warnings}
		for _, l := range r.layers {
			d.Layers = append(d.Layers, l.File)
		}
		if r.out != nil {
			d.Known, d.Resources, d.Changes = true, countDocs(r.out.Kinds), r.out.Changes
		} else {
			for _, n := range r.calls {
				d.Waits = append(d.Waits, n.ID)
			}
		}
		doc.Roots = append(doc.Roots, d)
	}
}

// mistake returns an error at its place.
func mistake(err error) *diag.Error {
	if placed, ok := err.(interface{ At() *diag.Error }); ok {
		return placed.At()
	}
	return diag.AsError(err)
}

func countDocs(of map[string]int) (docs []countDoc) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		docs = append(docs, countDoc{name, of[name]})
	}
	return docs
}

func originDocOf(o graph.Origin) originDoc {
	pos := o.Pos()
	return originDoc{pos.File, pos.Line, o.Field()}
}

func originDocsOf(list []graph.Origin) (docs []originDoc) {
	for _, o := range list {
		docs = append(docs, originDocOf(o))
	}
	return docs
}

// reasonDoc returns a reason as the JSON form has it.
func reasonDoc(r trust.Reason) string {
	if r == 0 {
		return ""
	}
	return r.String()
}

func functionDocOf(call graph.Call, dec *trust.Decision) *functionDoc {
	d := &functionDoc{
		Allowed: dec.Allowed, Runtime: string(dec.Runtime), Source: dec.Source, Args: dec.Args, TrustedBy: dec.By,
		Executor: dec.Executor, Isolation: dec.Isolation, ListVersion: call.Version, Cacheable: dec.NotReused == "",
		Reason: reasonDoc(dec.Worst),
	}
	if c := call.Chart; c != nil {
		d.Chart = &chartDoc{Name: c.Name, Version: c.Version, Source: c.Source}
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
		d.Grants = append(d.Grants, grantDoc{g.Capability, g.By})
	}
	for _, x := range dec.Denials {
		d.Denials = append(d.Denials, x.Err.Error())
	}
	return d
}
