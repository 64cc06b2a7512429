package validation

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/validate"
)

// A Report is the result of validating a run.
type Report struct {
	// Problems are distinct errors and warnings, sorted by location.
	Problems []Problem
	// Resources and Roots are the numbers of validated resources and roots.
	Resources, Roots int
	// Unknown counts the resources of kinds without a known schema.
	Unknown map[krm.GVK]int
}

// A Problem is a finding and the location that causes it.
type Problem struct {
	validate.Finding
	Pos diag.Pos
	// Kind and Name identify the resource in the output.
	Kind, Name string
	// Roots are the directories of the roots with this problem, sorted.
	Roots []string
}

// End returns the report for all lists that were passed to [Run.Root]. plan must be the plan of
// the run.
func (v *Run) End(plan *planner.Plan) *Report {
	rep := &Report{Unknown: v.checkCustoms(), Resources: v.resources, Roots: v.roots}
	if len(v.found) > 0 {
		rep.Problems = v.problems(plan)
	}
	return rep
}

// problems locates the findings in files and combines findings with equal text and location.
func (v *Run) problems(plan *planner.Plan) []Problem {
	type key struct {
		at        place
		kind, msg string
	}
	l := newLocator(plan)
	groups := map[key]*Problem{}
	slices.SortStableFunc(v.found, func(a, b finding) int { return cmp.Compare(a.root.Dir, b.root.Dir) })
	for i := range v.found {
		f := &v.found[i]
		found := l.locate(f)
		id := f.r.ID()
		at := key{found, id.Kind, f.Msg}
		if found.path == "" {
			at.msg = id.Name + f.Text()
		}
		p := groups[at]
		if p == nil {
			p = &Problem{Finding: f.Finding, Pos: found.pos, Kind: id.Kind, Name: f.name}
			groups[at] = p
		}
		p.Roots = append(p.Roots, f.root.Dir)
	}
	problems := make([]Problem, 0, len(groups))
	for _, p := range groups {
		p.Roots = sortedUnique(p.Roots)
		problems = append(problems, *p)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text(), b.Text()))
	})
	return problems
}

// Diag returns the problem as an error with location, resource, field and message.
func (p *Problem) Diag() *diag.Error {
	e := &diag.Error{Pos: p.Pos, Field: p.Kind + " " + p.Name, Msg: p.Msg, Hints: slices.Clone(p.Hints), Code: diag.InvalidResource}
	if p.Finding.Code == validate.RuleViolated {
		e.Code = diag.RuleViolated
	}
	if field := p.Field(); field != "" {
		e.Field += ": " + field
	}
	if len(p.Roots) > 1 {
		e.Hint("in %s: %s", diag.Count(len(p.Roots), "root"), someRoots(p.Roots))
	}
	return e
}

func (p *Problem) Error() string { return p.Diag().Error() }

// InRoots returns the directories of the roots with this problem.
func (p *Problem) InRoots() []string { return p.Roots }

// Err returns all problems that are errors, joined into one error, or nil if there are none.
func (r *Report) Err() error {
	var errs []error
	for i := range r.Problems {
		if !r.Problems[i].Warning {
			errs = append(errs, &r.Problems[i])
		}
	}
	return errors.Join(errs...)
}

// Warnings returns the problems that are warnings.
func (r *Report) Warnings() (warnings []planner.Warning) {
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Warning {
			e := p.Diag()
			warnings = append(warnings, planner.WarningOf(e))
		}
	}
	return warnings
}

// someRoots returns up to three names, followed by the number of the remaining ones.
func someRoots(roots []string) string {
	const some = 3
	if len(roots) <= some {
		return strings.Join(roots, ", ")
	}
	return strings.Join(roots[:some], ", ") + " and " + diag.Count(len(roots)-some, "other")
}

// Summary returns the result on one line, and the unknown kinds on a second line if there are
// any. all is the number of requested roots. warnings and errs are the numbers of warnings, those
// of the report included, and of other findings of level error that the run printed.
func (r *Report) Summary(all, warnings, errs int) string {
	unknown := 0
	for _, n := range r.Unknown {
		unknown += n
	}
	for i := range r.Problems {
		if !r.Problems[i].Warning {
			errs++
		}
	}
	roots := diag.Count(r.Roots, "root")
	if all > r.Roots {
		roots = fmt.Sprintf("%d of %s", r.Roots, diag.Count(all, "root"))
	}
	s := fmt.Sprintf("%s of %s: %s, %s, %d of unknown kinds", diag.Count(r.Resources, "resource"), roots, diag.Count(errs, "error"),
		diag.Count(warnings, "warning"), unknown)
	if unknown == 0 {
		return s
	}
	var kinds []string
	for _, g := range slices.SortedFunc(maps.Keys(r.Unknown), func(a, b krm.GVK) int { return cmp.Compare(a.String(), b.String()) }) {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", g, r.Unknown[g]))
	}
	return s + "\n  unknown: " + diag.Some(kinds) + "; --crds DIR names their CustomResourceDefinitions"
}
