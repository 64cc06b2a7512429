package builtins

import "github.com/krmflow/krmflow/krm/yaml"

// A fieldTree merges the paths of several fields into a tree, with an action of type S for each
// field. A Deployment has eight fields with labels and forty fields with names, nearly all of
// them below spec.template. With a tree, each mapping on the way is entered and copied once
// instead of once per field.
type fieldTree[S any] struct {
	step     pathStep
	create   bool // create this field if it is missing, for itself or for a field below
	children []*fieldTree[S]
	specs    []S    // the actions; not empty only at a field, which then has no children
	path     string // the path of the first field at or below this one, for messages
}

// plantTrees returns trees whose walks together have the same effect as editing the fields one by
// one. Usually a single tree is enough. A field and another field within it need two trees,
// because their order matters.
func plantTrees[S any](specs []S, compiled func(*S) *compiledSpec) []*fieldTree[S] {
	var trees []*fieldTree[S]
	for i := range specs {
		c := compiled(&specs[i])
		if len(trees) == 0 || !trees[len(trees)-1].fits(c) {
			trees = append(trees, &fieldTree[S]{path: c.Path})
		}
		trees[len(trees)-1].insert(c, specs[i])
	}
	return trees
}

func (t *fieldTree[S]) child(name string) *fieldTree[S] {
	for _, c := range t.children {
		if c.step.name == name {
			return c
		}
	}
	return nil
}

func (t *fieldTree[S]) fits(c *compiledSpec) bool {
	for _, step := range c.path {
		if len(t.specs) > 0 {
			return false
		}
		next := t.child(step.name)
		if next == nil {
			return true
		}
		if next.step.list != step.list {
			return false
		}
		t = next
	}
	return len(t.children) == 0 && (len(t.specs) == 0 || t.create == c.CreateIfNotPresent)
}

func (t *fieldTree[S]) insert(c *compiledSpec, spec S) {
	for _, step := range c.path {
		next := t.child(step.name)
		if next == nil {
			next = &fieldTree[S]{step: step, path: c.Path}
			t.children = append(t.children, next)
		}
		next.create = next.create || c.CreateIfNotPresent
		t = next
	}
	t.specs = append(t.specs, spec)
}

// walk returns v with visit applied to the fields of t, or v itself if nothing changes. Before
// the visit, it creates missing fields as empty values of type create; with [yaml.None] it
// creates none.
func (t *fieldTree[S]) walk(v yaml.Value, create yaml.Type, visit func([]S, yaml.Value) (yaml.Value, error)) (yaml.Value, error) {
	if len(t.specs) > 0 {
		w, err := visit(t.specs, v)
		if err != nil {
			return v, labelled(t.path, err)
		}
		return w, nil
	}
	switch v.Type() {
	case yaml.None, yaml.Null:
		return v, nil
	case yaml.Seq:
		return v.EditItems(func(item yaml.Value) (yaml.Value, error) { return t.walk(item, create, visit) })
	case yaml.Map:
		return t.walkFields(v, create, visit)
	}
	return v, labelled(t.path, errFound("a mapping or a list", v))
}

// walkFields walks the fields of a mapping. It copies the mapping when the first field changes.
func (t *fieldTree[S]) walkFields(v yaml.Value, create yaml.Type, visit func([]S, yaml.Value) (yaml.Value, error)) (yaml.Value, error) {
	fields, copied := v.Fields(), false
	for _, next := range t.children {
		if next.step.err != nil {
			return v, labelled(next.path, next.step.err)
		}
		i := yaml.MapOf(fields...).Index(next.step.name)
		var old yaml.Value
		if i >= 0 {
			old = fields[i].Value
		}
		field := next.start(old, create)
		if !field.Exists() {
			continue
		}
		w, err := next.walk(field, create, visit)
		if err != nil {
			return v, err
		}
		if w.Same(old) {
			continue
		}
		if !copied {
			fields, copied = append(make([]yaml.Field, 0, len(fields)+1), fields...), true
		}
		if i < 0 {
			fields = append(fields, yaml.Field{Key: next.step.name, Value: w})
		} else {
			fields[i].Value = w
		}
	}
	if !copied {
		return v, nil
	}
	return v.WithFields(fields...), nil
}

// start returns the value to walk for a field with the value old. If the field may be created, a
// missing or null one is treated as empty. A field with the suffix [] is never created, but a
// null in it becomes an empty list.
func (t *fieldTree[S]) start(old yaml.Value, create yaml.Type) yaml.Value {
	switch {
	case !old.IsNull():
		return old
	case t.step.list && old.Exists():
		return yaml.SeqOf()
	case t.step.list || create == yaml.None || !t.create:
		return old
	case len(t.specs) == 0 || create == yaml.Map:
		return yaml.MapOf()
	case create == yaml.Seq:
		return yaml.SeqOf()
	}
	return yaml.Number(create, old.SourceText()) // kustomize keeps the text of a null
}
