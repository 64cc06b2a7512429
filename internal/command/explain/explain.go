// Package explain traces a resource or field of the output back to its sources: the steps that
// made and changed it, in order, with file and line.
package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A Report is the history of a resource or of one of its fields.
type Report struct {
	// Root is the directory that was rendered.
	Root string
	// ID is the identity of the resource: the current one, or the last one if the resource was
	// removed.
	ID krm.ID
	// Field is the path of the field, or "" if the report covers the whole resource.
	Field string
	// Value is the final value of the field for display, or None if the field does not exist.
	Value yaml.Value
	// Removed reports that the resource or field is not in the output.
	Removed bool
	// Absent reports that the root never contained the resource or field. If the resource is
	// missing, ID is the identity in the request. Field is as typed.
	Absent bool
	// Partial reports that the root could not be rendered. The report then covers the steps
	// before the failure.
	Partial bool
	// Steps are the steps that made or changed the subject, in order.
	Steps []Step
	// Near are steps that seem intended for the subject but did not change it.
	Near []Near
}

// A Step is a step that made, changed or removed the subject of a report.
type Step struct {
	// Node is the step of the plan. Pos is the line where it is configured, and Config the
	// field there.
	Node   *graph.Node
	Pos    diag.Pos
	Config string
	// Made reports that the subject did not exist before the step, Removed that it did not
	// exist after it.
	Made, Removed bool
	// Failed reports that the step failed with the resource as its input. It is always the last
	// step.
	Failed bool
	// Why is the reason for the removal of the resource, or "" if it is the configuration of
	// the step.
	Why string
	// Changes are the fields that the step changed.
	Changes []Change
}

// A Change is the change of one field by a step.
type Change struct {
	Path string
	// Old and New are the values for display, None if absent.
	Old, New yaml.Value
	// Pos is the line that causes the change, and Field the path in the document there.
	Pos   diag.Pos
	Field string
	// Lines is the line diff of a multi-line text.
	Lines []diff.Line
}

// New explains the subject text in the result of a root. warnings are the warnings of the run,
// which can explain why the subject is missing. If the subject does not exist, New returns both
// a report and an error that wraps [ErrAbsent].
func New(plan *planner.Plan, h *history.History, root, text string, warnings Warnings) (*Report, error) {
	list := h.Result()
	if list == nil {
		return nil, fmt.Errorf("the result of %s is not known", root)
	}
	there := func(s Subject) bool {
		for _, r := range list.All() {
			if s.Is(r) {
				return true
			}
		}
		return false
	}
	s, err := Parse(text, there)
	if err == nil && !there(s) {
		s, err = Parse(text, func(s Subject) bool { return h.Gone(s.Is) != nil })
	}
	if err != nil {
		return nil, &SyntaxError{err}
	}
	return explainer{files: history.FilesOf(plan), warnings: warnings}.explain(h, s, root)
}

// NewPartial is [New] for a root in which the steps failed have failed. It explains the result
// of the steps before them. The report is nil if none of these made the resource.
func NewPartial(plan *planner.Plan, h *history.History, failed []*graph.Node, root, text string, warnings Warnings) (*Report, error) {
	s, err := Parse(text, func(s Subject) bool {
		until, _ := h.Until(failed, s.Is)
		return until != nil
	})
	if err != nil {
		return nil, &SyntaxError{err}
	}
	until, next := h.Until(failed, s.Is)
	if until == nil {
		return nil, nil
	}
	r, err := explainer{files: history.FilesOf(plan), warnings: warnings, partial: true}.explain(until, s, root)
	if r != nil && next != nil {
		r.Steps = append(r.Steps, Step{Node: next, Pos: next.Origin.Pos(), Config: next.Origin.Field(), Failed: true})
	}
	return r, err
}

