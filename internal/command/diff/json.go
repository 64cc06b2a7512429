package diff

import (
	"encoding/json"
	"io"
	"reflect"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
)

// Version is the apiVersion of the JSON form. New fields may be added within a version;
// existing fields are never renamed and keep their meaning.
const Version = "krmflow.dev/v1alpha1"

// Form returns the Go type of the JSON form, for generating its description.
func Form() reflect.Type { return reflect.TypeFor[diffDoc]() }

// The JSON form of a difference, documented in docs/review.md.
type (
	diffDoc struct {
		APIVersion string     `json:"apiVersion"`
		Kind       string     `json:"kind"`
		Against    string     `json:"against"`
		Commit     string     `json:"commit,omitempty"`
		Roots      []rootDoc  `json:"roots"`
		Same       int        `json:"same"`
		Failed     []string   `json:"failed,omitempty"`
		Findings   *levelsDoc `json:"findings,omitempty"` // numbers by level, if there are findings
	}
	levelsDoc struct {
		Error   int `json:"error"`
		Warning int `json:"warning"`
		Info    int `json:"info"`
	}
	rootDoc struct {
		Dir       string        `json:"dir"`
		Only      string        `json:"only,omitempty"` // old or new
		Same      int           `json:"same"`
		Moved     int           `json:"moved,omitempty"` // resources in another order
		Moves     []moveDoc     `json:"moves,omitempty"`
		Resources []resourceDoc `json:"resources"`
	}
	moveDoc struct {
		Text      string      `json:"text"`
		Resources int         `json:"resources"`
		Namespace *changedDoc `json:"namespace,omitempty"`
		Prefix    *changedDoc `json:"prefix,omitempty"` // of names
		Suffix    *changedDoc `json:"suffix,omitempty"`
		Cause     string      `json:"cause,omitempty"` // file:line
	}
	changedDoc struct {
		Old string `json:"old"`
		New string `json:"new"`
	}
	resourceDoc struct {
		Change  string          `json:"change"`         // added, removed, changed or moved
		Move    *int            `json:"move,omitempty"` // index in moves
		Old     *sideDoc        `json:"old,omitempty"`
		New     *sideDoc        `json:"new,omitempty"`
		Renamed bool            `json:"renamed,omitempty"`
		Object  json.RawMessage `json:"object,omitempty"` // if added or removed
		Edits   []editDoc       `json:"edits,omitempty"`
		// Findings are the dangers of the change.
		Findings []findings.Doc `json:"findings,omitempty"`
	}
	sideDoc struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace,omitempty"`
		Name       string `json:"name"`
		At         string `json:"at,omitempty"` // file:line
	}
	editDoc struct {
		Op      string          `json:"op"` // add, remove, replace or move
		Path    string          `json:"path"`
		Pointer []any           `json:"pointer"` // field names and list indexes in the new object; in the old one for op remove
		From    *int            `json:"from,omitempty"`
		To      *int            `json:"to,omitempty"`
		Old     json.RawMessage `json:"old,omitempty"`
		New     json.RawMessage `json:"new,omitempty"`
		Hidden  bool            `json:"hidden,omitempty"`
		Follows string          `json:"follows,omitempty"`
		Moves   bool            `json:"moves,omitempty"` // only a consequence of the moves
		Format  string          `json:"format,omitempty"`
		Inside  []editDoc       `json:"inside,omitempty"`
		Lines   []string        `json:"lines,omitempty"`
		Cause   string          `json:"cause,omitempty"` // file:line
	}
)

