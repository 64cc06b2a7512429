// Package findings formats the dangers of a comparison: the findings of package danger for each
// resource, with the file and line that cause them.
package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/report"
	"github.com/krmflow/krmflow/internal/command/diff/cause"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint/danger"
	"github.com/krmflow/krmflow/loaders/revision"
)

// A Finding is a danger of the change to a resource.
type Finding struct {
	danger.Finding
	// Cause is the position that causes the finding, if known. Object is the place of the resource.
	Cause, Object diag.Pos
}

// Of returns the findings for a resource that differs. causes are the causes of its edits. Values
// that the resource hides are not in the findings.
func Of(r *diff.Resource, causes []diag.Pos, x *cause.Finder, levels map[diag.Code]diag.Level) (list []Finding) {
	for _, f := range danger.Find(r.Before, r.After, levels) {
		if r.SameData && f.Code == diag.Immutable && (f.Field == "data" || f.Field == "stringData") {
			continue // the values are hidden, so that Find cannot see it
		}
		one := Finding{Finding: f, Object: r.New.Pos}
		switch {
		case r.What == diff.Removed:
			one.Object = r.Old.Pos
		case r.What == diff.Added:
			one.Cause = x.InNew(r, wayTo(r.After, f.Path), f.New)
		default:
			one.Cause = causeOf(&f, r, causes)
		}
		list = append(list, one)
	}
	return list
}

// OfRules returns the findings for the CEL rules that the change of a resource violates.
func OfRules(r *diff.Resource, violated []validation.Violation, levels map[diag.Code]diag.Level) (list []Finding) {
	level, ok := levels[diag.RuleViolated]
	if !ok {
		level = diag.LevelError
	}
	if level == diag.LevelOff {
		return nil
	}
	for _, v := range violated {
		f := danger.Finding{Code: diag.RuleViolated, Level: level, Path: v.Path, Field: danger.FieldOf(r.After, v.Path),
			Msg: "the API server refuses the update: " + v.Msg, Hints: v.Hints}
		list = append(list, Finding{Finding: f, Cause: v.Pos, Object: r.New.Pos})
	}
	return list
}

// wayTo converts a path in an object. Items are identified by their names.
func wayTo(v yaml.Value, path []any) (way diff.Path) {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			v, way = v.Get(s), append(way, diff.Step{Field: s})
		case int:
			v = v.Items()[s]
			item := diff.Step{Item: true, From: s, To: s}
			if name := v.Get("name"); name.IsScalar() {
				item.Key = "name=" + name.Text()
			}
			way = append(way, item)
		}
	}
	return way
}

// causeOf returns the cause of the first edit at, above or below the field of a finding that has
// one.
func causeOf(f *danger.Finding, r *diff.Resource, causes []diag.Pos) diag.Pos {
	for k := range r.Edits {
		if k >= len(causes) || causes[k].File == "" {
			continue
		}
		path := r.Edits[k].Path.In(f.InOld)
		if n := min(len(path), len(f.Path)); n > 0 && slices.Equal(path[:n], f.Path[:n]) {
			return causes[k]
		}
	}
	return diag.Pos{}
}

// Counts are numbers of findings by level.
type Counts map[diag.Level]int

// Add counts a list.
func (n Counts) Add(list []Finding) {
	for _, f := range list {
		n[f.Level]++
	}
}

// levels are the levels from the most to the least severe.
var levels = []diag.Level{diag.LevelError, diag.LevelWarning, diag.LevelInfo}

// String returns the nonzero counts: "1 error, 2 warnings".
func (n Counts) String() string {
	var parts []string
	for _, l := range levels {
		if n[l] > 0 {
			parts = append(parts, diag.Count(n[l], l.String()))
		}
	}
	return strings.Join(parts, ", ")
}

// Doc is the JSON form of a finding.
type Doc struct {
	Level   string          `json:"level"` // error, warning or info
	Code    string          `json:"code"`
	Field   string          `json:"field,omitempty"`
	Pointer []any           `json:"pointer,omitempty"` // as in edits; in the old object if side is old
	Side    string          `json:"side,omitempty"`
	Old     json.RawMessage `json:"old,omitempty"`
	New     json.RawMessage `json:"new,omitempty"`
	Message string          `json:"message"`
	Hints   []string        `json:"hints,omitempty"`
	Cause   string          `json:"cause,omitempty"` // file:line
}

