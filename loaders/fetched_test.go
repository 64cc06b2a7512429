package loaders

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// Files are read ahead while other trees are fetched, also those that are refused. The race detector looks.
func TestReadAheadWhileFetching(t *testing.T) {
	const many = 100
	c, err := cache.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w, err := c.NewTree(cache.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if err := w.File("outside.yaml", false, 1, strings.NewReader("o")); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if err := w.Link(fmt.Sprintf("base/%d.yaml", i), "../outside.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	files, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	l := NewLocal(t.Context(), Config{Cwd: t.TempDir(), Roots: []string{"."}, Fetch: func(text string, use reference.Use, _ remote.Origin) (*remote.Content, error) {
		r, err := reference.Parse(text, use)
		return &remote.Content{Reference: r, Version: reference.Version{Scheme: reference.Git, Commit: fmt.Sprintf("%040d", 1)}, Tree: files}, err
	}})
	d, err := l.FetchDir(nil, "https://example.com/org/repo//base?ref=v")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for i := range many {
			if _, err := l.FetchDir(nil, fmt.Sprintf("https://example.com/org/repo//base?ref=v%d", i)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range many {
		if src := l.ReadAhead(1000, d, fmt.Sprintf("%d.yaml", i), parse); src != nil {
			t.Errorf("%d.yaml is outside, and was read", i)
		}
	}
	done.Wait()
	if _, err := l.Read(d, "1.yaml"); err == nil || !strings.Contains(err.Error(), `"1.yaml" is a symbolic link to "example.com/org/repo@v/outside.yaml"`) {
		t.Error(err)
	}
}
