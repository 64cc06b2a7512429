// Follows api/filters/fieldspec/fieldspec.go, api/types/fieldspec.go.

package builtins

import (
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A FieldSpec names a field of objects of certain kinds. An empty Group, Version or Kind matches
// all.
//
// Path is a list of field names separated by slashes; \/ is a slash within a name. Lists on the
// way are entered implicitly: the rest of the path applies to each item. A name with the suffix
// [] denotes a list, which is never created.
type FieldSpec struct {
	Group              string `json:"group,omitempty" decode:"text"`
	Version            string `json:"version,omitempty" decode:"text"`
	Kind               string `json:"kind,omitempty" decode:"text"`
	Path               string `json:"path,omitempty"`
	CreateIfNotPresent bool   `json:"create,omitempty"`
}

// GVK returns the kinds that fs applies to.
func (fs FieldSpec) GVK() krm.GVK {
	return krm.GVK{Group: fs.Group, Version: fs.Version, Kind: fs.Kind}
}

// An EditFunc returns the replacement of a field. It returns its argument to leave the field
// unchanged.
type EditFunc func(yaml.Value) (yaml.Value, error)

// Edit returns v with fn applied to every field at fs.Path, or v itself if nothing changes. It
// ignores the kind of v.
//
// If fs.CreateIfNotPresent is set and create is not [yaml.None], missing or null fields on the
// way become mappings, and the last field becomes an empty value of type create before the call
// of fn. Otherwise Edit skips a missing field without an error. A scalar on the way is an error.
func (fs FieldSpec) Edit(v yaml.Value, create yaml.Type, fn EditFunc) (yaml.Value, error) {
	c := compileSpec(fs)
	return c.edit(v, create, fn)
}

// A compiledSpec is a FieldSpec with its path split.
type compiledSpec struct {
	FieldSpec
	path []pathStep
	tree *fieldTree[struct{}] // contains only this field
}

// A pathStep is one name of a path.
type pathStep struct {
	name string
	list bool // the name had the suffix []
	err  error
}

func compileSpec(fs FieldSpec) compiledSpec {
	names := splitPath(fs.Path)
	c := compiledSpec{FieldSpec: fs, path: make([]pathStep, len(names))}
	for i, name := range names {
		c.path[i] = newStep(name)
	}
	c.tree = &fieldTree[struct{}]{path: fs.Path}
	c.tree.insert(&c, struct{}{})
	return c
}

// newStep converts a name. Kustomize reports a name that it cannot look up only when it reaches
// the name, so newStep stores the error in the step.
func newStep(name string) pathStep {
	name, list := strings.CutSuffix(name, "[]")
	step := pathStep{name: strings.TrimSpace(name), list: list}
	_, notNumber := strconv.Atoi(step.name)
	switch {
	case step.name == "":
		step.err = diag.BadFieldPath.Errorf("cannot set or create an empty field name")
	case step.name == "*":
		step.err = diag.BadFieldPath.Errorf("wildcards are not supported in field paths")
	case notNumber == nil, step.name == "-", step.name[0] == '[' && strings.HasSuffix(step.name, "]"):
		step.err = diag.BadFieldPath.Errorf("%q selects list items, but lists are entered implicitly", step.name)
	}
	return step
}

// splitPath splits path at slashes that do not follow a backslash. It ignores one leading slash.
func splitPath(path string) []string {
	parts := strings.Split(path, "/")
	if len(parts) > 1 && parts[0] == "" {
		parts = parts[1:]
	}
	names := parts[:1]
	for _, part := range parts[1:] {
		last := &names[len(names)-1]
		if head, escaped := strings.CutSuffix(*last, `\`); escaped {
			*last = head + "/" + part
		} else {
			names = append(names, part)
		}
	}
	return names
}

func (c *compiledSpec) edit(v yaml.Value, create yaml.Type, fn EditFunc) (yaml.Value, error) {
	return c.tree.walk(v, create, func(_ []struct{}, field yaml.Value) (yaml.Value, error) { return fn(field) })
}
