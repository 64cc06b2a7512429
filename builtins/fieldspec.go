package builtins

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// A FieldSpec names a field of the objects of some kinds. An empty Group, Version or Kind stands for any.
//
// Path is a list of field names separated by slashes; a slash inside a name is written \/. Lists on the way are entered
// implicitly: the rest of the path applies to each item. A name that ends in [] says that the field is a list, which is
// then never created.
type FieldSpec struct {
	Group              string `json:"group,omitempty"`
	Version            string `json:"version,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Path               string `json:"path,omitempty"`
	CreateIfNotPresent bool   `json:"create,omitempty"`
}

// GVK returns the kinds that fs applies to.
func (fs FieldSpec) GVK() krm.GVK {
	return krm.GVK{Group: fs.Group, Version: fs.Version, Kind: fs.Kind}
}

// An EditFunc returns what to put in the place of a field; the field's own Value if nothing is to change.
type EditFunc func(krm.Value) (krm.Value, error)

// Edit returns v with fn applied to every field at fs.Path, and v itself if that changes nothing. It does not look at the
// kind of v.
//
// If fs.CreateIfNotPresent and create is not [krm.None], fields that are missing or null on the way become mappings, and
// the last one an empty value of type create, before fn sees it. Else a missing field ends the walk without an error. A
// scalar on the way is an error.
func (fs FieldSpec) Edit(v krm.Value, create krm.Type, fn EditFunc) (krm.Value, error) {
	c := compileSpec(fs)
	return c.edit(v, create, fn)
}

// A compiledSpec is a FieldSpec whose path is split.
type compiledSpec struct {
	FieldSpec
	path []pathStep
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
	return c
}

// newStep keeps a name that kustomize cannot look up as an error, because it is one only if the walk gets there.
func newStep(name string) pathStep {
	name, list := strings.CutSuffix(name, "[]")
	step := pathStep{name: strings.TrimSpace(name), list: list}
	_, notNumber := strconv.Atoi(step.name)
	switch {
	case step.name == "":
		step.err = errors.New("cannot set or create an empty field name")
	case step.name == "*":
		step.err = errors.New("wildcards are not supported in field paths")
	case notNumber == nil, step.name == "-", step.name[0] == '[' && strings.HasSuffix(step.name, "]"):
		step.err = fmt.Errorf("%q selects list items, but lists are entered implicitly", step.name)
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

func (c *compiledSpec) edit(v krm.Value, create krm.Type, fn EditFunc) (krm.Value, error) {
	if !c.CreateIfNotPresent {
		create = krm.None
	}
	w, err := editAt(v, c.path, create, fn)
	if err != nil {
		return v, fmt.Errorf("considering field %q: %w", c.Path, err)
	}
	return w, nil
}

func editAt(v krm.Value, path []pathStep, create krm.Type, fn EditFunc) (krm.Value, error) {
	if len(path) == 0 {
		return fn(v)
	}
	switch v.Type() {
	case krm.None, krm.Null:
		return v, nil
	case krm.Seq:
		return editItems(v, path, create, fn)
	case krm.Map:
		return editField(v, path, create, fn)
	}
	return v, fmt.Errorf("at %q: %w", path[0].name, errFound("a mapping or a list", v))
}

// editItems copies the list at the first item that changes.
func editItems(v krm.Value, path []pathStep, create krm.Type, fn EditFunc) (krm.Value, error) {
	var changed []krm.Value
	for i, item := range v.Items() {
		w, err := editAt(item, path, create, fn)
		if err != nil {
			return v, err
		}
		if w.Same(item) {
			continue
		}
		if changed == nil {
			changed = append(changed, v.Items()...)
		}
		changed[i] = w
	}
	if changed == nil {
		return v, nil
	}
	return krm.SeqOf(changed...), nil
}

func editField(v krm.Value, path []pathStep, create krm.Type, fn EditFunc) (krm.Value, error) {
	step := path[0]
	if step.err != nil {
		return v, step.err
	}
	old := v.Get(step.name)
	field := old
	if old.IsNull() {
		field = absent(old, step, len(path) == 1, create)
	}
	if !field.Exists() {
		return v, nil
	}
	w, err := editAt(field, path[1:], create, fn)
	if err != nil || w.Same(old) {
		return v, err
	}
	return v.With(step.name, w), nil
}

// absent returns what a field that is missing or null is taken for: a field marked as a list that is null becomes an
// empty list even where nothing is created.
func absent(old krm.Value, step pathStep, last bool, create krm.Type) krm.Value {
	switch {
	case step.list && old.Exists():
		return krm.SeqOf()
	case step.list || create == krm.None:
		return old
	case last:
		return emptyOf(create)
	}
	return krm.MapOf()
}

func emptyOf(t krm.Type) krm.Value {
	switch t {
	case krm.Map:
		return krm.MapOf()
	case krm.Seq:
		return krm.SeqOf()
	}
	return krm.Number(t, "")
}
