package krusty_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/krmflow/krmflow/adapters/krusty"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// A root is a directory with its expected result.
type root struct {
	base, dir string
	fails     bool
	is        func(yaml []byte) bool
}

// golden returns the roots of this repository that have no functions.
func golden(t testing.TB) (roots []root) {
	files, err := filepath.Glob("../../testdata/kustomize/*/golden")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, dir := range files {
		base, err := filepath.Abs(filepath.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(base) == "functions" {
			continue
		}
		err = filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			want, err := os.ReadFile(file)
			rel, _ := filepath.Rel(dir, file)
			roots = append(roots, root{base, strings.TrimSuffix(rel, ".yaml"), false,
				func(yaml []byte) bool { return bytes.Equal(yaml, want) }})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return roots
}

// trees returns the roots of public trees. The file roots.tsv has a line for each root: "ok" and
// the digest of kustomize's output, "fail" or "skip".
func trees(t testing.TB, base string) (roots []root) {
	file, err := os.Open(filepath.Join(base, "roots.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(lines.Text(), "#") || fields[1] == "skip" {
			continue
		}
		roots = append(roots, root{base, fields[0], fields[1] == "fail",
			func(yaml []byte) bool { return fmt.Sprintf("%x", sha256.Sum256(yaml)) == fields[2] }})
	}
	return roots
}

// rendered returns the output of package render for a root.
func rendered(ctx context.Context, r root, o planner.Options) ([]byte, error) {
	result, err := render.Render(ctx, render.Options{Dirs: []string{r.dir}, Plan: o})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = result.WriteYAML(&b)
	return b.Bytes(), err
}

// adapted returns the output of the adapter for a root.
func adapted(ctx context.Context, fSys filesys.FileSystem, path string) ([]byte, error) {
	k := krusty.MakeKustomizer(&krusty.Options{Reorder: krusty.ReorderOptionUnspecified, LoadRestrictions: types.LoadRestrictionsRootOnly})
	k.Sources = nil
	m, err := k.RunContext(ctx, fSys, path)
	if err != nil {
		return nil, err
	}
	yaml, err := m.AsYaml()
	if err != nil {
		return nil, err
	}
	// A copy does not know how it was rendered.
	if again, err := m.DeepCopy().AsYaml(); err != nil || !bytes.Equal(again, yaml) {
		return nil, fmt.Errorf("the resources have other bytes than their text: %w", err)
	}
	return yaml, nil
}

// A way is a method to render a root.
type way struct {
	name string
	run  func(context.Context, root) ([]byte, error)
}

// onDisk wraps the file system on disk in a type that krmflow does not recognize.
type onDisk struct{ filesys.FileSystem }

var ways = []way{
	{"render a directory", func(ctx context.Context, r root) ([]byte, error) {
		return rendered(ctx, r, planner.Options{Cwd: r.base})
	}},
	{"render an fs.FS", func(ctx context.Context, r root) ([]byte, error) {
		return rendered(ctx, r, planner.Options{FS: os.DirFS(r.base), Jobs: 2})
	}},
	{"adapter on disk", func(ctx context.Context, r root) ([]byte, error) {
		return adapted(ctx, filesys.MakeFsOnDisk(), filepath.Join(r.base, r.dir))
	}},
	{"adapter on another file system", func(ctx context.Context, r root) ([]byte, error) {
		return adapted(ctx, onDisk{filesys.MakeFsOnDisk()}, filepath.Join(r.base, r.dir))
	}},
}

// TestRendersLikeKustomize renders every root in each way, sixteen at a time in one process, and
// compares the bytes with kustomize's. The roots are in testdata and, if KRMFLOW_TREES is set, in
// the directory that it names (see [trees]).
func TestRendersLikeKustomize(t *testing.T) {
	roots := golden(t)
	if base := os.Getenv("KRMFLOW_TREES"); base != "" {
		roots = append(roots, trees(t, base)...)
	}
	type job struct {
		root
		way
	}
	jobs := make(chan job)
	var workers sync.WaitGroup
	var same, refused atomic.Int64
	for range 16 {
		workers.Go(func() {
			for j := range jobs {
				yaml, err := j.run(t.Context(), j.root)
				switch {
				case j.fails && err != nil:
					refused.Add(1)
				case j.fails:
					t.Errorf("%s: %s: there is no error", j.name, j.dir)
				case err != nil:
					t.Errorf("%s: %s: %v", j.name, j.dir, err)
				case !j.is(yaml):
					t.Errorf("%s: %s has other bytes", j.name, j.dir)
				default:
					same.Add(1)
				}
			}
		})
	}
	for _, r := range roots {
		for _, w := range ways {
			jobs <- job{r, w}
		}
	}
	close(jobs)
	workers.Wait()
	t.Logf("%d roots, %d ways: %d renders have kustomize's bytes, %d end with an error as they must", len(roots), len(ways), same.Load(),
		refused.Load())
}
