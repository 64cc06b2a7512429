package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

// A copy contains exactly the files used since Track, and using the copy never changes the original
// files.
func TestCopyUsed(t *testing.T) {
	c := open(t)
	var trees []*Tree
	for _, name := range []string{"a", "b"} {
		w, err := c.NewTree(Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.File(name, false, 1, strings.NewReader(name)); err != nil {
			t.Fatal(err)
		}
		tree, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Record("git", name, tree.Digest); err != nil {
			t.Fatal(err)
		}
		trees = append(trees, tree)
	}
	c.Track()
	if d, ok := c.Lookup("git", "a"); !ok || d != trees[0].Digest {
		t.Fatal(d)
	}
	if _, err := c.Tree(trees[0].Digest); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "x/copy")
	if err := c.CopyUsed(dir); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, dir)
	if len(before) != 4 { // an entry, an index, the files, and what git reads
		t.Errorf("%q", before)
	}
	got, err := OpenCopy(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := got.Lookup("git", "a")
	tree, err := got.Tree(d)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := tree.ReadFile("a"); err != nil || string(data) != "a" {
		t.Errorf("%q, %v", data, err)
	}
	if _, ok := got.Lookup("git", "b"); ok {
		t.Error("what was not used is there")
	}
	if _, err := got.Put([]byte("x")); err == nil {
		t.Error("something was added")
	}

	// Damage is reported, not repaired.
	tree.Close()
	if err := flip(got.blob(tree.data)); err != nil {
		t.Fatal(err)
	}
	tree.Restore = func() error { t.Error("it is to be restored"); return nil }
	if _, err := tree.ReadFile("a"); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if err := flip(got.blob(d)); err != nil {
		t.Fatal(err)
	}
	if _, err := got.Tree(d); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if after := filesBelow(t, dir); !slices.Equal(before, after) {
		t.Errorf("%q", after)
	}

	// The next copy replaces the folder, whatever it contains.
	c.Track()
	if _, ok := c.Lookup("git", "b"); !ok {
		t.Fatal("b is gone")
	}
	if err := c.CopyUsed(dir); err != nil {
		t.Fatal(err)
	}
	if after := filesBelow(t, dir); len(after) != 2 {
		t.Errorf("%q", after)
	}
}

// Damaged files of the cache are not copied, and symlinks in the folder are not followed.
func TestCopyOfDamage(t *testing.T) {
	c := open(t)
	c.Track()
	d, err := c.Put([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := flip(c.blob(d)); err != nil {
		t.Fatal(err)
	}
	if err := c.CopyUsed(t.TempDir()); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if _, err := c.Put([]byte("x")); err != nil {
		t.Fatal(err)
	}
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, layout)); err != nil {
		t.Skip(err)
	}
	if err := c.CopyUsed(dir); err == nil {
		t.Error("it is written through a link")
	}
	if files := filesBelow(t, outside); len(files) > 0 {
		t.Errorf("%q", files)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.CopyUsed(dir); err == nil || len(filesBelow(t, dir)) != 1 {
		t.Errorf("a folder with other files: %v", err)
	}
	if _, err := OpenCopy(filepath.Join(dir, "mine")); err == nil {
		t.Error("a file is no copy")
	}
	if !has(c, krm.DigestOf([]byte("x"))) {
		t.Error("the cache has lost something")
	}
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
