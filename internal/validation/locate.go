package validation

import (
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A place is where a finding comes from: the line of a file, and the path in the document there, if it is known.
type place struct {
	pos  diag.Pos
	path string
}

// A locator leads findings back to files.
type locator struct {
	plan  *planner.Plan
	files map[string]*yaml.Source
	known map[string]place // by file, line of the document, kind and finding
	// history is what the steps of one root have made. Findings come root by root, and all histories together may be larger than the run.
	history *history
	root    string // that it is of
}

func newLocator(plan *planner.Plan) *locator {
	l := &locator{plan: plan, files: map[string]*yaml.Source{}, known: map[string]place{}}
	for _, src := range plan.Files() {
		l.files[src.File] = src
	}
	return l
}

// locate returns the file and line that cause a finding: in the file of the resource if that has what is wrong, else in the patch, or
// the step, that has brought it; the beginning of the resource if that cannot be known.
func (l *locator) locate(f *finding) place {
	key := f.r.Pos.String() + "\x00" + f.r.OrigID().String() + "\x00" + f.Text()
	if at, ok := l.known[key]; ok {
		return at
	}
	if at, ok := l.inFile(f); ok {
		l.known[key] = at
		return at
	}
	if at, ok := l.byHistory(f); ok {
		return at
	}
	if f.r.Pos.File != "" {
		return place{pos: f.r.Pos}
	}
	return place{pos: diag.Pos{File: f.root.Dir}}
}

// inFile returns where the file of the resource has what is wrong.
func (l *locator) inFile(f *finding) (place, bool) {
	src := l.files[f.r.Pos.File]
	if src == nil {
		return place{}, false
	}
	docs, err := src.Configs()
	if err != nil {
		return place{}, false
	}
	for i, doc := range docs {
		if doc.Line != f.r.Pos.Line || !isEarlier(doc.Value, f.r) {
			continue
		}
		if at, ok := has(&f.Finding, f.r.Value(), doc.Value); ok {
			return place{src.Locate(i, at...), diag.FieldPath(at)}, true
		}
	}
	return place{}, false
}

// isEarlier reports whether v is the object that a resource began as.
func isEarlier(v yaml.Value, r *krm.Resource) bool {
	return v.Get("kind").Text() == r.OrigID().Kind && v.At("metadata", "name").Text() == r.OrigID().Name
}

// byHistory returns where the step stands, or the part of its patch, that has brought what is wrong.
func (l *locator) byHistory(f *finding) (place, bool) {
	if l.history == nil || l.root != f.root.Dir {
		l.history, l.root = nil, f.root.Dir // the other one may be collected now
		l.history = replay(l.plan.Graph, f.root)
	}
	n := l.history.culprit(f)
	if n == nil {
		return place{}, false
	}
	if at, ok := l.inPatch(n, f); ok {
		return at, true
	}
	pos := n.Origin.Pos()
	return place{pos, f.Field()}, pos.File != ""
}

// inPatch returns where a patch has what is wrong.
func (l *locator) inPatch(n *graph.Node, f *finding) (place, bool) {
	files, text := patchesOf(n)
	for _, name := range files {
		if src := l.files[path.Join(path.Dir(n.Origin.File()), name)]; src != nil {
			if at, ok := inText(src, f); ok {
				return at, true
			}
		}
	}
	if text == "" {
		return place{}, false
	}
	at, ok := inText(&yaml.Source{Data: []byte(text)}, f)
	at.pos = l.lineOf(n.Origin, at.pos.Line)
	return at, ok
}

// lineOf returns where a line of a patch is that stands in the field patch of a step.
func (l *locator) lineOf(step graph.Origin, line int) diag.Pos {
	pos := step.Source.Locate(0, append(slices.Clip(step.Path), "patch")...)
	src := l.files[pos.File]
	if src == nil {
		return pos
	}
	lines := strings.SplitN(src.Text(), "\n", pos.Line+1)
	if pos.Line > 0 && len(lines) > pos.Line {
		if _, value, _ := strings.Cut(lines[pos.Line-1], "patch:"); strings.HasPrefix(strings.TrimSpace(value), "|") {
			pos.Line += line
		}
	}
	return pos
}

// inText looks for what is wrong in a patch.
func inText(src *yaml.Source, f *finding) (place, bool) {
	if docs, err := src.Patches(); err == nil {
		for i, doc := range docs {
			if at, ok := has(&f.Finding, f.r.Value(), doc.Value); ok {
				return place{src.Locate(i, at...), diag.FieldPath(at)}, true
			}
		}
		return place{}, false
	}
	ops, err := src.Value()
	if err != nil {
		return place{}, false
	}
	best, length := -1, 0
	for i, op := range ops.Items() {
		if n := pointsTo(op.Get("path").Text(), f.Path); n >= length {
			best, length = i, n
		}
	}
	if best < 0 {
		return place{}, false
	}
	return place{src.Locate(0, best), f.Field()}, true
}

// sortedUnique returns names in order, each once.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
