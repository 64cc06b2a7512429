package validation

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/history"
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
	files history.Files
	known map[string]place // by file, line of the document, kind and finding
	// history is what the steps of one root have made. Findings come root by root, and all histories together may be larger than the run.
	history *history.History
	root    string // that it is of
}

func newLocator(plan *planner.Plan) *locator {
	return &locator{plan: plan, files: history.FilesOf(plan), known: map[string]place{}}
}

// locate returns the file and line that cause a finding: in the file of the resource if that has what is wrong, else in the patch, or
// the step, that has brought it; the beginning of the resource if that cannot be known.
func (l *locator) locate(f *finding) place {
	key := f.r.Pos.String() + "\x00" + f.r.OrigID().String() + "\x00" + f.Text()
	if at, ok := l.known[key]; ok {
		return at
	}
	in := func(doc yaml.Value) ([]any, bool) { return has(&f.Finding, f.r.Value(), doc) }
	if pos, at, ok := l.files.InFile(f.r, in); ok {
		l.known[key] = place{pos, diag.FieldPath(at)}
		return l.known[key]
	}
	if at, ok := l.byHistory(f, in); ok {
		return at
	}
	if f.r.Pos.File != "" {
		return place{pos: f.r.Pos}
	}
	return place{pos: diag.Pos{File: f.root.Dir}}
}

// byHistory returns where the step stands, or the part of its patch, that has brought what is wrong.
func (l *locator) byHistory(f *finding, in func(doc yaml.Value) ([]any, bool)) (place, bool) {
	if l.history == nil || l.root != f.root.Dir {
		l.history, l.root = nil, f.root.Dir // the other one may be collected now
		l.history = history.Replay(l.plan.Graph, f.root)
	}
	n := l.history.Culprit(func(r *krm.Resource) bool { return had(r, f) })
	if n == nil {
		return place{}, false
	}
	if pos, at, ok := l.files.InPatch(n, f.Path, in); ok {
		return place{pos, diag.FieldPath(at)}, true
	}
	pos := n.Origin.Pos()
	return place{pos, f.Field()}, pos.File != ""
}

// sortedUnique returns names in order, each once.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
