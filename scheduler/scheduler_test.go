package scheduler_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

const trees = "../testdata/kustomize"

func compile(t *testing.T, dirs ...string) *graph.Graph {
	t.Helper()
	cwd, err := filepath.Abs(trees)
	if err != nil {
		t.Fatal(err)
	}
	plan := planner.Compile(t.Context(), dirs, planner.Options{Cwd: cwd, Reorder: "legacy"})
	if err := plan.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.Graph
}

// render runs g and returns the output of each root by directory.
func render(t *testing.T, g *graph.Graph, jobs int) map[string]string {
	t.Helper()
	var mu sync.Mutex
	out := map[string]string{}
	errs := scheduler.Run(context.Background(), g, scheduler.Options{Jobs: jobs, Root: func(r graph.Root, l *krm.List) error {
		mu.Lock()
		defer mu.Unlock()
		out[r.Dir] = string(l.AppendYAML(nil))
		return nil
	}})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPlanIsTheTruth checks that removing one node from a plan changes exactly the output of that
// node: only the graph determines the result of a run.
func TestPlanIsTheTruth(t *testing.T) {
	g := compile(t, "hello/overlays/dev")
	with := render(t, g, 2)["hello/overlays/dev"]
	less, ok := g.Without("hello/overlays/dev/kustomization.yaml#images[0]")
	if !ok {
		t.Fatal("the plan has no node for images[0]")
	}
	without := render(t, less, 2)["hello/overlays/dev"]
	var diff []string
	old, new := strings.Split(with, "\n"), strings.Split(without, "\n")
	if len(old) != len(new) {
		t.Fatalf("the output has %d lines with the node and %d without", len(old), len(new))
	}
	for i := range old {
		if old[i] != new[i] {
			diff = append(diff, strings.TrimSpace(old[i]), strings.TrimSpace(new[i]))
		}
	}
	if len(diff) != 2 || !strings.HasSuffix(diff[0], "image: ghcr.io/example/hello:latest") ||
		!strings.Contains(diff[1], "image: ghcr.io/example/hello:") {
		t.Errorf("leaving out images[0] changed %q", diff)
	}
}

// TestSharedLayers checks that roots that share bases and files render to the same bytes alone,
// together, in any order and with any number of jobs.
func TestSharedLayers(t *testing.T) {
	dirs := goldenRoots(t)
	var reversed []string
	for i := range dirs {
		reversed = append(reversed, dirs[len(dirs)-1-i])
	}
	for _, c := range []struct {
		dirs []string
		jobs int
	}{{dirs, 1}, {dirs, 8}, {reversed, 3}} {
		got := render(t, compile(t, c.dirs...), c.jobs)
		for _, dir := range dirs {
			if want := golden(t, dir); got[dir] != want {
				t.Errorf("%s differs from its golden file with %d jobs among %d roots", dir, c.jobs, len(c.dirs))
			}
		}
	}
}

func goldenFile(dir string) string {
	tree, root, _ := strings.Cut(dir, "/")
	return filepath.Join(trees, tree, "golden", root+".yaml")
}

func golden(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(goldenFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// goldenRoots returns the roots that have golden files. It omits roots with functions, because
// these tests have no executor.
func goldenRoots(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(trees, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "functions" {
			return filepath.SkipDir
		}
		if err == nil && d.IsDir() && path != trees {
			if rel, _ := filepath.Rel(trees, path); strings.Contains(rel, "/") {
				if _, err := os.Stat(goldenFile(filepath.ToSlash(rel))); err == nil {
					dirs = append(dirs, filepath.ToSlash(rel))
				}
			}
		}
		return err
	})
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d roots, %v", len(dirs), err)
	}
	return dirs
}

func TestFailedRootDoesNotStopOthers(t *testing.T) {
	bad := errors.New("bad")
	g := compile(t, "hello/overlays/dev", "hello/overlays/prod")
	done := 0
	errs := scheduler.Run(context.Background(), g, scheduler.Options{Jobs: 1, KeepGoing: true, Root: func(r graph.Root, _ *krm.List) error {
		if r.Dir == "hello/overlays/dev" {
			return bad
		}
		done++
		return nil
	}})
	var re *scheduler.RootError
	if len(errs) != 1 || !errors.As(errs[0], &re) || re.Root.Dir != "hello/overlays/dev" || !errors.Is(errs[0], bad) || done != 1 {
		t.Errorf("errors %v, %d other roots done", errs, done)
	}
}
