package findings

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
)

// A Baseline is a file with the findings that a repository has and accepts. Lines are not part of
// it, so that a finding stays known when its file changes elsewhere. Paths are relative to the
// folder of the baseline, so that it applies in every working directory.
type Baseline struct {
	known map[entry]bool
	paths *paths
}

// An entry identifies a finding. Text is set only for a finding without a field.
type entry struct {
	Code  diag.Code `json:"code"`
	File  string    `json:"file,omitempty"`
	Field string    `json:"field,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// entryOf returns the entry for e, with the file as it is in messages.
func entryOf(e *diag.Error) entry {
	x := entry{Code: diag.CodeOf(e), File: e.Pos.File, Field: e.Field}
	if x.Field == "" {
		x.Text = positions.ReplaceAllString(diag.OneLine(e.Msg), "")
	}
	return x
}

// positions are the file and line of another object in a text. They depend on the working directory
// and on other changes.
var positions = regexp.MustCompile(` \([^() ]+:\d+\)`)

// has must not be called concurrently.
func (b *Baseline) has(e *diag.Error) bool { return b != nil && b.known[b.paths.in(entryOf(e))] }

// paths are the paths of files relative to a folder. They must not be used concurrently.
type paths struct {
	folder string
	known  map[string]string // by the path in messages
}

// pathsOf returns paths relative to the folder of a file.
func pathsOf(file string) *paths { return &paths{resolve(filepath.Dir(file)), map[string]string{}} }

// resolve returns the absolute path of a file without symbolic links. It returns "" if the file
// does not exist.
func resolve(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real
		}
	}
	return ""
}

// in returns x with the path of its file relative to the folder. The path of a file that is not
// there does not change: it is the reference of a fetched one.
func (p *paths) in(x entry) entry {
	if x.File == "" {
		return x
	}
	path, ok := p.known[x.File]
	if !ok {
		path = x.File
		if rel, err := filepath.Rel(p.folder, resolve(x.File)); err == nil {
			path = filepath.ToSlash(rel)
		}
		p.known[x.File] = path
	}
	x.File = path
	return x
}

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
	b := &Baseline{known: map[entry]bool{}, paths: pathsOf(path)}
	old := !slices.ContainsFunc(file.Findings, func(x entry) bool {
		return x.File != "" && resolve(filepath.Join(b.paths.folder, filepath.FromSlash(x.File))) != ""
	})
	for _, x := range file.Findings {
		if old { // the paths are relative to the working directory
			x = b.paths.in(x)
		}
		b.known[x] = true
	}
	return b, nil
}

// WriteBaseline writes the findings reported so far to a file. It returns their number.
func (r *Rules) WriteBaseline(path string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[entry]bool{}
	files := pathsOf(path)
	for x := range r.seen {
		known[files.in(x)] = true
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
