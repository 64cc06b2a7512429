package explain

import (
	"encoding/json"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Document is a [Report] for programs. Within a Version, fields may be added but are never
// removed and keep their meaning.
type Document struct {
	Version    int             `json:"version"`
	Root       string          `json:"root"`
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name"`
	Field      string          `json:"field,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Removed    bool            `json:"removed,omitempty"`
	Absent     bool            `json:"absent,omitempty"`
	Partial    bool            `json:"partial,omitempty"`
	Steps      []DocumentStep  `json:"steps"`
	Near       []DocumentNear  `json:"near,omitempty"`
}

// A DocumentNear is a [Near].
type DocumentNear struct {
	ID      string   `json:"id"`
	Verb    string   `json:"verb"`
	Summary string   `json:"summary,omitempty"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Says    []string `json:"says,omitempty"`
}

// A DocumentStep is a [Step].
type DocumentStep struct {
	ID      string           `json:"id"`
	Verb    string           `json:"verb"`
	Summary string           `json:"summary,omitempty"`
	File    string           `json:"file,omitempty"`
	Line    int              `json:"line,omitempty"`
	Field   string           `json:"field,omitempty"`
	Made    bool             `json:"made,omitempty"`
	Removed bool             `json:"removed,omitempty"`
	Failed  bool             `json:"failed,omitempty"`
	Why     string           `json:"why,omitempty"`
	Changes []DocumentChange `json:"changes,omitempty"`
}

// A DocumentChange is a [Change]. Absent values are omitted.
type DocumentChange struct {
	Path  string          `json:"path"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
	File  string          `json:"file,omitempty"`
	Line  int             `json:"line,omitempty"`
	Field string          `json:"field,omitempty"`
	Lines []string        `json:"lines,omitempty"`
}

// JSON returns the report as a document for programs.
func (r *Report) JSON() Document {
	d := Document{Version: 1, Root: diag.Redact(r.Root), APIVersion: r.ID.APIVersion(), Kind: r.ID.Kind, Namespace: r.ID.Namespace,
		Name:  r.ID.Name,
		Field: r.Field, Value: raw(r.Value), Removed: r.Removed, Absent: r.Absent, Partial: r.Partial, Steps: []DocumentStep{}}
	for _, s := range r.Steps {
		step := DocumentStep{ID: s.Node.ID, Verb: s.Node.Op.Verb(), Summary: s.Node.Summary, File: s.Pos.File, Line: s.Pos.Line,
			Field: s.Config,
			Made:  s.Made, Removed: s.Removed, Failed: s.Failed, Why: s.Why}
		for _, c := range s.Changes {
			change := DocumentChange{Path: c.Path, Old: raw(c.Old), New: raw(c.New), File: c.Pos.File, Line: c.Pos.Line, Field: c.Field}
			for _, line := range c.Lines {
				change.Lines = append(change.Lines, line.String())
			}
			step.Changes = append(step.Changes, change)
		}
		d.Steps = append(d.Steps, step)
	}
	for _, x := range r.Near {
		d.Near = append(d.Near, DocumentNear{x.Node.ID, x.Node.Op.Verb(), x.Node.Summary, x.Pos.File, x.Pos.Line, x.Says})
	}
	return d
}

func raw(v yaml.Value) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return yaml.AppendJSON(nil, v)
}
