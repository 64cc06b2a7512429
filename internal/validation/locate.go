package validation

import (
	"path"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A locator leads findings back to files.
type locator struct {
	plan  *planner.Plan
	files map[string]*yaml.Source
	known map[string]diag.Pos // places by file, line of the document, kind and finding
	// histories are what the steps of roots have made, by root.
	histories map[string]*history
}

func newLocator(plan *planner.Plan) *locator {
	l := &locator{plan: plan, files: map[string]*yaml.Source{}, known: map[string]diag.Pos{}, histories: map[string]*history{}}
	for _, src := range plan.Files() {
		l.files[src.File] = src
	}
	return l
}

// locate returns the file and line that cause a finding: in the file of the resource if that has what is wrong, else in the patch, or
// the step, that has brought it; the beginning of the resource if that cannot be known.
func (l *locator) locate(f *finding) diag.Pos {
	key := f.r.Pos.String() + "\x00" + f.r.OrigID().String() + "\x00" + f.Text()
	if pos, ok := l.known[key]; ok {
		return pos
	}
	if pos, ok := l.inFile(f); ok {
		l.known[key] = pos
		return pos
	}
	if pos, ok := l.byHistory(f); ok {
		return pos
	}
	if f.r.Pos.File != "" {
		return f.r.Pos
	}
	return diag.Pos{File: f.root.Dir}
}

// inFile returns where the file of the resource has what is wrong.
func (l *locator) inFile(f *finding) (diag.Pos, bool) {
	src := l.files[f.r.Pos.File]
	if src == nil {
		return diag.Pos{}, false
	}
	docs, err := src.Configs()
	if err != nil {
		return diag.Pos{}, false
	}
	for i, doc := range docs {
		if doc.Line != f.r.Pos.Line || !isEarlier(doc.Value, f.r) {
			continue
		}
		if at, ok := has(&f.Finding, f.r.Value(), doc.Value); ok {
			return src.Locate(i, at...), true
		}
	}
	return diag.Pos{}, false
}

// isEarlier reports whether v is the object that a resource began as.
func isEarlier(v yaml.Value, r *krm.Resource) bool {
	return v.Get("kind").Text() == r.OrigID().Kind && v.At("metadata", "name").Text() == r.OrigID().Name
}

// byHistory returns where the step stands, or the part of its patch, that has brought what is wrong.
func (l *locator) byHistory(f *finding) (diag.Pos, bool) {
	h := l.histories[f.root.Dir]
	if h == nil {
		h = replay(l.plan.Graph, f.root)
		l.histories[f.root.Dir] = h
	}
	n := h.culprit(f)
	if n == nil {
		return diag.Pos{}, false
	}
	if pos, ok := l.inPatch(n, f); ok {
		return pos, true
	}
	pos := n.Origin.Pos()
	return pos, pos.File != ""
}

// inPatch returns where the file of a patch has what is wrong.
func (l *locator) inPatch(n *graph.Node, f *finding) (diag.Pos, bool) {
	for _, name := range patchFiles(n) {
		src := l.files[path.Join(path.Dir(n.Origin.File()), name)]
		if src == nil {
			continue
		}
		if pos, ok := inMerge(src, f); ok {
			return pos, true
		}
		if pos, ok := inJSONPatch(src, f); ok {
			return pos, true
		}
	}
	return diag.Pos{}, false
}

// inMerge looks for what is wrong in the documents of a strategic merge patch.
func inMerge(src *yaml.Source, f *finding) (diag.Pos, bool) {
	docs, err := src.Patches()
	if err != nil {
		return diag.Pos{}, false
	}
	for i, doc := range docs {
		if at, ok := has(&f.Finding, f.r.Value(), doc.Value); ok {
			return src.Locate(i, at...), true
		}
	}
	return diag.Pos{}, false
}

// inJSONPatch looks for the operation whose path is that of the finding, or leads to it.
func inJSONPatch(src *yaml.Source, f *finding) (diag.Pos, bool) {
	ops, err := src.Value()
	if err != nil {
		return diag.Pos{}, false
	}
	best, length := -1, 0
	for i, op := range ops.Items() {
		if n := pointsTo(op.Get("path").Text(), f.Path); n >= length {
			best, length = i, n
		}
	}
	if best < 0 {
		return diag.Pos{}, false
	}
	return src.Locate(0, best), true
}

// sortedUnique returns names in order, each once.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
