package merge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// File is the path of the file, relative to a directory, that records the resources generated
// there. It is hidden, so that it is not read as a resource. It belongs in version control:
// without it, edits cannot be told apart from generated content.
const File = ".krmflow/generated.yaml"

const (
	apiVersion = "krmflow.io/v1alpha1"
	kind       = "GeneratedResources"
)

// A Memory records generated resources by function configuration and resource identity. It must
// not be used concurrently. Values of Secrets are stored as digests. A nil Memory is empty.
type Memory struct {
	made map[string]map[string]yaml.Value
}

// Get returns the recorded version of a resource.
func (m *Memory) Get(function, id string) (yaml.Value, bool) {
	if m == nil {
		return yaml.Value{}, false
	}
	v, ok := m.made[function][id]
	return v, ok
}

// Put records the version of a resource that a function generated.
func (m *Memory) Put(function, id string, v yaml.Value) {
	if m.made == nil {
		m.made = map[string]map[string]yaml.Value{}
	}
	if m.made[function] == nil {
		m.made[function] = map[string]yaml.Value{}
	}
	m.made[function][id] = hidden(v)
}

// Functions returns the functions with recorded resources.
func (m *Memory) Functions() map[string]bool {
	all := make(map[string]bool, len(m.made))
	for function := range m.made {
		all[function] = true
	}
	return all
}

// Rename moves the records of one function to another. It does nothing if the other already has
// records.
func (m *Memory) Rename(from, to string) {
	if _, there := m.made[to]; !there {
		m.made[to] = m.made[from]
		delete(m.made, from)
	}
}

// Keep copies the records of functions that did not run from old.
func (m *Memory) Keep(old *Memory, ran func(function string) bool) {
	if old == nil {
		return
	}
	for function, made := range old.made {
		if !ran(function) {
			for id, v := range made {
				m.Put(function, id, v)
			}
		}
	}
}

// Parse parses the file. Empty data is an empty Memory.
func Parse(name string, data []byte) (*Memory, error) {
	m := &Memory{}
	if len(data) == 0 {
		return m, nil
	}
	src := &yaml.Source{File: name, Data: data}
	v, err := src.Content()
	if err != nil {
		return nil, err
	}
	if v.Get("apiVersion").Text() != apiVersion || v.Get("kind").Text() != kind {
		return nil, diag.WrongKind.Errorf("%s is not a %s of %s: restore it, or remove it if the generated resources were not edited",
			name, kind, apiVersion)
	}
	for _, f := range v.Get("functions").Items() {
		for _, r := range f.Get("resources").Items() {
			m.Put(f.Get("config").Text(), r.Get("id").Text(), r.Get("made"))
		}
	}
	return m, nil
}

// Text returns the content of the file, or nil for an empty Memory. It is deterministic.
func (m *Memory) Text() []byte {
	if len(m.made) == 0 {
		return nil
	}
	var functions []yaml.Value
	for _, function := range slices.Sorted(maps.Keys(m.made)) {
		var rs []yaml.Value
		for _, id := range slices.Sorted(maps.Keys(m.made[function])) {
			rs = append(rs, yaml.MapOf(yaml.Field{Key: "id", Value: yaml.Str(id)}, yaml.Field{Key: "made", Value: m.made[function][id]}))
		}
		functions = append(functions, yaml.MapOf(yaml.Field{Key: "config", Value: yaml.Str(function)},
			yaml.Field{Key: "resources", Value: yaml.SeqOf(rs...)}))
	}
	v := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str(apiVersion)}, yaml.Field{Key: "kind", Value: yaml.Str(kind)},
		yaml.Field{Key: "functions", Value: yaml.SeqOf(functions...)})
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What functions have generated here. krmflow run needs it to keep edits of that: commit it, and do not edit it.\n")
	b.Write(yaml.AppendYAML(nil, v))
	return b.Bytes()
}

const digest = "sha256:"

// hidden returns v with digests in place of the values of Secrets. Existing digests are kept.
func hidden(v yaml.Value) yaml.Value {
	return secret.Edit(v, func(x yaml.Value, _ secret.Place) yaml.Value {
		if isDigest(x) {
			return x
		}
		return digestOf(x)
	})
}

func isDigest(v yaml.Value) bool {
	hash, ok := strings.CutPrefix(v.Text(), digest)
	return ok && len(hash) == 2*sha256.Size
}

func digestOf(v yaml.Value) yaml.Value {
	text := v.Text()
	if !v.IsScalar() {
		text = string(yaml.AppendJSON(nil, v))
	}
	sum := sha256.Sum256([]byte(text))
	return yaml.Str(digest + hex.EncodeToString(sum[:]))
}

// remembers reports whether base equals v. base may contain digests instead of values.
func remembers(base, v yaml.Value) bool {
	switch {
	case same(base, v):
		return true
	case isDigest(base):
		return base.Equal(digestOf(v))
	case base.Type() != v.Type() || base.Len() != v.Len():
		return false
	case v.Type() == yaml.Map:
		return !slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool { return !remembers(base.Get(f.Key), f.Value) })
	}
	for i, x := range v.Items() {
		if !remembers(base.Items()[i], x) {
			return false
		}
	}
	return v.Type() == yaml.Seq
}
