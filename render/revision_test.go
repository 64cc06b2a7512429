package render

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/roots"
)

// commit creates a repository of the files in a directory.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "one"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestRevisionRendersLikeFiles checks that a revision renders to the same bytes as its files on
// disk.
func TestRevisionRendersLikeFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"base/kustomization.yaml":         "resources: [deploy.yaml, ../shared]\nconfigMapGenerator:\n- name: c\n  files: [conf/a.txt, b=conf/link]\n",
		"base/deploy.yaml":                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: c, image: x:1}]}}}\n",
		"base/conf/a.txt":                 "a\n",
		"shared/kustomization.yaml":       "resources: [s.yaml]\n",
		"shared/s.yaml":                   "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
		"overlays/p/kustomization.yaml":   "resources: [../../base]\nnamePrefix: p-\nbuildMetadata: [originAnnotations, transformerAnnotations]\ncomponents: [../../comp]\n",
		"comp/kustomization.yaml":         "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nimages: [{name: x, newTag: \"2\"}]\n",
		"overlays/bad/kustomization.yaml": "resources: [../../../outside, none.yaml]\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "base/conf/link")); err != nil {
		t.Fatal(err)
	}
	commit(t, dir)
	tree, err := revision.Open(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	found, err := roots.Selection{FS: tree, Leaves: true, Jobs: 2}.Find(t.Context(), []string{"."})
	if err != nil || !slices.Equal(found.Dirs, []string{"overlays/bad", "overlays/p"}) ||
		!slices.Equal(found.Used, []string{"base", "shared"}) {
		t.Errorf("%+v, %v", found, err)
	}
	onDisk, err := Render(t.Context(), Options{Dirs: []string{"overlays/p"}, Plan: planner.Options{Cwd: dir}})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dirs: []string{"overlays/p"}, Plan: planner.Options{FS: tree, FSName: tree.Shown(), Observe: true, Jobs: 2}}
	inGit, err := Render(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	if err := onDisk.WriteYAML(&want); err != nil {
		t.Fatal(err)
	}
	if err := inGit.WriteYAML(&got); err != nil || got.String() != want.String() {
		t.Errorf("%v: the revision renders to\n%s\nthe directory to\n%s", err, &got, &want)
	}
	seen, enough := inGit.Plan.Observed("overlays/p")
	var names []string
	for _, s := range seen {
		if name, ok := loaders.GivenName(s.Path); ok && s.Kind == loaders.SawFile && !s.InFetched {
			names = append(names, name)
		}
	}
	if !enough || !slices.Contains(names, "base/deploy.yaml") || !slices.Contains(names, "comp/kustomization.yaml") ||
		!slices.Contains(names, "base/conf/link") {
		t.Errorf("seen: %v, %t", names, enough)
	}
	o.Dirs = []string{"overlays/bad"}
	_, err = Render(t.Context(), o)
	for _, want := range []string{
		"git:HEAD:overlays/bad/kustomization.yaml:1: ",
		`"../../../outside" is outside git:HEAD:, which contains only the files of the repository`, `"none.yaml" does not exist`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}
