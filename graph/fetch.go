package graph

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// WithFetches returns g with a [Fetch] node for each image and program that its functions need,
// before the first call that uses it. Denied functions get no fetch, and neither do images that
// exist only on this machine. The function name returns the path of an archive as users see it.
func (g *Graph) WithFetches(name func(path string) string) *Graph {
	type fetched struct {
		place, program string
		digest         krm.Digest
	}
	if !slices.ContainsFunc(g.Nodes, needsFetch) {
		return g
	}
	fetches := map[fetched]NodeID{}
	moved := make([]NodeID, len(g.Nodes))
	out := &Graph{}
	for i, n := range g.Nodes {
		copied := *n
		copied.Inputs, copied.After = nil, nil
		for _, in := range n.Inputs {
			copied.Inputs = append(copied.Inputs, moved[in])
		}
		for _, before := range n.After {
			copied.After = append(copied.After, moved[before])
		}
		if needsFetch(n) {
			f := n.Op.(Call).Function
			key := fetched{f.Image + f.URI + f.Archive, f.Program, f.Digest}
			id, ok := fetches[key]
			if !ok {
				id = out.Add(fetch(n, f, name))
				fetches[key] = id
			}
			copied.After = append(copied.After, id)
		}
		moved[i] = out.Add(&copied)
	}
	for _, r := range g.Roots {
		out.Roots = append(out.Roots, Root{Dir: r.Dir, Node: moved[r.Node]})
	}
	return out
}

// needsFetch reports whether n calls a function with an image that can be pulled or a program
// that can be fetched.
func needsFetch(n *Node) bool {
	call, ok := n.Op.(Call)
	return ok && (call.Function.URI != "" || call.Function.Archive != "" ||
		call.Function.Image != "" && !strings.HasPrefix(call.Function.Image, "localhost/"))
}

// fetch returns the node that obtains the image or program of f. The node n is the first to call
// it, and gives the position.
func fetch(n *Node, f function.Function, name func(path string) string) *Node {
	id, summary := f.Image, "pulled unless it is on this machine"
	switch {
	case f.URI != "":
		id, summary = diag.Redact(f.URI), "fetched unless it is in the cache"
	case f.Archive != "":
		id, summary = name(f.Archive), "unpacked"
	}
	if f.Program != "" && f.Image == "" {
		summary = f.Program + " in it, " + summary
	}
	if !f.Digest.IsZero() && !strings.HasSuffix(id, f.Digest.String()) {
		id += "@" + f.Digest.String()
	}
	what := function.Function{
		Name: f.Name, Node: id, Runtime: f.Runtime, Digest: f.Digest, Unverified: f.Unverified, Image: f.Image, URI: f.URI,
		Archive: f.Archive, Program: f.Program, Bin: f.Bin,
		Unsandboxed: f.Unsandboxed, Limits: f.Limits,
	}
	if f.Image != "" {
		what.Program, what.Bin, what.Unsandboxed = "", "", false
	}
	return &Node{ID: id, Op: Fetch{Function: what}, Summary: summary, Origin: n.Origin, Layer: n.Layer, Item: n.Item}
}
