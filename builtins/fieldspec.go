// Follows api/filters/fieldspec/fieldspec.go, api/types/fieldspec.go.

package builtins

import (
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A FieldSpec names a field of the objects of some kinds. An empty Group, Version or Kind stands for any.
//
// Path is a list of field names separated by slashes; a slash inside a name is written \/. Lists on the way are entered
// implicitly: the rest of the path applies to each item. A name that ends in [] says that the field is a list, which is
// then never created.
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

// An EditFunc returns what to put in the place of a field; the field's own Value if nothing is to change.
type EditFunc func(yaml.Value) (yaml.Value, error)

// Edit returns v with fn applied to every field at fs.Path, and v itself if that changes nothing. It does not look at the
// kind of v.
//
// If fs.CreateIfNotPresent and create is not [yaml.None], fields that are missing or null on the way become mappings, and
// the last one an empty value of type create, before fn sees it. Else a missing field ends the walk without an error. A
// scalar on the way is an error.
func (fs FieldSpec) Edit(v yaml.Value, create yaml.Type, fn EditFunc) (yaml.Value, error) {
	c := compileSpec(fs)
	return c.edit(v, create, fn)
}

// A compiledSpec is a FieldSpec whose path is split.
type compiledSpec struct {
	FieldSpec
	path []pathStep
	tree *fieldTree[struct{}] // of this field alone
}

// A pathStep is one name of a path.
type pathStep struct {
	name string
	list bool // the name was marked with []
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

// newStep keeps a name that kustomize cannot look up as an error, because it is one only if the walk gets there.
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

// splitPath splits at slashes that have no backslash before them. One slash at the start is ignored.
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
