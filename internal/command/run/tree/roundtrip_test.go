package tree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// through sends the resources of a tree through a function that changes the text of the list, and
// returns the resulting files.
func through(t *testing.T, tr *tree.Tree, change func([]byte) []byte) (*tree.Changes, error) {
	t.Helper()
	list := krm.NewList(tr.Resources()...)
	o := function.WireOptions{Name: "f", Files: true}
	text := function.EncodeResourceList(list, yaml.Value{}, o).Join()
	reply, err := function.DecodeResourceList(yaml.Chunks{change(text)}, list, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr.Changes(reply.List, nil)
}

// TestNothingChanges sends files through a function that changes nothing. No file may change by a
// byte. KRMFLOW_TEST_TREES names a folder with more files.
func TestNothingChanges(t *testing.T) {
	for _, dir := range []string{"testdata/trees", os.Getenv("KRMFLOW_TEST_TREES")} {
		if dir == "" {
			continue
		}
		files, objects, left := 0, 0, 0
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			tr, err := tree.Read(t.Context(), filepath.Join(dir, e.Name()), os.ReadFile)
			if err != nil {
				t.Logf("%s: %v", e.Name(), err)
			}
			if len(tr.Files) == 0 {
				continue
			}
			changes, err := through(t, tr, func(text []byte) []byte { return text })
			if err != nil {
				t.Errorf("%s: %v", e.Name(), err)
				continue
			}
			for _, f := range changes.Files {
				t.Errorf("%s/%s changes", e.Name(), f.Path)
			}
			files, left = files+len(tr.Files), left+len(tr.Left)
			for _, f := range tr.Files {
				objects += len(f.Objects)
			}
		}
		t.Logf("%s: %d files with %d resources, %d files left alone", dir, files, objects, left)
		if files == 0 {
			t.Errorf("%s: no files", dir)
		}
	}
}
