package builtins

import (
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/krm"
)

// A refTree is a set of fields that may hold names, merged into a tree: a Deployment has forty of them, nearly all below
// spec/template/spec, and one walk finds all. A node has either children or specs.
type refTree struct {
	step     pathStep
	children []*refTree
	specs    []refSpec // what the field may refer to, in order
}

// plantTrees returns trees that together do what editing the fields one after the other would do. Nearly always that is
// one; a field and a field within it, whose order counts, are put into different trees.
func plantTrees(specs []refSpec) []*refTree {
	var trees []*refTree
	for _, spec := range specs {
		if len(trees) == 0 || !trees[len(trees)-1].fits(spec.path) {
			trees = append(trees, &refTree{})
		}
		trees[len(trees)-1].insert(spec)
	}
	return trees
}

func (t *refTree) child(name string) *refTree {
	for _, c := range t.children {
		if c.step.name == name {
			return c
		}
	}
	return nil
}

func (t *refTree) fits(path []pathStep) bool {
	for _, step := range path {
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
	return len(t.children) == 0
}

func (t *refTree) insert(spec refSpec) {
	for _, step := range spec.path {
		next := t.child(step.name)
		if next == nil {
			next = &refTree{step: step}
			t.children = append(t.children, next)
		}
		t = next
	}
	t.specs = append(t.specs, spec)
}

// walk returns v with the references in the fields of t updated.
func (f *refFixer) walk(t *refTree, v krm.Value) (krm.Value, error) {
	if len(t.specs) > 0 {
		return f.visit(t.specs, v)
	}
	switch v.Type() {
	case krm.None, krm.Null:
		return v, nil
	case krm.Seq:
		return f.walkItems(t, v)
	case krm.Map:
		return f.walkFields(t, v)
	}
	return v, fmt.Errorf("%s: expected a mapping or a list, found a %s", t.path(), v.Type())
}

// visit applies specs to one field, in order: what one writes another may find.
func (f *refFixer) visit(specs []refSpec, v krm.Value) (krm.Value, error) {
	for i := range specs {
		f.spec, f.role = &specs[i], krm.GVK{}
		if f.spec.role {
			f.role = roleRef(f.referrer.Value())
		}
		w, err := f.edit(v)
		if err != nil {
			return v, fmt.Errorf("%s: %w", f.spec.Path, err)
		}
		v = w
	}
	return v, nil
}

func (f *refFixer) walkItems(t *refTree, v krm.Value) (krm.Value, error) {
	var changed []krm.Value
	for i, item := range v.Items() {
		w, err := f.walk(t, item)
		if err != nil {
			return v, err
		}
		if w.Same(item) {
			continue
		}
		if changed == nil {
			changed = slices.Clone(v.Items())
		}
		changed[i] = w
	}
	if changed == nil {
		return v, nil
	}
	return krm.SeqOf(changed...), nil
}

func (f *refFixer) walkFields(t *refTree, v krm.Value) (krm.Value, error) {
	for _, next := range t.children {
		if next.step.err != nil {
			return v, fmt.Errorf("%s: %w", next.path(), next.step.err)
		}
		old := v.Get(next.step.name)
		if !old.Exists() {
			continue
		}
		field := old
		if old.IsNull() {
			field = absent(old, next.step, false, krm.None)
		}
		w, err := f.walk(next, field)
		if err != nil {
			return v, err
		}
		if !w.Same(old) {
			v = v.With(next.step.name, w)
		}
	}
	return v, nil
}

// path returns the path of the first field below t, for messages.
func (t *refTree) path() string {
	for len(t.specs) == 0 {
		t = t.children[0]
	}
	return t.specs[0].Path
}
