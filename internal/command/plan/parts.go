package plan

import (
	"os"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// parts reuses the lines of roots that are unchanged since the last plan of the same directories as
// text. A nil *parts reuses nothing.
type parts struct {
	dirs    []string // all roots
	objects engine.Objects
	note    records.Note
	last    func() *planview.Summaries

	reused map[string]bool       // the roots that are not planned
	inputs map[string]krm.Digest // by root, reused and planned
	noted  bool                  // a planned root has a record
	text   *planview.Text        // nil before the text is made
}

// newParts adds callbacks to the request of a plan.
func newParts(e *engine.Engine, roots render.Roots, args []string, q *engine.Request) *parts {
	wd, _ := os.Getwd()
	p := &parts{objects: e.GitOps(nil), note: e.Note(append([]string{"plan", wd}, args...)...), reused: map[string]bool{},
		inputs: map[string]krm.Digest{}}
	for _, r := range roots {
		p.dirs = append(p.dirs, diag.Redact(r.Dir))
	}
	p.last = sync.OnceValue(func() *planview.Summaries { return planview.ReadSummaries(p.note.Load()) })
	q.Reuse, q.Noted = p.reuse, p.add
	return p
}

// varies reports whether a root must be planned each time, because its lines depend on more than
// the inputs in its record, or because the text shows its remote content.
func (p *parts) varies(name string, r *records.Record) bool { return p.objects.Has(name) || r.Remote() }

func (p *parts) reuse(dir string, r *records.Record) bool {
	name := diag.Redact(dir)
	if p.varies(name, r) || !p.last().Has(name, r.Inputs()) {
		return false
	}
	p.reused[name], p.inputs[name] = true, r.Inputs()
	return true
}

func (p *parts) add(name string, r *records.Record) bool {
	if p.text == nil || p.text.HasMistakes(name) {
		return false
	}
	p.noted = true
	if !p.varies(name, r) {
		p.inputs[name] = r.Inputs()
	}
	return true
}

// complete adds the reused roots to a text.
func (p *parts) complete(text *planview.Text) {
	if p == nil {
		return
	}
	if p.text = text; len(p.reused) > 0 {
		text.Add(p.last(), p.dirs, p.reused)
	}
}

// save stores the summaries of all roots for the next plan.
func (p *parts) save() {
	if p != nil && p.noted {
		p.note.Save(p.text.Summarise(p.inputs).Bytes())
	}
}

// withRecalled returns recalled, followed by the other warnings in list.
func withRecalled(list, recalled []planner.Warning) []planner.Warning {
	if len(recalled) == 0 {
		return list
	}
	seen := map[string]bool{}
	for _, w := range recalled {
		seen[w.String()] = true
	}
	return slices.Concat(recalled, slices.DeleteFunc(slices.Clone(list), func(w planner.Warning) bool { return seen[w.String()] }))
}
