package render_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// write creates a tree of files and returns its directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	stamp     = `apiVersion: example.com/v1
kind: Stamp
metadata:
  name: s
  annotations:
    config.kubernetes.io/function: "exec: {path: ./stamp}"
`
)

// TestAtTheSameTime checks that concurrent renders in one program do not affect each other, from a
// directory or an [fs.FS]. It renders all golden files concurrently; one tree has a custom schema.
func TestAtTheSameTime(t *testing.T) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, name := range []string{"hello", "shop", "patches", "openapi", "replacements"} {
		golden := os.DirFS(tree(name) + "/golden")
		err := fs.WalkDir(golden, ".", func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			want, err := fs.ReadFile(golden, file)
			if err != nil {
				return err
			}
			root := strings.TrimSuffix(file, ".yaml")
			all.Go(func() { expect(t, root, planner.Options{Cwd: tree(name)}, string(want)) })
			all.Go(func() { expect(t, root, planner.Options{FS: os.DirFS(tree(name)), Jobs: 2}, string(want)) })
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// expect renders one root and compares its output.
func expect(t *testing.T, root string, o planner.Options, want string) {
	result, err := render.Render(t.Context(), render.Options{Dirs: []string{root}, Plan: o})
	if err != nil {
		t.Errorf("%s: %v", root, err)
		return
	}
	var b strings.Builder
	if err := result.WriteYAML(&b); err != nil || b.String() != want {
		t.Errorf("%s: %v, not what was expected:\n%s", root, err, b.String())
	}
}

// TestRootsKeepTheirOrder checks that several roots are written as one stream, in the given order,
// and that with KeepGoing a failed root does not affect the others.
func TestRootsKeepTheirOrder(t *testing.T) {
	dir := write(t, map[string]string{
		"a/kustomization.yaml": "resources: [cm.yaml]\n", "a/cm.yaml": configMap,
		"b/kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: b-\n", "b/cm.yaml": configMap,
		"none/kustomization.yaml": "metadata: {name: x}\n",
		"bad/kustomization.yaml":  "resources: [missing.yaml]\n",
	})
	o := render.Options{Dirs: []string{"b", "none", "bad", "a"}, Plan: planner.Options{Cwd: dir}}
	result, err := render.Render(t.Context(), o)
	if err == nil || result == nil || len(result.Plan.Failed) != 1 || result.Lists[0] != nil {
		t.Errorf("%v, %+v", err, result)
	}
	o.Run.KeepGoing = true
	result, err = render.Render(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "missing.yaml") || result.Lists[2] != nil {
		t.Errorf("%v, %+v", err, result)
	}
	var b strings.Builder
	want := strings.Replace(configMap, "name: a", "name: b-a", 1) + "---\n" + configMap
	if err := result.WriteYAML(&b); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestDeniedFunctionStopsRun checks that nothing runs if a function is denied, and that an allowed
// function needs an executor.
func TestDeniedFunctionStopsRun(t *testing.T) {
	files := map[string]string{
		"kustomization.yaml": "resources: [cm.yaml]\ntransformers: [fn.yaml]\n", "cm.yaml": configMap, "fn.yaml": stamp,
		"stamp": "#!/bin/sh\ncat\n",
	}
	dir := write(t, files)
	if err := os.Chmod(filepath.Join(dir, "stamp"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := render.Options{Dirs: []string{"."}, Plan: planner.Options{Cwd: dir}}
	o.Run.Event = func(e scheduler.Event) { t.Errorf("%s has run", e.Node.ID) }
	_, err := render.Render(t.Context(), o)
	var denied *render.DeniedError
	if !errors.As(err, &denied) || len(denied.Denials) != 2 ||
		!strings.Contains(err.Error(), "cannot isolate a program: the options set no Isolation") {
		t.Errorf("%v, want a DeniedError", err)
	}
	policy := &o.Plan.Functions.Policy
	policy.AllowUncatalogued, policy.AllowExec, policy.AllowUnsandboxed = true, true, true
	if _, err = render.Render(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no executor for exec functions") {
		t.Errorf("%v, want that no executor exists", err)
	}
	// A program in an fs.FS does not exist on this machine.
	o.Plan.FS = fstest.MapFS{}
	for name, text := range files {
		o.Plan.FS.(fstest.MapFS)[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o755}
	}
	if _, err = render.Render(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(), "is in the file system being rendered: a program must be a local file") {
		t.Errorf("%v, want that the program cannot run", err)
	}
}

// TestPlaceAssignsOutputFolders checks that the first name of a directory is used if it is given
// twice, and that a root outside the base moves the base up.
func TestPlaceAssignsOutputFolders(t *testing.T) {
	dir := write(t, map[string]string{
		"x/kustomization.yaml": "", "x/y/kustomization.yaml": "", "x/c/kustomization.yaml": "kind: Component\n",
		"x/.git/kustomization.yaml": "", "z/other.yaml": "",
	})
	found, err := render.FindRoots(t.Context(), dir)
	if err != nil || len(found) != 2 {
		t.Fatalf("%q, %v", found, err)
	}
	roots, err := render.Place(append(found, dir+"/x/../x", dir+"/z"), dir+"/x")
	var got []string
	for _, r := range roots {
		got = append(got, r.Out)
	}
	if err != nil || strings.Join(got, " ") != "x x/y z" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := render.FindRoots(t.Context(), dir+"/z"); err == nil {
		t.Error("a folder without roots has some")
	}
}
