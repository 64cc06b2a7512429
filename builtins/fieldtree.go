package builtins

import "github.com/krmflow/krmflow/krm/yaml"

// A fieldTree is a set of fields merged into a tree by their paths: a Deployment has eight fields with labels and forty
// with names, nearly all below spec.template, and each mapping on the way is entered and copied once for all of them.
// What is to be done at a field is in S.
type fieldTree[S any] struct {
	step     pathStep
	create   bool // a field at or below is created where it is missing
	children []*fieldTree[S]
	specs    []S    // not empty at a field, which has no children then
	path     string // of the first field at or below, for messages
}

// plantTrees returns trees that together do what editing the fields one after the other would do. Nearly always that is
// one; a field and a field within it, whose order counts, are put into different trees.
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

// walk returns v with visit applied to the fields of t, and v itself if that changes nothing. Fields to create become
// empty values of type create first; with [yaml.None] none is created.
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

// walkFields copies the mapping at the first field that changes.
func (t *fieldTree[S]) walkFields(v yaml.Value, create yaml.Type, visit func([]S, yaml.Value) (yaml.Value, error)) (yaml.Value, error) {
	fields, copied := v.Fields(), false
	for _, next := range t.children {
		if next.step.err != nil {
			return v, labelled(next.path, next.step.err)
		}
		i := indexField(fields, next.step.name)
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

func indexField(fields []yaml.Field, key string) int { return yaml.MapOf(fields...).Index(key) }

// A fieldFinder finds fields of a mapping by key.
type fieldFinder struct {
	fields []yaml.Field
	index  map[string]int // nil if it does not pay
}

// findFields returns a fieldFinder for v that will be asked so many times: an index pays if there are thousands.
func findFields(v yaml.Value, times int) fieldFinder {
	f := fieldFinder{fields: v.Fields()}
	if len(f.fields) > 16 && times > 16 {
		f.index = make(map[string]int, len(f.fields))
		for i := range f.fields {
			f.index[f.fields[i].Key] = i
		}
	}
	return f
}

// find returns the position of a field, -1 if there is none.
func (f *fieldFinder) find(key string) int {
	if f.index == nil {
		return indexField(f.fields, key)
	}
	if i, ok := f.index[key]; ok {
		return i
	}
	return -1
}

// start returns what the walk goes on with at a field that holds old: where fields are created, a field that is missing
// or null counts as empty. A field that the path marks as a list is never made, but becomes an empty list if it is null.
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
