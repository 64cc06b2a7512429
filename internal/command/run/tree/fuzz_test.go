package tree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// treeOf returns a tree of one file, or nil if it contains no resources.
func treeOf(data []byte) *Tree {
	f := &File{Path: "f.yaml", Data: data, name: "f.yaml"}
	if why, err := f.parse(); why != "" || err != nil {
		return nil
	}
	t := &Tree{Dir: os.DevNull, Files: []*File{f}, objects: map[*krm.Origin]*Object{}}
	for _, o := range f.Objects {
		t.objects[o.mark] = o
	}
	return t
}

// mutated returns a value with a random change.
func mutated(r *rand.Rand, v yaml.Value, depth int) yaml.Value {
	texts := []string{"x", "", "yes", "1", "a: b", "two\nlines\n", "# no comment", " space", "é", "{{x}}", "- x"}
	text := texts[r.IntN(len(texts))]
	switch {
	case v.Type() == yaml.Map && v.Len() > 0 && r.IntN(4) > 0:
		f := v.Fields()[r.IntN(v.Len())]
		if depth == 0 && (f.Key == "apiVersion" || f.Key == "kind") || depth == 1 && f.Key == "annotations" {
			return v
		}
		if depth > 0 && r.IntN(5) == 0 {
			return v.Without(f.Key)
		}
		if depth == 0 && f.Key == "metadata" && f.Value.Type() != yaml.Map {
			return v
		}
		return v.With(f.Key, mutated(r, f.Value, depth+1))
	case v.Type() == yaml.Map:
		return v.With("added"+fmt.Sprint(r.IntN(3)),
			[]yaml.Value{yaml.Str(text), yaml.SeqOf(yaml.Str(text)), yaml.MapOf(yaml.Field{Key: "k", Value: yaml.Str(text)})}[r.IntN(3)])
	case v.Type() == yaml.Seq && v.Len() > 0 && r.IntN(3) > 0:
		i := r.IntN(v.Len())
		return v.WithItem(i, mutated(r, v.Items()[i], depth+1))
	case v.Type() == yaml.Seq:
		return yaml.SeqOf(append(append([]yaml.Value{}, v.Items()...), yaml.Str(text))...)
	}
	return yaml.Str(text)
}

// FuzzChange changes objects of files at random. The file must then contain the new objects, and
// the text of all other documents must stay.
func FuzzChange(f *testing.F) {
	for _, dir := range []string{"testdata/trees/odd"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			f.Fatal(err)
		}
		for i, e := range entries {
			data, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, uint64(i))
			f.Add(data, uint64(i+100))
		}
	}
	if dir := os.Getenv("KRMFLOW_TEST_TREES"); dir != "" { // as seeds only: go test -run FuzzChange
		err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !CanHold(d.Name()) {
				return err
			}
			data, err := os.ReadFile(file)
			for seed := range uint64(4) {
				f.Add(data, seed)
			}
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) > 1<<14 {
			return
		}
		tr := treeOf(data)
		if tr == nil {
			return
		}
		r := rand.New(rand.NewPCG(seed, 2))
		list := krm.NewList(tr.Resources()...)
		changed := r.IntN(list.Len())
		var want []yaml.Value
		for i, x := range list.All() {
			if i == changed {
				x.SetValue(mutated(r, x.Value(), 0))
			}
			want = append(want, Bare(x.Value(), tr.Files[0].Objects[i].Value))
		}
		c, err := tr.Changes(list, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Files) == 0 {
			return
		}
		again := treeOf(c.Files[0].New)
		if again == nil || len(again.Files[0].Objects) != len(want) {
			t.Fatalf("cannot be read again:\n%q\nwas\n%q", c.Files[0].New, data)
		}
		for i, o := range again.Files[0].Objects {
			got := Bare(o.Value, want[i])
			if _, same := yaml.Unchanged(want[i], got); !same && !keep(got, want[i], 0).Same(got) && !want[i].Equal(got) {
				t.Fatalf("object %d is\n%s\nwant\n%s\ntext\n%q\nwas\n%q", i, yaml.AppendJSON(nil, got), yaml.AppendJSON(nil, want[i]),
					c.Files[0].New, data)
			}
		}
		for i, p := range tr.Files[0].parts {
			if len(p.objects) > 0 && p != tr.Files[0].Objects[changed].part && !bytes.Equal(again.Files[0].parts[i].text, p.text) {
				t.Fatalf("part %d is another text:\n%q\nwas\n%q", i, c.Files[0].New, data)
			}
		}
	})
}
