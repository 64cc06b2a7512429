package findings

import (
	"cmp"
	"os"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
)

// A Baseline is a file with the findings that a repository has and accepts. Lines are not part of
// it, so that a finding stays known when its file changes elsewhere.
type Baseline struct {
	known map[entry]bool
}

// An entry identifies a finding. Text is set only for a finding without a field.
type entry struct {
	Code  diag.Code `json:"code"`
	File  string    `json:"file,omitempty"`
	Field string    `json:"field,omitempty"`
	Text  string    `json:"text,omitempty"`
}

func entryOf(e *diag.Error) entry {
	x := entry{Code: diag.CodeOf(e), File: e.Pos.File, Field: e.Field}
	if x.Field == "" {
		x.Text = diag.OneLine(e.Msg)
	}
	return x
}

func (b *Baseline) has(e *diag.Error) bool { return b != nil && b.known[entryOf(e)] }

// ReadBaseline reads a file that [Rules.WriteBaseline] wrote.
func ReadBaseline(path string) (*Baseline, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.NoSuchFile.Errorf("--baseline: %w", err)
	}
	src := &yaml.Source{File: path, Data: data}
	v, err := src.Value()
	if err != nil {
		return nil, err
	}
	var file struct {
		Findings []entry `json:"findings"`
	}
	if mistakes := (yaml.Decoding{}).Decode(v, &file); len(mistakes) > 0 {
		return nil, mistakes[0].In(src)
	}
	b := &Baseline{known: map[entry]bool{}}
	for _, x := range file.Findings {
		b.known[x] = true
	}
	return b, nil
}

// WriteBaseline writes the findings reported so far to a file. It returns their number.
func (r *Rules) WriteBaseline(path string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[entry]bool{}
	for _, e := range r.all {
		known[entryOf(e)] = true
	}
	var list []entry
	for x := range known {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Text, b.Text))
	})
	var items []yaml.Value
	for _, x := range list {
		fields := []yaml.Field{{Key: "code", Value: yaml.Str(string(x.Code))}}
		for _, f := range [][2]string{{"file", x.File}, {"field", x.Field}, {"text", x.Text}} {
			if f[1] != "" {
				fields = append(fields, yaml.Field{Key: f[0], Value: yaml.Str(f[1])})
			}
		}
		items = append(items, yaml.MapOf(fields...))
	}
	text := yaml.AppendYAML(nil, yaml.MapOf(yaml.Field{Key: "findings", Value: yaml.SeqOf(items...)}))
	return len(list), output.EditFile(path, 0o644, func([]byte) ([]byte, error) { return text, nil })
}
