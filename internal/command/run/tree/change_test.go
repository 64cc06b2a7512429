package tree_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestLabelEverything adds a label to each resource of public trees. The files must then contain
// the labelled resources, with only the necessary line changes.
func TestLabelEverything(t *testing.T) {
	for _, dir := range []string{"testdata/trees", os.Getenv("KRMFLOW_TEST_TREES")} {
		if dir == "" {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		files, notes, lost := 0, 0, 0
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			tr, err := tree.Read(t.Context(), filepath.Join(dir, e.Name()), os.ReadFile)
			if err != nil || len(tr.Files) == 0 {
				continue
			}
			list := krm.NewList(tr.Resources()...)
			for _, r := range list.All() {
				r.SetValue(r.Value().WithAt(yaml.Str("yes"), "metadata", "labels", "added-here"))
			}
			c, err := tr.Changes(list, nil)
			if err != nil {
				t.Fatal(err)
			}
			notes += len(c.Notes)
			for _, n := range c.Notes {
				t.Log(n)
			}
			for _, f := range c.Files {
				files++
				lost += checkLabelled(t, e.Name()+"/"+f.Path, f)
			}
			if len(c.Files) != len(tr.Files) {
				t.Errorf("%s: %d of %d files change", e.Name(), len(c.Files), len(tr.Files))
			}
		}
		t.Logf("%s: %d files, %d of their lines changed, %d written anew", dir, files, lost, notes)
	}
}

// checkLabelled compares a file with its old content and returns the number of removed or changed
// lines.
func checkLabelled(t *testing.T, name string, f tree.Change) (lost int) {
	t.Helper()
	before, after := values(t, name, f.Old), values(t, name, f.New)
	if len(before) != len(after) {
		t.Errorf("%s: %d documents, were %d", name, len(after), len(before))
		return 0
	}
	for i, v := range before {
		want := tree.Bare(v.WithAt(yaml.Str("yes"), "metadata", "labels", "added-here"), v)
		if field, same := yaml.Unchanged(want, after[i]); !same && !want.Equal(after[i]) {
			t.Errorf("%s: document %d differs at %v", name, i, field)
		}
	}
	now := map[string]int{}
	for line := range bytes.Lines(f.New) {
		now[strings.TrimRight(string(line), "\r\n")]++
	}
	for line := range bytes.Lines(f.Old) {
		text := strings.TrimRight(string(line), "\r\n")
		if now[text]--; now[text] < 0 {
			lost++
		}
	}
	return lost
}

func values(t *testing.T, name string, data []byte) (list []yaml.Value) {
	t.Helper()
	docs, err := (&yaml.Source{File: name, Data: data}).Configs()
	if err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	for _, d := range docs {
		list = append(list, d.Value)
	}
	return list
}