// WriteJSON writes the form for programs.
func (r *Result) WriteJSON(w io.Writer) error {
	doc := diffDoc{APIVersion: Version, Kind: "Diff", Against: diag.JSONName(r.Against), Commit: r.Commit, Same: r.Same, Roots: []rootDoc{}}
	if n := r.levels(); len(n) > 0 {
		doc.Findings = &levelsDoc{n[diag.LevelError], n[diag.LevelWarning], n[diag.LevelInfo]}
	}
	for _, name := range r.Failed {
		doc.Failed = append(doc.Failed, diag.JSONName(name))
	}
	for i := range r.Roots {
		root := &r.Roots[i]
		one := rootDoc{Dir: diag.JSONName(diag.Redact(root.Name)), Same: root.Changes.Same, Moved: len(root.Changes.Reordered),
			Resources: []resourceDoc{}}
		switch {
		case root.OnlyOld:
			one.Only = "old"
		case root.OnlyNew:
			one.Only = "new"
		}
		for _, m := range movesOf([]*Root{root}).list {
			one.Moves = append(one.Moves, moveOf(m))
		}
		for k := range root.Changes.Resources {
			res := resourceOf(&root.Changes.Resources[k], root.causesOf(k))
			res.Findings = findings.Docs(root.findingsOf(k))
			one.Resources = append(one.Resources, res)
		}
		doc.Roots = append(doc.Roots, one)
	}
	enc := json.NewEncoder(diag.SanitisingWriter(w)) // JSON can escape all control characters
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}

func moveOf(m *move) moveDoc {
	doc := moveDoc{Text: m.Relocation.String(), Resources: m.resources}
	if m.Respaced {
		doc.Namespace = &changedDoc{m.OldNamespace, m.NewNamespace}
	}
	if m.OldPrefix != m.NewPrefix {
		doc.Prefix = &changedDoc{m.OldPrefix, m.NewPrefix}
	}
	if m.OldSuffix != m.NewSuffix {
		doc.Suffix = &changedDoc{m.OldSuffix, m.NewSuffix}
	}
	if m.cause.File != "" {
		doc.Cause = at(m.cause)
	}
	return doc
}

func resourceOf(r *diff.Resource, causes []diag.Pos) resourceDoc {
	doc := resourceDoc{Change: string(r.What), Renamed: r.Renamed, Edits: editsOf(r.Edits, causes)}
	if r.What != diff.Added {
		doc.Old = sideOf(r.Old)
	}
	if r.What != diff.Removed {
		doc.New = sideOf(r.New)
	}
	switch r.What {
	case diff.Relocated:
		doc.Move = &r.Relocation
	case diff.Added:
		doc.Object = findings.Raw(r.After)
	case diff.Removed:
		doc.Object = findings.Raw(r.Before)
	}
	return doc
}

func sideOf(s diff.Side) *sideDoc {
	doc := &sideDoc{APIVersion: s.ID.APIVersion(), Kind: s.ID.Kind, Name: s.ID.Name}
	if s.ID.Namespace != krm.ClusterScope {
		doc.Namespace = s.ID.Namespace
	}
	if s.Pos.File != "" {
		doc.At = at(s.Pos)
	}
	return doc
}

func editsOf(edits []diff.Edit, causes []diag.Pos) (docs []editDoc) {
	for k := range edits {
		e := &edits[k]
		doc := editDoc{Op: string(e.Op), Path: e.Path.String(), Pointer: e.Path.In(e.Op == diff.Remove), Old: findings.Raw(e.Old),
			New:     findings.Raw(e.New),
			Hidden:  e.Hidden,
			Follows: e.Follows, Moves: e.Moves, Format: e.Format, Inside: editsOf(e.Inside, nil)}
		if n := len(e.Path); n > 0 && e.Path[n-1].Item {
			step := e.Path[n-1]
			if step.From >= 0 {
				doc.From = &step.From
			}
			if step.To >= 0 {
				doc.To = &step.To
			}
		}
		for _, line := range e.Lines {
			doc.Lines = append(doc.Lines, line.String())
		}
		if k < len(causes) && causes[k].File != "" {
			doc.Cause = at(causes[k])
		}
		docs = append(docs, doc)
	}
	return docs
}

// at returns a position as file:line.
func at(pos diag.Pos) string {
	pos.File = diag.JSONName(pos.File)
	return pos.String()
}
