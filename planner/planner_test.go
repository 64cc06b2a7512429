package planner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/scheduler"
)

const trees = "../testdata/kustomize"

func compile(t *testing.T, dirs ...string) *Plan {
	t.Helper()
	cwd, err := filepath.Abs(trees)
	if err != nil {
		t.Fatal(err)
	}
	plan := Compile(t.Context(), dirs, Options{Cwd: cwd, Reorder: "legacy"})
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

func ids(p *Plan) map[string]bool {
	m := map[string]bool{}
	for _, n := range p.Graph.Nodes {
		m[n.ID] = true
	}
	return m
}

// TestNodeIDs checks that the id of a node depends only on its file and field, not on the other
// roots of the plan or on their order.
func TestNodeIDs(t *testing.T) {
	dirs := []string{"shop/overlays/dev", "shop/overlays/prod", "openapi/plain", "openapi/overlay", "order/metadata", "components/both",
		"components/one"}
	all := compile(t, dirs...)
	if got := ids(all); len(got) != len(all.Graph.Nodes) {
		t.Errorf("%d ids for %d nodes", len(got), len(all.Graph.Nodes))
	}
	slices.Reverse(dirs)
	if a, b := ids(all), ids(compile(t, dirs...)); !maps.Equal(a, b) {
		t.Error("the ids depend on the order of the roots")
	}
	for _, dir := range dirs {
		for id := range ids(compile(t, dir)) {
			if !ids(all)[id] {
				t.Errorf("%s: node %s is called otherwise among other roots", dir, id)
			}
		}
	}
}

// TestSharedLayersCompileOnce checks that a layer used by several roots is compiled once. A
// component is compiled once per user, because it works on the user's list.
func TestSharedLayersCompileOnce(t *testing.T) {
	dev, prod, both := compile(t, "shop/overlays/dev"), compile(t, "shop/overlays/prod"),
		compile(t, "shop/overlays/dev", "shop/overlays/prod")
	if both.Shared <= dev.Shared+prod.Shared {
		t.Errorf("%d layers reused with both overlays, %d and %d with one", both.Shared, dev.Shared, prod.Shared)
	}
	union := ids(dev)
	maps.Copy(union, ids(prod))
	if got := ids(both); !maps.Equal(got, union) {
		t.Errorf("%d nodes with both overlays, want the %d of either", len(got), len(union))
	}
	two := compile(t, "components/one", "components/two")
	users := map[string]bool{}
	for id := range ids(two) {
		if user, of, ok := strings.Cut(id, " > "); ok && strings.HasPrefix(of, "components/tracing/") {
			user, _, _ = strings.Cut(user, "#")
			users[user] = true
		}
	}
	if len(users) != 2 {
		t.Errorf("the component is compiled for %v, want two users", slices.Collect(maps.Keys(users)))
	}
}

// TestFailedRoot checks that a root that cannot be planned is left out of the graph, and that the
// rest of the plan is the same as without it.
func TestFailedRoot(t *testing.T) {
	cwd, err := filepath.Abs(trees)
	if err != nil {
		t.Fatal(err)
	}
	plan := Compile(t.Context(), []string{"hello/missing", "hello/overlays/dev"}, Options{Cwd: cwd, Reorder: "legacy"})
	if len(plan.Failed) != 1 || plan.Failed[0].Dir != "hello/missing" || plan.Err() == nil {
		t.Errorf("failed roots %v", plan.Failed)
	}
	if want := ids(compile(t, "hello/overlays/dev")); !maps.Equal(ids(plan), want) {
		t.Error("the other root's plan has changed")
	}
}

// TestPlanHoldsBytes checks that a run uses the bytes whose digests the plan shows, even if the
// files change later. A file named by several fields is read once and listed once.
func TestPlanHoldsBytes(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}, {path: ./p.yaml}]\nconfigMapGenerator: [{name: c, files: [p.yaml]}]\n",
		"a.yaml":             "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
		"p.yaml":             "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {x: y}}\n",
	}
	write := func(text func(name string) string) {
		for name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text(name)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(func(name string) string { return files[name] })
	plan := Compile(t.Context(), []string{"."}, Options{Cwd: dir, Reorder: "legacy"})
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	write(func(string) string { return "}" })
	var out bytes.Buffer
	errs := scheduler.Run(context.Background(), plan.Graph, scheduler.Options{
		Root: func(_ graph.Root, list *krm.List) error { return list.WriteYAML(&out) },
		Warn: func(*graph.Node, func() *diag.Error) {},
	})
	if err := errors.Join(errs...); err != nil || !strings.Contains(out.String(), "x: y") || !strings.Contains(out.String(), "p.yaml: |") {
		t.Errorf("the run saw what was written after the plan: %v\n%s", err, out.String())
	}
	got := map[string]string{}
	for _, f := range plan.Files() {
		if _, twice := got[f.File]; twice {
			t.Errorf("%s is listed twice", f.File)
		}
		got[f.File] = krm.Digest(f.Digest()).String()
	}
	for name, text := range files {
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); got[name] != want {
			t.Errorf("%s has the digest %s, want %s", name, got[name], want)
		}
	}
}
