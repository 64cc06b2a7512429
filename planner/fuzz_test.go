package planner

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// FuzzKustomization replaces a kustomization file of a working tree with any text, and builds its
// directory. No text may make a build panic or hang, and each error must have a position.
//
// With KRMFLOW_ORACLE=PROGRAM, a kustomize v5.8.2, the test also compares the result with that
// program's. This is for manual runs:
//
//	KRMFLOW_ORACLE=kustomize go test -run '^$' -fuzz FuzzKustomization ./planner
func FuzzKustomization(f *testing.F) {
	layers := layerDirs(f)
	for i, dir := range layers {
		_, text := kustomizationText(f, filepath.Join(trees, dir))
		f.Add(uint16(i), text)
	}
	oracle := os.Getenv("KRMFLOW_ORACLE")
	cwd := f.TempDir()
	if err := os.CopyFS(cwd, os.DirFS(trees)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint16, text []byte) {
		dir := layers[int(which)%len(layers)]
		file, before := kustomizationText(t, filepath.Join(cwd, dir))
		write(t, file, text)
		defer write(t, file, before)

		start := time.Now()
		out, errs := render(cwd, dir)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("took %s", d)
		}
		for _, err := range errs {
			checkPlace(t, err)
		}
		if oracle != "" {
			compareWith(t, oracle, filepath.Join(cwd, dir), out, errs)
		}
	})
}

// render builds a directory, one node after the other.
func render(cwd, dir string) (out []byte, errs []error) {
	plan := Compile(context.Background(), []string{dir}, Options{Cwd: cwd, Reorder: "legacy"})
	if len(plan.Failed) > 0 {
		return nil, plan.Failed[0].Errs
	}
	var list *krm.List
	lists := make([]*krm.List, len(plan.Graph.Nodes))
	for i, n := range plan.Graph.Nodes {
		inputs := make([]eval.Input, len(n.Inputs))
		for j, in := range n.Inputs {
			inputs[j].List = lists[in]
		}
		var err error
		if list, err = eval.Run(n.Op, inputs, func(diag.Code, string, ...any) {}); err != nil {
			return nil, []error{diag.Errorf(n.Origin.Pos(), "", "%w", err)}
		}
		lists[i] = list
	}
	return list.AppendYAML(nil), nil
}

func checkPlace(t *testing.T, err error) {
	t.Helper()
	var at *diag.Error
	if !errors.As(err, &at) && !strings.Contains(err.Error(), ".yaml:") {
		t.Errorf("an error without a place: %v", err)
	} else if at != nil && at.Pos.File == "" {
		t.Errorf("an error without a file: %v", err)
	}
}

func compareWith(t *testing.T, oracle, dir string, out []byte, errs []error) {
	t.Helper()
	for _, err := range errs {
		if strings.Contains(err.Error(), "does not support") {
			return
		}
	}
	var stderr bytes.Buffer
	cmd := exec.Command(oracle, "build", dir)
	cmd.Stderr = &stderr
	want, err := cmd.Output()
	switch {
	case (err != nil) != (errs != nil):
		t.Errorf("the oracle: %v %s\nhere: %v", err, stderr.String(), errors.Join(errs...))
	case err == nil && !bytes.Equal(out, want):
		t.Errorf("the output differs:\n%s\nwant:\n%s", out, want)
	}
}

// layerDirs returns all directories below trees that have a kustomization file, sorted.
func layerDirs(tb testing.TB) []string {
	tb.Helper()
	var dirs []string
	err := filepath.WalkDir(trees, func(path string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains(layerfile.Names, d.Name()) {
			dir, _ := filepath.Rel(trees, filepath.Dir(path))
			dirs = append(dirs, dir)
		}
		return err
	})
	if err != nil || len(dirs) < 50 {
		tb.Fatalf("%d layers below %s: %v", len(dirs), trees, err)
	}
	return dirs
}

func kustomizationText(tb testing.TB, dir string) (file string, text []byte) {
	tb.Helper()
	for _, name := range layerfile.Names {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name), text
		}
	}
	tb.Fatalf("no kustomization file in %s", dir)
	return "", nil
}

func write(tb testing.TB, file string, text []byte) {
	tb.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// FuzzComposition replaces a composition file with any text. No text may make planning panic, each
// error must have a position, and consolidating a consolidated Composition again must not change
// it.
func FuzzComposition(f *testing.F) {
	const example = "../testdata/examples/webapp"
	for _, env := range []string{"base", "dev", "staging", "prod"} {
		text, err := os.ReadFile(filepath.Join(example, env, "composition.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add(
		[]byte(
			"kind: Composition\nmodulesFrom: [{path: ../base}]\nmoduleOverrides:\n- {kind: LabelTransformer, metadata: {name: team}, $patch: replace}\n"))
	f.Add(
		[]byte(
			"kind: Composition\ntransformers:\n- &a {kind: PrefixTransformer, prefix: p}\n- {<<: *a, metadata: {name: x}}\n- \"kind: SuffixTransformer\\nsuffix: s\"\n"))
	cwd := f.TempDir()
	if err := os.CopyFS(cwd, os.DirFS(example)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(cwd, "dev", "composition.yaml")
		write(t, file, text)
		plan := Compile(t.Context(), []string{"dev"}, Options{Cwd: cwd, Reorder: "legacy"})
		v, consolidated := Consolidate(t.Context(), "dev", Options{Cwd: cwd})
		for _, p := range []*Plan{plan, consolidated} {
			for _, failed := range p.Failed {
				for _, err := range failed.Errs {
					checkPlace(t, err)
				}
			}
		}
		if consolidated.Err() != nil || v.IsNull() {
			return
		}
		write(t, file, yaml.AppendYAML(nil, v))
		again, p := Consolidate(t.Context(), "dev", Options{Cwd: cwd})
		if a, b := yaml.AppendYAML(nil, v), yaml.AppendYAML(nil, again); p.Err() != nil || string(a) != string(b) {
			t.Errorf("read again: %v\n%s\n%s", p.Err(), a, b)
		}
	})
}
