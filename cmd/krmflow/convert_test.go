package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestConvertedRendersTheSame converts every Kustomization in the trees of testdata and in the
// folders listed in KRMFLOW_TREES. The resulting Composition must render the same bytes.
// Kustomizations that cannot be converted stay unchanged.
func TestConvertedRendersTheSame(t *testing.T) {
	t.Parallel()
	trees := append([]string{"../../testdata/kustomize"}, filepath.SplitList(os.Getenv("KRMFLOW_TREES"))...)
	for _, tree := range trees {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(tree)); err != nil {
			t.Fatal(err)
		}
		s, same, refused := newSession(t), 0, map[string]int{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !slices.Contains(layerfile.Names, d.Name()) {
				return err
			}
			if why := convertAndCompare(t, s, path); why == "" {
				same++
			} else {
				refused[why]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d Kustomizations converted", tree, same)
		for why, n := range refused {
			t.Logf("%d times: %s", n, why)
		}
		if same < 50 {
			t.Errorf("%s: only %d Kustomizations were converted", tree, same)
		}
	}
}

// TestRandomConverted does the same with random trees.
func TestRandomConverted(t *testing.T) {
	t.Parallel()
	generator := testbinary.Program(t, "internal/dev/difftest")
	s, trees := newSession(t), longtest.Sample(8, 20, 100)
	same := 0
	for i := range trees {
		text, err := exec.Command(generator, "-print", "-first", fmt.Sprint(i)).Output()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, f := range txtar.Parse(text).Files {
			path := filepath.Join(dir, f.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		matches, _ := filepath.Glob(filepath.Join(dir, "[kK]ustomization*"))
		if len(matches) != 1 {
			continue
		}
		if why := convertAndCompare(t, s, matches[0]); why == "" {
			same++
		} else if why != doesNotBuild {
			t.Log(i, why)
		}
	}
	if t.Logf("%d of %d trees converted", same, trees); same < trees/4 {
		t.Error("those are too few")
	}
}

const doesNotBuild = "does not build"

// convertAndCompare converts a Kustomization that builds, and restores it. It returns the reason if
// it does not build or cannot be converted.
func convertAndCompare(t *testing.T, s *session, file string) string {
	t.Helper()
	dir := filepath.Dir(file)
	want, why := runQuietly(s, "build", dir)
	if why != "" {
		return doesNotBuild
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, why := runQuietly(s, "convert", "composition", dir, "--replace"); why != "" {
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, old) {
			t.Errorf("%s is not what it was: %v", file, err)
		}
		if strings.Contains(why, "does not render") {
			t.Errorf("%s\n%s", why, old)
		}
		line, _, _ := strings.Cut(why, "\n")
		_, line, _ = strings.Cut(line, layerfile.Names[0]+":")
		_, line, _ = strings.Cut(line, ": ")
		return line
	}
	composition := filepath.Join(dir, layerfile.CompositionNames[0])
	if got, why := runQuietly(s, "build", dir); why != "" || got != want {
		t.Errorf("%s: %s\n%s", dir, why, firstDifference(got, want))
	}
	if err := os.WriteFile(file, old, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(composition); err != nil {
		t.Fatal(err)
	}
	return ""
}

// runQuietly returns the output of a command line, and its errors if it fails.
func runQuietly(s *session, args ...string) (out, why string) {
	o := s.run(".", nil, append(args, "-q")...)
	if o.Code != 0 {
		why = string(o.Stderr)
	}
	return string(o.Stdout), why
}
