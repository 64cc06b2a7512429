package validation

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A place is the origin of a finding: a file and line, and the path in the document if it is
// known.
type place struct {
	pos  diag.Pos
	path string
}

// A locator finds the locations in files that cause findings.
type locator struct {
	plan  *planner.Plan
	files history.Files
	known map[string]place // by file and line of the resource, its original ID, and the finding
	// history is the history of one root. Findings come in the order of their roots, so one
	// history is sufficient. All histories together can take more memory than the run.
	history *history.History
	root    string // directory of the root of history
}

func newLocator(plan *planner.Plan) *locator {
	return &locator{plan: plan, files: history.FilesOf(plan), known: map[string]place{}}
}

// locate returns the file and line that cause a finding. It tries the file of the resource, then
// the patch or step that introduced the problem, and falls back to the start of the resource or
// the directory of the root.
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

// byHistory returns the location of the step that introduced a problem, or of the responsible
// part of its patch.
func (l *locator) byHistory(f *finding, in func(doc yaml.Value) ([]any, bool)) (place, bool) {
	if l.history == nil || l.root != f.root.Dir {
		l.history, l.root = nil, f.root.Dir // release the old history before creating the new one
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

// sortedUnique sorts names and removes duplicates. It modifies names.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