// explain explains the subject in the result of a history.
func (e explainer) explain(h *history.History, s Subject, root string) (*Report, error) {
	e.hide = h.Secrets()
	i, err := s.find(h.Result())
	if err != nil {
		return nil, err
	}
	r, err := e.report(h, s, i, root)
	if r != nil {
		r.Root, r.Partial, r.Near = root, e.partial, e.near(h, s, r)
	}
	return r, err
}

// report explains resource i of the result, or a missing resource if i is negative.
func (e explainer) report(h *history.History, s Subject, i int, root string) (*Report, error) {
	if i >= 0 && len(s.field) == 0 {
		return e.resource(h.Steps(i)), nil
	}
	if i >= 0 {
		return e.field(h.Steps(i), s)
	}
	steps := h.Gone(s.Is)
	if steps == nil {
		kind, group, _ := strings.Cut(s.kind, ".")
		id := krm.ID{GVK: krm.GVK{Group: group, Kind: kind}, Namespace: s.space, Name: s.name}
		return &Report{ID: id, Field: s.fieldText(), Absent: true}, s.absent(h, root)
	}
	if i := h.Renamed(steps); i >= 0 {
		return e.report(h, s, i, root)
	}
	if len(s.field) > 0 {
		return e.field(steps, s)
	}
	r := e.resource(steps)
	r.Removed = true
	return r, nil
}

// A SyntaxError reports that the request does not have the form of a resource or field.
type SyntaxError struct{ err error }

func (e *SyntaxError) Error() string { return e.err.Error() }
func (e *SyntaxError) Unwrap() error { return e.err }

type explainer struct {
	files    history.Files
	warnings Warnings
	partial  bool // the root could not be rendered
	secret   bool // the subject is or was a Secret
	hide     *secret.Set
}

