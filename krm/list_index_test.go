package krm

import (
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func listObject(name string) *Resource {
	return NewResource(yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")},
		yaml.Field{Key: "kind", Value: yaml.Str("ConfigMap")},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(name)})}), nil)
}

// TestSetKeepsIndexesRight renames resources in several ways and compares the indexes with new
// ones.
func TestSetKeepsIndexesRight(t *testing.T) {
	steps := []func(r *Resource){
		func(r *Resource) { r.PushID() },
		func(r *Resource) { r.PushID(); r.SetName("b") },
		func(r *Resource) { r.PushID() },
		func(r *Resource) { r.SetValue(r.Value().WithAt(yaml.Str("n"), "metadata", "namespace")) },
		func(r *Resource) { r.Prev = nil },
		func(r *Resource) { r.PushID(); r.PushID() },
		func(r *Resource) { r.SetName("x") },
	}
	l := NewList(listObject("a"), listObject("x"))
	for i, step := range steps {
		for _, name := range []string{"a", "b", "x"} {
			l.Find(listObject(name).ID()) // build the indexes
			l.FindAny(listObject(name).ID())
			l.Named(name)
		}
		r := l.At(0).Copy()
		step(r)
		l.Set(0, r)
		fresh := l.Clone()
		for _, name := range []string{"a", "b", "x"} {
			for _, ns := range []string{"", "n"} {
				id := listObject(name).ID()
				id.Namespace = ns
				if len(l.Find(id)) != len(fresh.Find(id)) || len(l.FindAny(id)) != len(fresh.FindAny(id)) ||
					len(l.Named(name)) != len(fresh.Named(name)) {
					t.Errorf("step %d: %s: %v %v %v, want %v %v %v", i, id, l.Find(id), l.FindAny(id), l.Named(name), fresh.Find(id),
						fresh.FindAny(id), fresh.Named(name))
				}
			}
		}
		if (l.CheckUnique() == nil) != (fresh.CheckUnique() == nil) {
			t.Errorf("step %d: unique: %v, want %v", i, l.CheckUnique(), fresh.CheckUnique())
		}
	}
}
