package planner

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/trust"
)

// PlanVersion is the apiVersion of the JSON form of a plan. A field may be added without a new version; nothing that has
// a version is renamed or changes its meaning.
const PlanVersion = "krmflow.dev/v1alpha1"

// The JSON form of a plan, which docs/plan.md documents.
type (
	planDoc struct {
		APIVersion string       `json:"apiVersion"`
		Kind       string       `json:"kind"`
		Roots      []rootDoc    `json:"roots"`
		Catalogs   []catalogDoc `json:"catalogs,omitempty"`
		Failed     []failedDoc  `json:"failed,omitempty"`
		Nodes      []nodeDoc    `json:"nodes"`
		Layers     []layerDoc   `json:"layers"`
		Files      []fileDoc    `json:"files"`
		Secrets    string       `json:"secrets,omitempty"`
		Warnings   []messageDoc `json:"warnings,omitempty"`
	}
	failedDoc struct {
		Dir    string       `json:"dir"`
		Errors []messageDoc `json:"errors"`
	}
	rootDoc struct {
		Dir  string `json:"dir"`
		Node string `json:"node"`
	}
	catalogDoc struct {
		Ref       string `json:"ref"`
		Digest    string `json:"digest"`
		TrustedBy string `json:"trustedBy"`
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
		// Function is the decision about the function of a call.
		Function *functionDoc `json:"function,omitempty"`
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

// WriteJSON writes the plan as one JSON document. The same tree gives the same bytes.
func (p *Plan) WriteJSON(w io.Writer) error {
	doc := planDoc{APIVersion: PlanVersion, Kind: "Plan", Roots: []rootDoc{}, Nodes: []nodeDoc{}, Layers: []layerDoc{}, Files: []fileDoc{}}
	for _, r := range p.Graph.Roots {
		doc.Roots = append(doc.Roots, rootDoc{r.Dir, p.Graph.Nodes[r.Node].ID})
	}
	for _, t := range p.Catalogs {
		doc.Catalogs = append(doc.Catalogs, catalogDoc{t.Ref.String(), t.Catalog.Digest.String(), t.By})
	}
	for _, f := range p.Failed {
		d := failedDoc{Dir: f.Dir}
		for _, err := range f.Errs {
			at := diag.AsError(err)
			d.Errors = append(d.Errors, messageDoc{at.Pos.File, at.Pos.Line, at.Field, at.Msg, at.Hints})
		}
		doc.Failed = append(doc.Failed, d)
	}
	for _, n := range p.Graph.Nodes {
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
			d.Function = functionDocOf(call, p.Decisions[n.ID])
		}
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
		if p.isSecret(f) {
			doc.Files = append(doc.Files, fileDoc{Path: f.File, Secret: true})
		} else {
			doc.Files = append(doc.Files, fileDoc{Path: f.File, Digest: krm.Digest(f.Digest()).String()})
		}
	}
	doc.Secrets = p.secrets()
	for _, x := range p.Warnings {
		doc.Warnings = append(doc.Warnings, messageDoc{x.Pos.File, x.Pos.Line, x.Field, x.Msg, x.Hints})
	}
	// What it escapes is what JSON calls so, too: the document is the same, also on a terminal.
	enc := json.NewEncoder(diag.SanitisingWriter(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
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
		Executor: dec.Executor, Isolation: dec.Isolation, ListVersion: call.Version, Cacheable: dec.Cacheable,
		Reason: reasonDoc(dec.Worst),
	}
	if !secretConfig(call) {
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

// Drift compares the plan with what [Plan.WriteJSON] wrote before and returns what differs in the inputs, functions and
// grants, one line each; none if a run would do the same.
func (p *Plan) Drift(before []byte) ([]string, error) {
	var old, now planDoc
	if err := json.Unmarshal(before, &old); err != nil || old.Kind != "Plan" {
		return nil, errors.New("this is no plan: write one with plan -o json")
	}
	if old.APIVersion != PlanVersion {
		return nil, fmt.Errorf("the plan has version %q, this krmflow has %s", old.APIVersion, PlanVersion)
	}
	var b bytes.Buffer
	if err := p.WriteJSON(&b); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b.Bytes(), &now); err != nil {
		return nil, err
	}
	var drift []string
	compare := func(what string, old, now map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(old)) {
			if v, ok := now[k]; !ok {
				drift = append(drift, fmt.Sprintf("%s %s is gone", what, k))
			} else if v != old[k] {
				drift = append(drift, fmt.Sprintf("%s %s differs: planned %s, now %s", what, k, old[k], v))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(now)) {
			if _, ok := old[k]; !ok {
				drift = append(drift, fmt.Sprintf("%s %s is new", what, k))
			}
		}
	}
	compare("file", old.files(), now.files())
	if old.Secrets != now.Secrets {
		drift = append(drift, "what may hold values of Secrets differs: "+now.secretPlaces())
	}
	nodes, functions := now.nodes(), now.functions()
	compare("node", old.nodes(), nodes)
	for _, n := range old.Nodes {
		if _, ok := nodes[n.ID]; ok {
			a, b := n.Function.fields(), functions[n.ID].fields()
			for name := range a {
				b[name] = cmp.Or(b[name], "nothing")
			}
			for name := range b {
				a[name] = cmp.Or(a[name], "nothing")
			}
			compare("node "+n.ID+":", a, b)
		}
	}
	return drift, nil
}

func (d *planDoc) files() map[string]string {
	m := map[string]string{}
	for _, f := range d.Files {
		m[f.Path] = cmp.Or(f.Digest, "one that may hold values of Secrets")
	}
	return m
}

// secretPlaces names the files and configurations that the digest of secrets is about.
func (d *planDoc) secretPlaces() string {
	var names []string
	for _, f := range d.Files {
		if f.Secret {
			names = append(names, f.Path)
		}
	}
	for _, n := range d.Nodes {
		if n.Function != nil && n.Function.Config == "" {
			names = append(names, n.ID)
		}
	}
	if n := len(names) - 10; n > 0 {
		names = append(names[:10], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// nodes returns what each node does, without its function.
func (d *planDoc) nodes() map[string]string {
	m := map[string]string{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Verb + " <- " + strings.Join(n.Inputs, ", ")
		if len(n.After) > 0 {
			m[n.ID] += " after " + strings.Join(n.After, ", ")
		}
		if n.Function == nil {
			m[n.ID] += ": " + n.Summary // what flags change shows there alone
		}
	}
	return m
}

// functions returns the functions by their nodes.
func (d *planDoc) functions() map[string]*functionDoc {
	m := map[string]*functionDoc{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Function
	}
	return m
}

// fields returns what is known about a function, by the names of the JSON form.
func (f *functionDoc) fields() map[string]string {
	m := map[string]string{}
	if f == nil {
		return m
	}
	text, _ := json.Marshal(f) // strings and numbers only
	var values map[string]json.RawMessage
	_ = json.Unmarshal(text, &values)
	for name, value := range values {
		m[name] = string(value)
	}
	delete(m, "denials") // allowed says it, and they are reported themselves
	delete(m, "reason")
	return m
}

// WriteText writes the plan for people: one header line, the trusted catalogs, then the nodes in order, each with its configuration and
// its inputs. No line of a node has a number that depends on other nodes, or on other lines of a file, so that plans can be compared
// line by line.
func (p *Plan) WriteText(w io.Writer) error {
	g := p.Graph
	b := bufio.NewWriterSize(w, 32<<10)
	fmt.Fprintf(b, "plan: %s, %s, %s (%d reused), %s", count(len(g.Roots), "root"), count(len(g.Nodes), "node"),
		count(p.Compiled, "layer"), p.Shared, count(len(p.Files()), "file"))
	if n := len(p.Failed); n > 0 {
		fmt.Fprintf(b, "; %s failed", count(n, "root"))
	}
	b.WriteByte('\n')
	for _, t := range p.Catalogs {
		fmt.Fprintf(b, "catalog %s  %s  (%s)\n", diag.OneLine(t.Ref.Show()), t.Catalog.Digest, t.By)
	}
	roots := map[graph.NodeID][]string{}
	for _, r := range g.Roots {
		roots[r.Node] = append(roots[r.Node], r.Dir)
	}
	for i, n := range g.Nodes {
		p.writeNode(b, n)
		for _, dir := range roots[graph.NodeID(i)] {
			writeDetail(b, "root "+dir)
		}
	}
	for _, f := range p.Failed {
		fmt.Fprintf(b, "failed    %s\n", diag.OneLine(f.Dir))
	}
	return b.Flush()
}

// writeNode writes a node for people. Its id says where it is configured, unless that is another file.
func (p *Plan) writeNode(b *bufio.Writer, n *graph.Node) {
	verb := n.Op.Verb()
	b.WriteString(verb)
	b.WriteString(detail[len(verb):])
	b.WriteString(diag.OneLine(n.ID))
	b.WriteByte('\n')
	if n.Summary != "" {
		writeDetail(b, n.Summary)
	}
	if dec := p.Decisions[n.ID]; dec != nil {
		for _, note := range dec.Notes() {
			writeDetail(b, note)
		}
	}
	if file := n.Origin.File(); n.Item != nil && n.Layer != file && !strings.HasSuffix(n.Layer, " "+file) {
		writeDetail(b, "declared in "+file)
	}
	for i, o := range n.Changes {
		if n.Item == nil {
			writeDetail(b, "changed by "+o.File()+"#"+o.Field())
		} else if i == 0 || o.File() != n.Changes[i-1].File() {
			writeDetail(b, "overridden in "+o.File())
		}
	}
	for _, in := range n.Inputs {
		id := p.Graph.Nodes[in].ID
		if field, ok := strings.CutPrefix(id, n.Layer); ok && strings.HasPrefix(field, "#") {
			id = field // of the same layer
		}
		writeDetail(b, "<- "+id)
	}
	for _, first := range n.After {
		writeDetail(b, "after "+p.Graph.Nodes[first].ID)
	}
}

// detail is what the lines below that of a node start with: its verb ends before.
const detail = "          "

func writeDetail(b *bufio.Writer, text string) {
	b.WriteString(detail)
	b.WriteString(diag.OneLine(text))
	b.WriteByte('\n')
}

// WriteDOT draws the plan. Roots that cannot be planned are drawn by themselves.
func (p *Plan) WriteDOT(w io.Writer) error {
	var failed []string
	for _, f := range p.Failed {
		failed = append(failed, f.Dir)
	}
	return p.Graph.WriteDOT(w, failed...)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
