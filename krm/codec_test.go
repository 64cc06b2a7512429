package krm

import (
	"reflect"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Everything that a build remembers about a resource is in its encoded form: a new field of Resource has to be, too, or to be among those
// that belong to a list alone or only save work.
func TestCodecState(t *testing.T) {
	kinds, err := schema.Parse(yaml.MapOf(yaml.Field{Key: "definitions", Value: yaml.MapOf()}))
	if err != nil {
		t.Fatal(err)
	}
	linked := yaml.Linked("a")
	r := NewResource(yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str("X")}), kinds)
	r.SetLinkedValue(r.Value().With("metadata", yaml.MapOf(yaml.Field{Key: "name", Value: linked}, yaml.Field{Key: "namespace", Value: linked})))
	r.PushID()
	r.Prefixes, r.Suffixes, r.RefVars = []string{"p-"}, []string{"-s", ""}, []string{"V"}
	r.Behavior, r.NeedsHash = "merge", true
	r.Origin = &Origin{Path: "p", Repo: "r", Ref: "v1", ConfiguredIn: "c", ConfiguredBy: r.ID()}
	r.Transformations = []*Origin{{Path: "t"}, r.Origin}
	r.Pos = diag.Pos{File: "f", Line: 7}

	data := NewList(r).AppendBinary(nil)
	list, err := ReadList(data, func(key [32]byte) *schema.Schema {
		if key != kinds.Key() {
			return nil
		}
		return kinds
	})
	if err != nil {
		t.Fatal(err)
	}
	want, got := reflect.ValueOf(r).Elem(), reflect.ValueOf(list.At(0)).Elem()
	for i := range want.NumField() {
		switch name := want.Type().Field(i).Name; {
		case slices.Contains([]string{"owner", "room", "rewritten", "Taken"}, name):
		case want.Field(i).IsZero():
			t.Errorf("%s is not set", name)
		case name == "value":
			if a, b := r.Value().AppendBinary(nil), list.At(0).Value().AppendBinary(nil); !slices.Equal(a, b) {
				t.Errorf("the value is %q, want %q", b, a)
			}
		case !reflect.DeepEqual(reflect.NewAt(want.Field(i).Type(), want.Field(i).Addr().UnsafePointer()).Elem().Interface(),
			reflect.NewAt(got.Field(i).Type(), got.Field(i).Addr().UnsafePointer()).Elem().Interface()):
			t.Errorf("%s is %v, want %v", name, got.Field(i), want.Field(i))
		}
	}
	if _, err := ReadList(data, func([32]byte) *schema.Schema { return nil }); err == nil {
		t.Error("no error without the schema")
	}
	for n := range data { // what was cut off is an error
		if _, err := ReadList(data[:n], func([32]byte) *schema.Schema { return kinds }); err == nil {
			t.Errorf("no error for the first %d of %d bytes", n, len(data))
		}
	}
}

// Equal origins have one number, whether they are one in memory or not: the bytes say the same in every process.
func TestCodecOrigins(t *testing.T) {
	encode := func(second *Origin, first *Origin) string {
		a, b := NewResource(yaml.MapOf(), nil), NewResource(yaml.MapOf(), nil)
		a.Origin, b.Origin = first, second
		return string(NewList(a, b).AppendBinary(nil))
	}
	o := &Origin{Path: "p"}
	if encode(o, o) != encode(o, &Origin{Path: "p"}) {
		t.Error("two equal origins are encoded otherwise than one")
	}
}
