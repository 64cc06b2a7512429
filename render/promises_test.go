package render_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// An openFunc is an [fs.FS].
type openFunc func(name string) (fs.File, error)

func (f openFunc) Open(name string) (fs.File, error) { return f(name) }

// deep returns a tree of many layers, each on top of the next.
func deep(layers int) fstest.MapFS {
	files := fstest.MapFS{fmt.Sprintf("%d/kustomization.yaml", layers): {Data: []byte("namePrefix: x-\n")}}
	for i := range layers {
		files[fmt.Sprintf("%d/kustomization.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "resources: [../%d]\n", i+1)}
	}
	return files
}

// TestCancelledPlan checks that planning stops when its context ends, and reads no further layers.
func TestCancelledPlan(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		ctx, cancel := context.WithCancelCause(t.Context())
		files, why := deep(100), errors.New("enough")
		var opened atomic.Int64
		o := render.Options{Dirs: []string{"0"}, Plan: planner.Options{Jobs: jobs, FS: openFunc(func(name string) (fs.File, error) {
			if strings.HasPrefix(name, "20/") {
				cancel(why)
			}
			if ctx.Err() != nil {
				opened.Add(1)
			}
			return files.Open(name)
		})}}
		if result, err := render.Render(ctx, o); !errors.Is(err, why) || result != nil {
			t.Errorf("%v, want why the context has ended", err)
		}
		if n := opened.Load(); n == 0 || n > 50 { // files that were being opened: a few names per layer
			t.Errorf("%d files were opened after that", n)
		}
	}
}

// TestFileSystemPanicIsError checks that a panic of a file system becomes an error.
func TestFileSystemPanicIsError(t *testing.T) {
	o := render.Options{Dirs: []string{"0"},
		Plan: planner.Options{Jobs: 4, FS: openFunc(func(string) (fs.File, error) { panic("no file") })}}
	_, err := render.Render(t.Context(), o)
	var bug *diag.PanicError
	if !errors.As(err, &bug) {
		t.Errorf("%v, want a PanicError", err)
	}
}

// TestNothingIsFetched checks that nothing is fetched without Sources.
func TestNothingIsFetched(t *testing.T) {
	s := newFileServer(t)
	for _, files := range []fstest.MapFS{
		{"kustomization.yaml": {Data: []byte("resources: ['" + s.URL + "/a.yaml']\n")}},
		{"kustomization.yaml": {Data: []byte("resources: ['" + s.URL + "/a.git?ref=main']\n")}},
		{"kustomization.yaml": {Data: []byte("configMapGenerator: [{name: a, files: ['" + s.URL + "/a.yaml']}]\n")}},
	} {
		_, err := render.Render(t.Context(), render.Options{Dirs: []string{"."}, Plan: planner.Options{FS: files}})
		if err == nil || !strings.Contains(err.Error(), "is remote, and nothing is fetched here") {
			t.Errorf("%v, want that nothing is fetched", err)
		}
	}
	if s.requests != 0 {
		t.Errorf("%d requests", s.requests)
	}
}

// TestSchemasAtTheSameTime checks that two roots with different schemas for one kind do not affect
// each other. The expected output is from separate runs of kustomize.
func TestSchemasAtTheSameTime(t *testing.T) {
	var all sync.WaitGroup
	for _, root := range []string{"byname", "byid"} {
		want, err := os.ReadFile(tree("schemas") + "/golden/" + root + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			all.Go(func() {
				for range 20 {
					expect(t, root, planner.Options{Cwd: tree("schemas")}, string(want))
				}
			})
			all.Go(func() {
				for range 20 {
					expect(t, root, planner.Options{FS: os.DirFS(tree("schemas")), Jobs: 2}, string(want))
				}
			})
		}
	}
	all.Wait()
}
