package planner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/loaders"
)

// TestJobsChangeNothing checks that the number of planning goroutines, and the order in which they
// reach files, affects nothing: not the plan, the errors, the warnings, the set of read files or
// their use of the input limit.
func TestJobsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(trees)); err != nil {
		t.Fatal(err)
	}
	roots := layerDirs(t)
	var files []string
	for _, root := range roots {
		more, _ := filepath.Glob(filepath.Join(dir, root, "*"))
		files = append(files, more...)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		if round > 0 {
			spoil(t, r, files[r.IntN(len(files))], files[r.IntN(len(files))])
		}
		r.Shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
		limit := int64(1 << 30)
		if round%4 == 3 {
			limit = r.Int64N(40_000)
		}
		want := outcome(dir, roots, 1, limit)
		for _, jobs := range []int{2, 3, 8} {
			if got := outcome(dir, roots, jobs, limit); got != want {
				t.Fatalf("round %d: with %d jobs\n%s\nwith one\n%s", round, jobs, got, want)
			}
		}
	}
}

// TestJobsChangeNothingInLongLists checks lists that several goroutines read ahead, with files,
// layers and a missing file in every part.
func TestJobsChangeNothingInLongLists(t *testing.T) {
	dir := t.TempDir()
	put := func(file, text string) {
		t.Helper()
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, file, []byte(text))
	}
	var list strings.Builder
	for i := range 700 {
		name := fmt.Sprintf("%03d", i)
		object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x" + name + "}\n"
		switch {
		case i%60 == 7:
			put("layers/"+name+"/kustomization.yaml", "resources: [x.yaml]\n")
			put("layers/"+name+"/x.yaml", object)
			fmt.Fprintf(&list, "- ../layers/%s\n", name)
			continue
		case i%60 == 9:
			object += "data: {more: 012, more: 0o7}\n" // a mistake
		case i%60 == 11:
			object = ""
		}
		if i%100 != 50 {
			put("root/"+name+".yaml", object)
		}
		fmt.Fprintf(&list, "- %s.yaml\n", name)
	}
	put("root/kustomization.yaml", "resources:\n"+list.String())
	for _, limit := range []int64{1 << 30, 30_000} {
		want := outcome(dir, []string{"root"}, 1, limit)
		for range 5 {
			for _, jobs := range []int{2, 3, 16} {
				if got := outcome(dir, []string{"root"}, jobs, limit); got != want {
					t.Fatalf("with %d jobs\n%s\nwith one\n%s", jobs, got, want)
				}
			}
		}
	}
}

// spoil changes file at random. It deletes, replaces or repeats a line, adds lines, or makes file a
// hard link to other.
func spoil(t *testing.T, r *rand.Rand, file, other string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return // a directory
	}
	lines := strings.SplitAfter(string(data), "\n")
	i := r.IntN(len(lines))
	switch r.IntN(6) {
	case 0:
		lines = slices.Delete(lines, i, i+1)
	case 1:
		lines[i] = "resources: [../nowhere, missing.yaml, .]\n"
	case 2:
		lines[i] = "x: ]\n"
	case 3:
		lines = append(lines, "annotations: yes\nmore: 012\nmore: 0o7\n") // these cause warnings
	case 4:
		os.Remove(file)
		if os.Link(other, file) == nil {
			return
		}
	case 5:
		lines = append(lines, lines[i])
	}
	os.Remove(file)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o666); err != nil {
		t.Fatal(err)
	}
}

// outcome prints all observable properties of a plan.
func outcome(cwd string, roots []string, jobs int, limit int64) string {
	input := &loaders.Budget{Max: limit}
	p := Compile(context.Background(), roots, Options{Cwd: cwd, Jobs: jobs, Input: input})
	var b strings.Builder
	for _, n := range p.Graph.Nodes {
		fmt.Fprintln(&b, n.ID, n.Op.Verb(), n.Summary, n.Inputs, n.After, n.Origin.Pos(), n.Layer, n.Item, len(n.Changes))
	}
	fmt.Fprintln(&b, p.Graph.Roots, p.Compiled, p.Shared)
	for _, l := range p.Layers().All() {
		fmt.Fprintln(&b, l.File, l.Kind, l.Files, l.Roots)
		for _, u := range l.Uses {
			fmt.Fprintln(&b, u, l.Place(u))
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintln(&b, "warning", w)
	}
	for _, f := range p.Files() {
		fmt.Fprintf(&b, "file %s %x\n", f.File, f.Digest())
	}
	fmt.Fprintln(&b, p.Err(), p.MoreWarnings, input.Used())
	return b.String()
}
