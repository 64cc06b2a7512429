package loaders

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// fetchingLocal returns a Local for which every repository is at one commit, with the files that
// write puts into a tree.
func fetchingLocal(t *testing.T, write func(*cache.TreeWriter) error) *Local {
	t.Helper()
	c, err := cache.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	w, err := c.NewTree(cache.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	files, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return NewLocal(t.Context(), Config{Cwd: t.TempDir(), Roots: []string{"."},
		Fetch: func(text string, use reference.Use, _ remote.Origin) (*remote.Content, error) {
			r, err := reference.Parse(text, use)
			return &remote.Content{Reference: r, Version: reference.Version{Scheme: reference.Git, Commit: fmt.Sprintf("%040d", 1)},
				Tree: files}, err
		}})
}

// Repositories with the same files are different repositories, however similar their addresses are.
func TestFetchedFromElsewhere(t *testing.T) {
	l := fetchingLocal(t, func(w *cache.TreeWriter) error { return w.File("a", false, 1, strings.NewReader("a")) })
	for _, repo := range []string{"https://example.com/org/repo_a", "https://example.com/org_repo/a", "https://example.com/org/repo/a"} {
		d, err := l.FetchDir(nil, "git::"+repo+"//.?ref=v")
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := d.Repo(); got != repo {
			t.Errorf("%s comes from %s", repo, got)
		}
	}
}

// Files are read ahead while other trees are fetched, including refused trees. The race detector
// checks it.
func TestReadAheadWhileFetching(t *testing.T) {
	const many = 100
	l := fetchingLocal(t, func(w *cache.TreeWriter) error {
		err := w.File("outside.yaml", false, 1, strings.NewReader("o"))
		for i := range many {
			err = errors.Join(err, w.Link(fmt.Sprintf("base/%d.yaml", i), "../outside.yaml"))
		}
		return err
	})
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
	if _, err := l.Read(d, "1.yaml"); err == nil ||
		!strings.Contains(err.Error(), `"1.yaml" is a symbolic link to "example.com/org/repo@v/outside.yaml"`) {
		t.Error(err)
	}
}
