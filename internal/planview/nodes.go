package planview

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/planner"
)

// WriteNodes writes all nodes of a plan as text: a header line, the fetched remotes and trusted
// catalogs, then each node with its configuration and inputs, in order. made may be nil;
// otherwise the text also shows cached results and changes since the last render.
//
// A node's lines contain no number that depends on other nodes or on other lines of a file, so
// plans can be compared line by line with a standard diff.
func WriteNodes(w io.Writer, p *planner.Plan, made *Preview) error {
	g := p.Graph
	b := bufio.NewWriterSize(w, 32<<10)
	fmt.Fprintf(b, "plan: %s, %s, %s (%d reused), %s", diag.Plural(len(g.Roots), "root"), diag.Plural(len(g.Nodes), "node"),
		diag.Plural(p.Compiled, "layer"), p.Shared, diag.Plural(len(p.Files()), "file"))
	if n := len(p.Failed); n > 0 {
		fmt.Fprintf(b, "; %s failed", diag.Plural(n, "root"))
	}
	b.WriteByte('\n')
	for _, f := range p.Fetched() {
		fmt.Fprintf(b, "%s %s  %s\n", f.Verb(), diag.OneLine(f.Reference), f.Version)
	}
	for _, t := range p.Catalogs {
		by := t.By
		if t.Signed != "" {
			by += ", signed by " + t.Signed
		}
		fmt.Fprintf(b, "catalog %s  %s  (%s)\n", diag.OneLine(t.Ref.Show()), t.Catalog.Digest, diag.OneLine(by))
	}
	roots := map[graph.NodeID][]string{}
	for _, r := range g.Roots {
		roots[r.Node] = append(roots[r.Node], r.Dir)
	}
	for i, n := range g.Nodes {
		writeNode(b, p, n)
		if there, known := made.answer(n); known && there {
			writeDetail(b, "its answer is in the cache")
		} else if known {
			writeDetail(b, "its answer is not in the cache")
		}
		if since := made.step(i); since == "unchanged" {
			writeDetail(b, "unchanged since the last render")
		} else if since != "" {
			writeDetail(b, "since the last render: "+since)
		}
		for _, dir := range roots[graph.NodeID(i)] {
			writeDetail(b, "root "+dir)
		}
	}
	for _, f := range p.Failed {
		fmt.Fprintf(b, "failed    %s\n", diag.OneLine(f.Dir))
	}
	return b.Flush()
}

// writeNode writes a node. Its ID usually names the file of its configuration; a different file
// gets a line of its own.
func writeNode(b *bufio.Writer, p *planner.Plan, n *graph.Node) {
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
			id = field // same layer
		}
		writeDetail(b, "<- "+id)
	}
	for _, first := range n.After {
		writeDetail(b, "after "+p.Graph.Nodes[first].ID)
	}
}

// detail is the indentation of the lines below a node. The verbs of the nodes fit in this width.
const detail = "          "

func writeDetail(b *bufio.Writer, text string) {
	b.WriteString(detail)
	b.WriteString(diag.OneLine(text))
	b.WriteByte('\n')
}
