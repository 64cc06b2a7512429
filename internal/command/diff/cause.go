package diff

import (
	"path"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// explain finds the file and line that cause each edit of a root. It reports only causes that
// are cheap to find: a changed field in the file of the resource, or the only step of the root
// that changed.
//
// A history of the new side (internal/review/history) would not do. Its last step for a field
// is often the same on both sides, such as an image transformer over a changed base. The cause
// is where the histories of the two sides diverge, and comparing histories needs the lists of
// all steps.
func (c *comparison) explain(u *unit) {
	u.root.Causes = make([][]diag.Pos, len(u.root.Changes.Resources))
	x := c.explainer(u)
	u.root.MoveCauses = x.moves(u.root.Changes)
	for i := range u.root.Changes.Resources {
		r := &u.root.Changes.Resources[i]
		u.root.Causes[i] = make([]diag.Pos, len(r.Edits))
		for k := range r.Edits {
			if r.Edits[k].Follows == "" && !r.Edits[k].Moves {
				u.root.Causes[i][k] = x.cause(r, &r.Edits[k])
			}
		}
	}
}

// moves returns the positions that cause the relocations, as far as they are known. All resources
// of a relocation must agree on it; a few of them are asked.
func (x *explainer) moves(c *diff.Changes) []diag.Pos {
	const most = 3
	causes, asked := make([]diag.Pos, len(c.Relocations)), make([]int, len(c.Relocations))
	for i := range c.Resources {
		r := &c.Resources[i]
		k := r.Relocation
		if r.What != diff.Relocated || asked[k] == most {
			continue
		}
		for j := range r.Edits {
			if e := &r.Edits[j]; e.Moves && isIdentity(e) {
				pos := x.cause(r, e)
				if asked[k]++; asked[k] > 1 && pos != causes[k] {
					pos = diag.Pos{}
				}
				causes[k] = pos
				break
			}
		}
	}
	return causes
}

// maxLocated limits the edits of a root that are located in files. Each of them parses a file
// again.
const maxLocated = 300

type explainer struct {
	now, was map[string]*yaml.Source
	steps    func() []*graph.Node // changed steps; all steps without a comparison
	compared bool                 // both sides were planned
	changed  func(file string) bool
	located  int

	counterpart func(file string) string
}

// explainer returns the explainer for the edits of a root.
func (c *comparison) explainer(u *unit) *explainer {
	x := &explainer{now: c.nowFiles(), was: map[string]*yaml.Source{}, changed: func(string) bool { return true },
		counterpart: func(string) string { return "" }}
	x.steps = func() []*graph.Node { return nil }
	if u.now == "" || u.was == "" {
		return x
	}
	x.compared = c.before != nil && c.counterpart != nil
	x.steps = sync.OnceValue(func() []*graph.Node {
		g := c.run.Plan().Graph.Only(func(r graph.Root) bool { return r.Dir == diag.Redact(u.now) })
		if !x.compared {
			return g.Nodes
		}
		return c.otherSteps(g, c.before.Plan().Graph.Only(func(r graph.Root) bool { return r.Dir == diag.Redact(u.was) }))
	})
	if x.compared {
		x.was, x.counterpart = c.wasFiles(), c.counterpart
		x.changed = func(file string) bool {
			src, old := x.now[file], x.was[c.counterpart(file)]
			if old == nil {
				old = x.was[file] // fetched files have the same name on both sides
			}
			return src != nil && (old == nil || old.Digest() != src.Digest())
		}
	}
	return x
}

// otherSteps returns the steps of a root that its old side does not have.
func (c *comparison) otherSteps(g, old *graph.Graph) (others []*graph.Node) {
	// configs yields the configurations of steps. Steps that change no resource or have no
	// configuration are skipped: file content has its own positions.
	configs := func(g *graph.Graph, side string, files map[string]*yaml.Source, yield func(*graph.Node, krm.Digest)) {
		for _, n := range g.Nodes {
			switch n.Op.(type) {
			case graph.Load, graph.Finish, graph.Merge, graph.Absorb, graph.Validate, graph.Pass, graph.Fetch:
				continue
			case graph.Generate, graph.Transform, graph.Call:
			}
			config, ok := c.configs.Load(side + n.ID)
			if !ok {
				var shared []string
				switch graph.Maker(n.Op).(type) {
				case graph.Generator:
					shared = []string{"generatorOptions"}
				case builtins.FieldLister:
					shared = []string{"configurations"}
				}
				config = n.ConfigDigest(files, shared...)
				c.configs.Store(side+n.ID, config) // roots share many steps
			}
			yield(n, config.(krm.Digest))
		}
	}
	known := map[krm.Digest]int{}
	configs(old, "old ", c.wasFiles(), func(_ *graph.Node, config krm.Digest) { known[config]++ })
	configs(g, "new ", c.nowFiles(), func(n *graph.Node, config krm.Digest) {
		if known[config] > 0 {
			known[config]--
		} else {
			others = append(others, n)
		}
	})
	return others
}

// sources returns the files of a plan by name.
func sources(plan *planner.Plan) map[string]*yaml.Source {
	files := map[string]*yaml.Source{}
	if plan != nil {
		for _, src := range plan.Files() {
			files[src.File] = src
		}
	}
	return files
}

// cause returns the position that causes an edit, or the zero Pos if it is unknown.
func (x *explainer) cause(r *diff.Resource, e *diff.Edit) diag.Pos {
	if e.Op != diff.Remove && r.New.Pos.File != "" && x.changed(r.New.Pos.File) {
		if pos := x.inFile(x.now[r.New.Pos.File], r.New, e.Path, false, e.New); pos.File != "" {
			return pos
		}
	}
	if e.Op == diff.Remove && x.counterpart(r.New.Pos.File) == r.Old.Pos.File && x.changed(r.New.Pos.File) {
		if src := x.was[r.Old.Pos.File]; src != nil {
			if pos := x.inFile(src, r.Old, e.Path, true, e.Old); pos.File != "" {
				return pos
			}
		}
	}
	var found *graph.Node
	best, n := builtins.Unlikely, 0
	for _, step := range x.steps() {
		switch how := x.may(step, r, e); {
		case how > best:
			found, best, n = step, how, 1
		case how == best:
			n++
		}
	}
	if found == nil || n > 1 || best == builtins.Possible && !x.compared {
		return diag.Pos{}
	}
	for _, look := range []func(*graph.Node, *diff.Edit) diag.Pos{x.inPatch, x.inSource} {
		if pos := look(found, e); pos.File != "" {
			return pos
		}
	}
	if p, ok := graph.Maker(found.Op).(gitops.Placer); ok {
		if pos, ok := p.PlaceOf(editOf(r, e)); ok {
			return pos
		}
	}
	return found.Origin.Pos()
}

// editOf returns an edit in the form of package builtins.
func editOf(r *diff.Resource, e *diff.Edit) builtins.Edit {
	last := ""
	if n := len(e.Path); n > 0 {
		last = e.Path[n-1].Field
	}
	return builtins.Edit{Kind: r.New.ID.Kind, Name: r.New.ID.Name, Field: last, New: e.New}
}

// may returns the likelihood that a step made an edit.
func (x *explainer) may(step *graph.Node, r *diff.Resource, e *diff.Edit) builtins.Likelihood {
	switch b := graph.Maker(step.Op).(type) {
	case builtins.Patcher:
		if src := x.patch(step); src != nil && x.inPatch(step, e).Line == 0 {
			return builtins.Unlikely
		}
	case builtins.Causer:
		return b.Causes(editOf(r, e))
	}
	return builtins.Possible
}

// patch returns the file of a strategic merge patch, or nil if the step does not have exactly
// one.
func (x *explainer) patch(step *graph.Node) *yaml.Source {
	p, ok := graph.Maker(step.Op).(builtins.Patcher)
	if !ok {
		return nil
	}
	files, _ := p.PatchTexts()
	if len(files) != 1 || files[0] == "" {
		return nil
	}
	src := x.now[path.Join(step.Origin.Folder(), files[0])]
	if src == nil {
		return nil
	}
	if v, err := src.Value(); err != nil || v.Type() != yaml.Map {
		return nil
	}
	return src
}

// inPatch returns the position of an edit in the patch file of a step.
func (x *explainer) inPatch(step *graph.Node, e *diff.Edit) diag.Pos {
	src := x.patch(step)
	if x.located++; src == nil || x.located > maxLocated {
		return diag.Pos{}
	}
	docs, err := src.Patches()
	if err != nil {
		return diag.Pos{}
	}
	for i, doc := range docs {
		if at, _, ok := follow(doc.Value, e.Path, e.Op == diff.Remove); ok {
			return src.Locate(i, at...)
		}
	}
	return diag.Pos{}
}

// inSource returns the position of a value in the source file of a generator: the line of the
// value or, if that is unknown, the first changed line.
func (x *explainer) inSource(step *graph.Node, e *diff.Edit) diag.Pos {
	b, ok := graph.Maker(step.Op).(builtins.Locator)
	if !ok {
		return diag.Pos{}
	}
	name := func(file string) string { return path.Join(step.Origin.Folder(), file) }
	place, ok := b.Locate(builtins.Change{Path: e.Path.In(false), Removed: e.Op == diff.Remove,
		Files: func(file string) *yaml.Source { return x.now[name(file)] }})
	if !ok || place.File == "" {
		return diag.Pos{}
	}
	pos := diag.Pos{File: name(place.File), Line: place.Line}
	src := x.now[pos.File]
	if src == nil || !x.changed(pos.File) {
		return diag.Pos{}
	}
	if old := x.was[x.counterpart(pos.File)]; old != nil && pos.Line == 0 {
		pos.Line = diff.FirstLine(old.Text(), src.Text())
	}
	return pos
}

// inFile returns the position of a value in the file in which its resource is defined.
func (x *explainer) inFile(src *yaml.Source, side diff.Side, way diff.Path, old bool, want yaml.Value) diag.Pos {
	if x.located++; src == nil || x.located > maxLocated || !want.Exists() {
		return diag.Pos{}
	}
	docs, err := src.Configs()
	if err != nil {
		return diag.Pos{}
	}
	for i, doc := range docs {
		if doc.Line != side.Pos.Line || doc.Value.Get("kind").Text() != side.ID.Kind {
			continue
		}
		at, value, ok := follow(doc.Value, way, old)
		if ok && string(yaml.AppendJSON(nil, value)) == string(yaml.AppendJSON(nil, want)) {
			return src.Locate(i, at...)
		}
	}
	return diag.Pos{}
}

// follow returns the path and value in a file for the path of an edit. Items are found by their
// keys.
func follow(v yaml.Value, way diff.Path, old bool) (at []any, found yaml.Value, ok bool) {
	for _, step := range way {
		if !step.Item {
			if v = v.Get(step.Field); !v.Exists() {
				return nil, v, false
			}
			at = append(at, step.Field)
			continue
		}
		i := step.To
		if old {
			i = step.From
		}
		if step.Key != "" {
			i = itemOf(v, step.Key)
		}
		if i < 0 || i >= v.Len() || v.Type() != yaml.Seq {
			return nil, v, false
		}
		v, at = v.Items()[i], append(at, i)
	}
	return at, v, true
}

// itemOf returns the index of the item that matches a key such as "name=web", or -1.
func itemOf(list yaml.Value, key string) int {
next:
	for i, item := range list.Items() {
		for part := range strings.SplitSeq(key, ",") {
			field, value, _ := strings.Cut(part, "=")
			if item.Get(field).Text() != value {
				continue next
			}
		}
		return i
	}
	return -1
}