// resource explains a whole resource.
func (e explainer) resource(steps []history.Step) *Report {
	r := &Report{}
	e.secret = wasSecret(steps)
	for _, s := range steps {
		step := at(s)
		switch {
		case s.Before == nil:
			r.ID, step.Made = s.After.ID(), true
			if _, ok := s.Node.Op.(graph.Load); ok {
				step.Pos, step.Config = s.After.Pos, ""
			}
		case s.After == nil:
			step.Removed = true
			if _, ok := s.Node.Op.(graph.Finish); ok && s.Before.Value().At("metadata", "annotations", krm.LocalConfigAnnotation).Exists() {
				step.Why = "it has the annotation " + krm.LocalConfigAnnotation
			}
		default:
			r.ID = s.After.ID()
			for _, edit := range e.changed(s) {
				step.Changes = append(step.Changes, e.edits(s, edit)...)
			}
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

func at(s history.Step) Step {
	return Step{Node: s.Node, Pos: s.Node.Origin.Pos(), Config: s.Node.Origin.Field()}
}

// edits converts an edit to changes.
func (e explainer) edits(s history.Step, edit diff.Edit) []Change {
	c := Change{Path: edit.Path.String(), Old: edit.Old, New: edit.New, Lines: edit.Lines}
	if edit.Hidden {
		c.Old, c.New = hidden(edit)
	}
	full := history.Change{Step: s}
	if edit.Op != diff.Remove {
		full.Path = edit.Path.In(false)
		full.New = history.At(s.After.Value(), full.Path)
	}
	if edit.Op != diff.Add {
		full.OldPath = edit.Path.In(true)
		full.Old = history.At(s.Before.Value(), full.OldPath)
	}
	c.Pos, c.Field = e.files.Place(full)
	switch {
	case edit.Op == diff.Move:
		c.New = yaml.Str("(at another place of the list)")
	case len(edit.Inside) == 0:
	default:
		var inside []Change
		for _, in := range edit.Inside {
			x := Change{Path: c.Path + " > " + in.Path.String(), Old: in.Old, New: in.New, Lines: in.Lines, Pos: c.Pos, Field: c.Field}
			if in.Hidden {
				x.Old, x.New = hidden(in)
			}
			inside = append(inside, x)
		}
		return inside
	}
	return []Change{c}
}

// hidden returns the displayed values of an edit with hidden values.
func hidden(edit diff.Edit) (old, now yaml.Value) {
	old, now = edit.Old, edit.New
	if !old.Exists() && edit.Op != diff.Add {
		old = yaml.Str(secret.Hidden)
	}
	if !now.Exists() && edit.Op != diff.Remove {
		now = yaml.Str(secret.Hidden)
		if old.Exists() {
			now = yaml.Str(diff.HiddenChanged)
		}
	}
	return old, now
}

// field explains a field of a resource. The last step may have removed the resource.
func (e explainer) field(steps []history.Step, s Subject) (*Report, error) {
	e.secret = wasSecret(steps)
	var gone *history.Step
	if last := steps[len(steps)-1]; last.After == nil {
		gone, steps = &last, steps[:len(steps)-1]
	}
	res := steps[len(steps)-1].After
	path, ok := s.field.In(res.Value())
	var changes []history.Change
	r := &Report{ID: res.ID()}
	if ok {
		changes = history.FieldOf(steps, path)
		r.Field, r.Value = diag.FieldPath(path), history.At(e.shown(res), path)
	} else if changes = history.Removed(steps, s.field); changes != nil {
		r.Field, r.Removed = diag.FieldPath(changes[len(changes)-1].OldPath), true
	} else {
		r.Field, r.Absent = s.fieldText(), true
		return r, e.noField(res, s, path)
	}
	if ok && gone != nil {
		r.Removed, r.Value = true, yaml.Value{}
		changes = append(changes, history.Change{Step: *gone, OldPath: path, Old: history.At(res.Value(), path)})
	}
	for _, c := range changes {
		step := at(c.Step)
		step.Made, step.Removed = !c.Old.Exists(), !c.New.Exists()
		x := Change{Path: r.Field}
		if c.Before != nil && c.Old.Exists() {
			x.Old = history.At(e.shown(c.Before), c.OldPath)
		}
		if c.After != nil && c.New.Exists() {
			x.New = history.At(e.shown(c.After), c.Path)
		}
		if x.Old.Exists() && x.Old.Equal(x.New) {
			x.New = yaml.Str(diff.HiddenChanged)
		}
		x.Pos, x.Field = e.files.Place(c)
		step.Changes = []Change{x}
		r.Steps = append(r.Steps, step)
	}
	return r, nil
}

// partly qualifies statements about an incomplete result.
const partly = "as far as the root was rendered"

// noField returns the error for a field that the resource never had.
func (e explainer) noField(res *krm.Resource, s Subject, path []any) error {
	there := history.At(res.Value(), path)
	where := nameOf(res.ID())
	if len(path) > 0 {
		where += ":" + diag.FieldPath(path)
	}
	when := "and never had"
	if e.partial {
		when = partly
	}
	err := diag.Errorf(diag.Pos{}, "", "%s has no field %s, %s", nameOf(res.ID()), s.fieldText(), when).With(diag.Arguments)
	err.Err = ErrAbsent
	var names []string
	for _, f := range there.Fields() {
		names = append(names, f.Key)
	}
	switch {
	case len(names) > 0:
		err.Hint("%s has %s", where, diag.Some(names))
	case there.Type() == yaml.Seq:
		err.Hint("%s has %s", where, diag.Count(len(there.Items()), "item"))
	case len(path) > 0:
		err.Hint("%s is %s", where, show(history.At(e.shown(res), path)))
	}
	return err
}

// fieldText returns the field as typed.
func (s Subject) fieldText() string {
	_, field, _ := strings.Cut(s.text, s.name+":")
	return diag.OneLine(field)
}

// WriteText writes the report as text for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	if !r.Absent { // if absent, the error covers it
		r.writeSteps(&b)
	}
	r.writeNear(&b)
	_, err := io.WriteString(w, diag.Sanitise(b.String()))
	return err
}

func (r *Report) writeSteps(b *strings.Builder) {
	fmt.Fprintf(b, "%s of %s", r.ID, diag.Redact(r.Root))
	if r.Partial {
		b.WriteString(", " + partly)
	}
	switch {
	case r.Field != "" && r.Removed:
		fmt.Fprintf(b, ": %s is not there any more", r.Field)
	case r.Field != "":
		fmt.Fprintf(b, ": %s is %s", r.Field, show(r.Value))
	case r.Removed:
		b.WriteString(": it is not in the output")
	}
	b.WriteString("\n")
	for i, s := range r.Steps {
		fmt.Fprintf(b, "\n%d. %s", i+1, s.head())
		b.WriteString("\n")
		if r.Field != "" && !s.Failed {
			c := s.Changes[0]
			fmt.Fprintf(b, "     %s%s\n", c.arrow(s.Made), c.from(s))
			continue
		}
		for k, c := range s.Changes {
			if k == maxShown {
				fmt.Fprintf(b, "     and %s more: -o json has all\n", diag.Count(len(s.Changes)-k, "field"))
				break
			}
			fmt.Fprintf(b, "     %s: %s%s\n", c.Path, c.arrow(!c.Old.Exists() && c.New.Exists()), c.from(s))
			for _, line := range c.Lines {
				if line.Old > 0 {
					fmt.Fprintf(b, "       @@ line %d -> %d\n", line.Old, line.New)
				}
				fmt.Fprintf(b, "       %s\n", diag.OneLine(line.String()))
			}
		}
	}
}

// maxShown is the maximum number of fields per step in the text form.
const maxShown = 30

// head returns the step as one line: its position and its effect.
func (s Step) head() string {
	var b strings.Builder
	if s.Pos.File != "" {
		b.WriteString(s.Pos.String() + ": ")
	}
	if pos := s.Node.Origin.Pos(); s.Made && s.Config == "" && pos.File != "" {
		fmt.Fprintf(&b, "written here; %s: %s uses it", pos, s.Node.Origin.Field())
		return b.String()
	}
	if s.Config != "" {
		b.WriteString(s.Config + ": ")
	}
	b.WriteString(s.Node.Op.Verb())
	if summary, _, _ := strings.Cut(s.Node.Summary, "  "); summary != "" { // the rest of the summary describes the function
		b.WriteString(" " + summary)
	}
	if s.Removed && len(s.Changes) == 0 {
		b.WriteString(": it removes the resource")
		if s.Why != "" {
			b.WriteString(", for " + s.Why)
		}
	}
	if s.Failed {
		b.WriteString(": it fails, and the steps after it do not run")
	}
	for _, by := range s.Node.Changes {
		fmt.Fprintf(&b, "\n     configured also by %s: %s", by.Pos(), by.Field())
	}
	return b.String()
}

func (c Change) arrow(made bool) string {
	if len(c.Lines) > 0 {
		return "text"
	}
	if made {
		return show(c.New)
	}
	return show(c.Old) + " -> " + show(c.New)
}

// from returns the position that causes the change, or "" if it is the position of the step.
func (c Change) from(s Step) string {
	if c.Pos.File == "" || c.Pos == s.Pos || c.Pos == s.Node.Origin.Pos() {
		return ""
	}
	return "   (" + c.Pos.String() + ")"
}

// maxValue is the maximum length in bytes of a value in the text form.
const maxValue = 120

// show returns a value in one line, truncated.
func show(v yaml.Value) string {
	if !v.Exists() {
		return "none"
	}
	text := diag.OneLine(string(yaml.AppendJSON(nil, v)))
	if v.Type() == yaml.String && text == `"`+v.Text()+`"` && v.Text() != "" && strings.TrimSpace(v.Text()) == v.Text() {
		text = v.Text()
	}
	if len(text) > maxValue {
		text = strings.ToValidUTF8(text[:maxValue], "") + "…"
	}
	return text
}