// Docs returns the JSON form of findings.
func Docs(list []Finding) (docs []Doc) {
	for i := range list {
		f := &list[i]
		doc := Doc{Level: f.Level.String(), Code: string(f.Code), Field: f.Field, Pointer: f.Path, Old: Raw(f.Old), New: Raw(f.New),
			Message: f.Msg, Hints: f.Hints}
		if f.InOld && f.Path != nil {
			doc.Side = "old"
		}
		if f.Cause.File != "" {
			at := f.Cause
			at.File = diag.JSONName(at.File)
			doc.Cause = at.String()
		}
		docs = append(docs, doc)
	}
	return docs
}

// Raw returns the JSON of a value, nil if it does not exist.
func Raw(v yaml.Value) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return yaml.AppendJSON(nil, v)
}

// Title returns a finding in one line, without its cause and hints. It is safe for a terminal.
func (f *Finding) Title() string {
	title := f.Level.String() + " " + string(f.Code) + ": "
	if f.Field != "" {
		title += f.Field + ": "
	}
	return safe(title + f.Msg)
}

// Advice returns the hints to show: none for findings of level info, which are frequent, and none
// that the finding before, if any, has also.
func (f *Finding) Advice(before *Finding) (lines []string) {
	if f.Level == diag.LevelInfo || before != nil && slices.Equal(f.Hints, before.Hints) {
		return nil
	}
	for _, h := range f.Hints {
		lines = append(lines, safe(h))
	}
	return lines
}

// At returns the cause as a comment for the end of a line, "" if it is unknown.
func (f *Finding) At() string {
	if f.Cause.File == "" {
		return ""
	}
	return "# " + safe(f.Cause.String())
}

// maxLine limits the bytes of a line.
const maxLine = 1000

// safe returns text as one line without terminal control characters, truncated.
func safe(text string) string {
	if text = diag.Sanitise(diag.OneLine(text)); len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}

// An Entry is a finding that resources of the same name in several roots have in common.
type Entry struct {
	Finding
	Resource string
	Roots    []string
}

// A Summary lists the findings of all roots, the most severe first.
type Summary struct {
	Entries []*Entry
	known   map[string]*Entry
}

// Add adds the findings for a resource of a root. Both names must be safe for a terminal.
func (s *Summary) Add(root, resource string, list []Finding) {
	for _, f := range list {
		key := fmt.Sprintf("%s\n%s\n%s", resource, f.Title(), f.At())
		e := s.known[key]
		if e == nil {
			e = &Entry{Finding: f, Resource: resource}
			if s.known == nil {
				s.known = map[string]*Entry{}
			}
			s.known[key] = e
			s.Entries = append(s.Entries, e)
		}
		if !slices.Contains(e.Roots, root) {
			e.Roots = append(e.Roots, root)
		}
	}
}

// Sort sorts the entries by level. Entries of the same level keep their order.
func (s *Summary) Sort() {
	slices.SortStableFunc(s.Entries, func(a, b *Entry) int { return int(b.Level) - int(a.Level) })
}

// Worst returns the entries of levels error and warning.
func (s *Summary) Worst() (worst []*Entry) {
	for _, e := range s.Entries {
		if e.Level > diag.LevelInfo {
			worst = append(worst, e)
		}
	}
	return worst
}

// Where returns the resource and roots of an entry, each in the form that show returns.
func (e *Entry) Where(show func(string) string) string {
	const some = 3
	var roots []string
	for _, name := range e.Roots[:min(some, len(e.Roots))] {
		roots = append(roots, show(name))
	}
	text := show(e.Resource) + " in " + strings.Join(roots, ", ")
	if more := len(e.Roots) - some; more > 0 {
		text += fmt.Sprintf(" and %s", diag.Count(more, "more root"))
	}
	return text
}

// Report returns an entry for reports such as SARIF, which need a place.
func (e *Entry) Report() report.Finding {
	level := map[diag.Level]report.Level{diag.LevelError: report.Error, diag.LevelWarning: report.Warning,
		diag.LevelInfo: report.Note}[e.Level]
	msg := e.Where(func(name string) string { return name }) + ": "
	if e.Field != "" {
		msg += safe(e.Field) + ": "
	}
	f := report.Finding{Level: level, Pos: e.Cause, Code: e.Code, Msg: msg + safe(e.Msg)}
	if f.Pos.File == "" {
		f.Pos = e.Object
	}
	if file, ok := strings.CutPrefix(f.Pos.File, revision.Prefix); ok { // of a deleted object; named from the top of the repository
		_, f.Pos.File, _ = strings.Cut(file, ":")
	}
	for _, h := range e.Hints {
		f.Hints = append(f.Hints, safe(h))
	}
	return f
}
