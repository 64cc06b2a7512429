package krm

import (
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func TestListChange(t *testing.T) {
	r := NewResource(yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str("A")},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("one")})}), nil)
	rename := func(name string) func(*Resource) {
		return func(r *Resource) {
			r.PushID()
			r.SetName(name)
		}
	}
	l := NewList(r)
	if got := l.Find(ID{GVK: GVK{Kind: "A"}, Name: "one"}); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	l.Change(0, rename("two"))
	if r.ID().Name != "one" {
		t.Error("a resource was changed that the list did not make")
	}
	if got := l.Find(ID{GVK: GVK{Kind: "A"}, Name: "two"}); len(got) != 1 {
		t.Error("the index has the old name")
	}
	mine := l.At(0)
	l.Change(0, rename("three"))
	if l.At(0) != mine || mine.ID().Name != "three" || len(mine.Prev) != 2 {
		t.Errorf("a resource of the list's own was not changed in its place: %v", l.At(0).ID())
	}
	if got := l.FindAny(ID{GVK: GVK{Kind: "A"}, Name: "one", Namespace: "default"}); len(got) != 1 {
		t.Error("the index lost the oldest name")
	}
	clone := l.Clone()
	clone.Change(0, rename("four"))
	l = l.Take(HandedOver)
	shared := l.At(0)
	l.Change(0, rename("five"))
	if shared.ID().Name != "three" || clone.At(0).ID().Name != "four" || l.At(0).ID().Name != "five" {
		t.Errorf("lists that share resources changed each other: %v, %v, %v", shared.ID(), clone.At(0).ID(), l.At(0).ID())
	}
}
