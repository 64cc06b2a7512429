package validation

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/validate"
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
	if f.Code == validate.RuleViolated {
		return l.locateRule(f)
	}
	key := f.r.Pos.String() + "\x00" + f.r.OrigID().String() + "\x00" + f.Text()
	if at, ok := l.known[key]; ok {
		return at
	}
	if pos, at, ok := l.files.InFile(f.r, f.in); ok {
		l.known[key] = place{pos, diag.FieldPath(at)}
		return l.known[key]
	}
	if at, ok := l.byHistory(f, f.in); ok {
		return at
	}
	return f.start()
}

// in returns the path of the problem in an earlier state of the resource or a patch of it, and
// whether it is there.
func (f *finding) in(doc yaml.Value) ([]any, bool) { return has(&f.Finding, f.r.Value(), doc) }

// start returns the place of a finding whose cause is unknown.
func (f *finding) start() place {
	if f.r.Pos.File != "" {
		return place{pos: f.r.Start()}
	}
	return place{pos: diag.Pos{File: f.root.Dir}}
}

// byHistory returns the location of the step that introduced a problem, or of the responsible
// part of its patch.
func (l *locator) byHistory(f *finding, in func(doc yaml.Value) ([]any, bool)) (place, bool) {
	n := l.step(f)
	if n == nil {
		return place{}, false
	}
	if f.Code == validate.RuleViolated && !f.Value.IsScalar() {
		part := f.Finding // a patch contains only a part of the value
		part.Code = ""
		in = func(doc yaml.Value) ([]any, bool) { return has(&part, f.r.Value(), doc) }
	}
	if pos, at, ok := l.files.InPatch(n, f.Path, in); ok {
		return place{pos, diag.FieldPath(at)}, true
	}
	pos := n.Origin.Pos()
	return place{pos, f.Field()}, pos.File != ""
}

// step returns the step that introduced a problem, or nil if it is unknown.
func (l *locator) step(f *finding) *graph.Node {
	if l.history == nil || l.root != f.root.Dir {
		l.history, l.root = nil, f.root.Dir // release the old history before creating the new one
		l.history = history.Replay(l.plan.Graph, f.root)
	}
	return l.history.Culprit(func(r *krm.Resource) bool { return had(r, f) })
}

// locateRule returns the file and line that make a CEL rule fail. A rule can read several fields,
// for example self.min <= self.max, and nothing says which of them is wrong. The field that was set
// last is the most likely one: a value of a patch or a different step comes after the values of the
// file, and the base usually satisfied the rule. Of fields that were set by the same step or all in
// the file, locateRule takes the last one in the rule. If the resource lacks all of the fields,
// locateRule returns the place of the value that the rule belongs to.
func (l *locator) locateRule(f *finding) place {
	best, latest := f, -2
	for _, path := range f.fields {
		value := history.At(f.r.Value(), path)
		if !value.Exists() {
			continue
		}
		c := *f
		c.Path, c.Value = path, value
		set := -1 // in the file
		if _, _, ok := l.files.InFile(f.r, c.in); !ok {
			if n := l.step(&c); n != nil {
				set = slices.IndexFunc(l.plan.Graph.Nodes, func(other *graph.Node) bool { return other.ID == n.ID })
			}
		}
		if set >= latest {
			best, latest = &c, set
		}
	}
	if pos, at, ok := l.files.InFile(f.r, best.in); ok {
		return place{pos, diag.FieldPath(at)}
	}
	if at, ok := l.byHistory(best, best.in); ok {
		return at
	}
	return f.start()
}

// sortedUnique sorts names and removes duplicates. It modifies names.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
