package planner

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
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
		Nodes      []nodeDoc    `json:"nodes"`
		Files      []fileDoc    `json:"files"`
		Warnings   []warningDoc `json:"warnings,omitempty"`
	}
	rootDoc struct {
		Dir  string `json:"dir"`
		Node string `json:"node"`
	}
	nodeDoc struct {
		ID      string    `json:"id"`
		Verb    string    `json:"verb"`
		Inputs  []string  `json:"inputs,omitempty"`
		Summary string    `json:"summary,omitempty"`
		Layer   string    `json:"layer"`
		Origin  originDoc `json:"origin"`
	}
	originDoc struct {
		File  string `json:"file"`
		Line  int    `json:"line,omitempty"`
		Field string `json:"field,omitempty"`
	}
	fileDoc struct {
		Path   string `json:"path"`
		Digest string `json:"digest"`
	}
	warningDoc struct {
		File    string   `json:"file,omitempty"`
		Line    int      `json:"line,omitempty"`
		Field   string   `json:"field,omitempty"`
		Message string   `json:"message"`
		Hints   []string `json:"hints,omitempty"`
	}
)

// WriteJSON writes the plan as one JSON document. The same tree gives the same bytes.
func (p *Plan) WriteJSON(w io.Writer) error {
	doc := planDoc{APIVersion: PlanVersion, Kind: "Plan", Roots: []rootDoc{}, Nodes: []nodeDoc{}, Files: []fileDoc{}}
	for _, r := range p.Graph.Roots {
		doc.Roots = append(doc.Roots, rootDoc{r.Dir, p.Graph.Nodes[r.Node].ID})
	}
	for _, n := range p.Graph.Nodes {
		pos := n.Origin.Pos()
		d := nodeDoc{ID: n.ID, Verb: n.Op.Verb(), Summary: n.Summary, Layer: n.Layer,
			Origin: originDoc{pos.File, pos.Line, n.Origin.Field()}}
		for _, in := range n.Inputs {
			d.Inputs = append(d.Inputs, p.Graph.Nodes[in].ID)
		}
		doc.Nodes = append(doc.Nodes, d)
	}
	for _, f := range p.Files {
		doc.Files = append(doc.Files, fileDoc{f.File, f.Digest().String()})
	}
	for _, x := range p.Warnings {
		doc.Warnings = append(doc.Warnings, warningDoc{x.Pos.File, x.Pos.Line, x.Field, x.Msg, x.Hints})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// WriteText writes the plan for people: one header line, then the nodes in order. A node is called by its number; its
// inputs, its configuration and where that is written follow.
func (p *Plan) WriteText(w io.Writer) error {
	g := p.Graph
	var b strings.Builder
	fmt.Fprintf(&b, "plan: %s, %s, %s (%d reused), %s\n", count(len(g.Roots), "root"), count(len(g.Nodes), "node"),
		count(p.Layers, "layer"), p.Shared, count(len(p.Files), "file"))
	roots := map[graph.NodeID][]string{}
	for _, r := range g.Roots {
		roots[r.Node] = append(roots[r.Node], r.Dir)
	}
	for i, n := range g.Nodes {
		fmt.Fprintf(&b, "%4d  %-9s %s", i+1, n.Op.Verb(), krm.OneLine(n.ID))
		if len(n.Inputs) > 0 {
			b.WriteString("  <-")
			for _, in := range n.Inputs {
				fmt.Fprintf(&b, " %d", in+1)
			}
		}
		b.WriteByte('\n')
		if n.Summary != "" {
			fmt.Fprintf(&b, "                %s\n", krm.OneLine(n.Summary))
		}
		fmt.Fprintf(&b, "                at %s", n.Origin.Pos())
		if f := n.Origin.Field(); f != "" {
			fmt.Fprintf(&b, ": %s", krm.OneLine(f))
		}
		b.WriteByte('\n')
		for _, dir := range roots[graph.NodeID(i)] {
			fmt.Fprintf(&b, "                root %s\n", krm.OneLine(dir))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
