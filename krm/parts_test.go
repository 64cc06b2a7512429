package krm

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func longList(n int) *List {
	l := NewList()
	for i := range n {
		v := yaml.MapOf(
			yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")}, yaml.Field{Key: "kind", Value: yaml.Str("ConfigMap")},
			yaml.Field{Key: "metadata", Value: yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(fmt.Sprint("c", i))})})
		if err := l.Append(NewResource(v, nil)); err != nil {
			panic(err)
		}
	}
	return l
}

// onCores runs the test on n cores, regardless of the machine.
func onCores(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func TestPartsMatchWholeList(t *testing.T) {
	onCores(t, 4)
	for _, n := range []int{0, 1, minPart, 2 * minPart, 5*minPart + 1} {
		rename := func(part *List) error {
			for i := range part.All() {
				part.Change(i, func(r *Resource) { r.PushID(); r.SetName("new-" + r.ID().Name) })
			}
			return nil
		}
		want, got := longList(n), longList(n)
		shared := got.Clone()
		if len(got.Find(ID{GVK: GVK{Version: "v1", Kind: "ConfigMap"}, Name: "c0"})) != min(n, 1) {
			t.Fatal("the list is not as it should be")
		}
		_ = rename(want)
		if err := got.Parts(rename); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want.AppendYAML(nil), got.AppendYAML(nil)) || want.Size() != got.Size() {
			t.Errorf("%d resources: parts are changed in another way than the whole, sizes %d and %d", n, want.Size(), got.Size())
		}
		if n > 0 {
			id := got.At(n - 1).ID()
			if at := got.Find(id); len(at) != 1 || at[0] != n-1 {
				t.Errorf("%d resources: %s is found at %v", n, id, at)
			}
			if name := shared.At(n - 1).ID().Name; name != fmt.Sprint("c", n-1) {
				t.Errorf("%d resources: another list has %s", n, name)
			}
		}
	}
}

func TestPartsFail(t *testing.T) {
	onCores(t, 4)
	l := longList(5 * minPart)
	err := l.Parts(func(part *List) error {
		for i, r := range part.All() {
			if name := r.ID().Name; i%100 == 50 {
				return errors.New(name)
			}
		}
		return nil
	})
	if err == nil || err.Error() != "c50" {
		t.Errorf("error %v, want that of the first resource", err)
	}
	defer func() {
		if p := recover(); p != "odd" {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = l.Parts(func(part *List) error {
		if part.At(0).ID().Name != "c0" {
			panic("odd")
		}
		return nil
	})
}

func TestPartsGrow(t *testing.T) {
	onCores(t, 4)
	l := longList(4 * minPart)
	large := yaml.Str(string(make([]byte, yaml.MaxList/minPart)))
	err := l.Parts(func(part *List) error {
		for i := range part.All() {
			part.Change(i, func(r *Resource) { r.SetValue(r.Value().With("large", large)) })
		}
		return nil
	})
	if err != nil || l.CheckSize() == nil {
		t.Errorf("error %v, and the size is %d", err, l.Size())
	}
}
