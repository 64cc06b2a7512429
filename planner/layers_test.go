package planner

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestLayersNameAllReadFiles checks that the layers of a plan list all files that were read for it,
// and that each reference to a layer has a line.
func TestLayersNameAllReadFiles(t *testing.T) {
	cwd, err := filepath.Abs(trees)
	if err != nil {
		t.Fatal(err)
	}
	dirs := append(layerDirs(t), "../examples/webapp/dev", "../examples/webapp/staging", "../examples/webapp/prod")
	planned := 0
	for _, dir := range dirs {
		p := Compile(t.Context(), []string{dir}, Options{Cwd: cwd})
		if p.Err() != nil || len(p.Graph.Roots) == 0 {
			continue
		}
		planned++
		var read, named, layers []string
		for _, f := range p.Files() {
			read = append(read, f.File)
		}
		for _, l := range p.Layers().All() {
			named, layers = append(named, l.Files...), append(layers, l.File)
			if !slices.Equal(l.Roots, []string{dir}) {
				t.Errorf("%s: layer %s has roots %q", dir, l.File, l.Roots)
			}
		}
		slices.Sort(named)
		if named = slices.Compact(named); !slices.Equal(named, read) {
			t.Errorf("%s: the layers read %q, the plan %q", dir, named, read)
		}
		for _, l := range p.Layers().All() {
			for _, u := range l.Uses {
				if !slices.Contains(layers, u.Layer) || u.Field == "" {
					t.Errorf("%s: %s refers to %s in the field %q, which is no layer", dir, l.File, u.Layer, u.Field)
				}
				if at := l.Place(u); at.File != l.File || at.Line == 0 {
					t.Errorf("%s: %s refers to %s in the field %q, said to be at %s", dir, l.File, u.Layer, u.Field, at)
				}
			}
		}
	}
	if planned < 50 {
		t.Errorf("only %d of %d directories can be planned", planned, len(dirs))
	}
}
