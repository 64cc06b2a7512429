package builtins

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/rogpeppe/go-internal/txtar"
)

var updatePatches = flag.Bool("update-patches", false, "rewrite testdata/patches with the output of the kustomize on PATH")

// patchTree has the fields of a Kustomization that the trees in testdata/patches use.
type patchTree struct {
	Resources             []string               `json:"resources"`
	Patches               []PatchTransformer     `json:"patches"`
	PatchesStrategicMerge []string               `json:"patchesStrategicMerge"`
	PatchesJSON6902       []PatchTransformer     `json:"patchesJson6902"`
	SortOptions           struct{ Order string } `json:"sortOptions"`
}

// TestPatchTrees compares rendered trees with recorded output of kustomize: the file "want" has its
// output, or the word "error" if kustomize fails.
func TestPatchTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/patches/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no trees", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *updatePatches {
				recordPatchTree(t, file, a)
			}
			got, err := renderPatchTree(a)
			want := archiveFile(a, "want")
			switch {
			case (err != nil) != (want == "error\n"):
				t.Errorf("error: got %v, want\n%s", err, want)
			case err == nil && got != want:
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func archiveFile(a *txtar.Archive, name string) string {
	if i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name }); i >= 0 {
		return string(a.Files[i].Data)
	}
	return ""
}

func renderPatchTree(a *txtar.Archive) (string, error) {
	var tree patchTree
	v, err := (&yaml.Source{Data: []byte(archiveFile(a, "kustomization.yaml"))}).Value()
	if err != nil {
		return "", err
	}
	if errs := yaml.Decode(v, &tree); errs != nil {
		return "", errs[0]
	}
	env := Env{Read: func(path string) (*yaml.Source, error) {
		for _, f := range a.Files {
			if f.Name == path {
				return &yaml.Source{File: path, Data: f.Data}, nil
			}
		}
		return nil, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	}}
	var rs []*krm.Resource
	for _, path := range tree.Resources {
		docs, err := krm.Resources(&yaml.Source{File: path, Data: []byte(archiveFile(a, path))}, nil)
		if err != nil {
			return "", err
		}
		rs = append(rs, docs...)
	}
	list := krm.NewList(rs...)
	for _, step := range tree.steps() {
		if err := step.Configure(env); err != nil {
			return "", err
		}
		if err := step.Transform(list, func(diag.Code, string, ...any) {}); err != nil {
			return "", err
		}
	}
	if err := new(Finish).Transform(list, func(diag.Code, string, ...any) {}); err != nil {
		return "", err
	}
	return string(list.AppendYAML(nil)), nil
}

func (tree *patchTree) steps() []Transformer {
	var steps []Transformer
	if len(tree.PatchesStrategicMerge) > 0 {
		steps = append(steps, &PatchStrategicMergeTransformer{Paths: tree.PatchesStrategicMerge})
	}
	for i := range tree.Patches {
		steps = append(steps, &tree.Patches[i])
	}
	for _, p := range tree.PatchesJSON6902 {
		steps = append(steps, &PatchJson6902Transformer{Target: p.Target, Path: p.Path, JsonOp: p.Patch})
	}
	return steps
}

func recordPatchTree(t *testing.T, file string, a *txtar.Archive) {
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	out, failed := runKustomize(t, a)
	if failed != "" {
		t.Log(failed)
		out = "error\n"
	}
	a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(out)})
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runKustomize returns the output of the kustomize on PATH for a tree, or its error.
func runKustomize(t *testing.T, a *txtar.Archive) (out, failed string) {
	dir := t.TempDir()
	for _, f := range a.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := exec.Command("kustomize", "build", dir).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", string(exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(text), ""
}

func TestNeedsQuotes(t *testing.T) {
	for _, s := range []string{
		"", "a", "n", "no", "yes", "Yes", "YES", "off", "on", "true", "True", "false", "null", "Null", "~", "app", "web", "abc1", "a-b",
		"a.b", "1", "1.5", "0x1F", "1e3", ".inf", ".5", "/x", "/usr/bin",
		"a b", "a: b", "a:b", "a #b", "#a", "- a", "-a", "--flag", "@a", "*a", "&a", "!a", "%a", "a ", " a", "{a}", "[a]", "a\nb", "é",
		"nginx:1.2", "2020-01-01", "1:30", "1_000", "_a", "falsey", "nullable",
		"infinity", "e1", "o1", "rue", "als", "ull", "off1", ".a/b", "=", "<<", "?", "?a", "a?", "\"a\"", "'a'", "long-name-of-a-thing",
	} {
		if want := yaml.ScalarText(s) != s || strings.Contains(s, "\n"); needsQuotes(s) != want {
			t.Errorf("%q: got %v, want %v", s, needsQuotes(s), want)
		}
	}
}
