package cache

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// filled returns a cache with an entry of each kind.
func filled(t *testing.T) *Cache {
	t.Helper()
	c := open(t)
	tr, err := tree(t, c, map[string]string{"a": "hello", "b/c": "there"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Put([]byte("a blob"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Record("git", "tree", tr.Digest), c.Record("archive", "blob", d), c.Keep("things", keyOf(1), []byte("kept")),
		c.Keep("others", keyOf(1), nil)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUsageCountsFilesByKind(t *testing.T) {
	c := filled(t)
	age(t, c.kept("others", keyOf(1)), 10*time.Hour)
	list, err := c.Usage()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"blobs": 1, "entries": 2, "kept/others": 1, "kept/things": 1, "trees": 2}
	for _, u := range list {
		if want[u.Kind] != u.Files || u.Bytes != int64(u.Files)*block || u.Oldest.After(u.Latest) {
			t.Errorf("%+v", u)
		}
		if old := time.Since(u.Latest) > 9*time.Hour; old != (u.Kind == "kept/others") {
			t.Errorf("%s was used %s", u.Kind, u.Latest)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%+v", list)
	}
}

// Damage to any file is found, and only that file is removed. Files that do not belong in the cache
// are found as well.
func TestVerifyRemovesDamagedFiles(t *testing.T) {
	verify := func(c *Cache, dryRun bool) (damaged []string) {
		t.Helper()
		n, err := c.Verify(t.Context(), dryRun, func(path string, why error) { damaged = append(damaged, filepath.ToSlash(path)) })
		if err != nil || n < 5 {
			t.Errorf("%d files, %v", n, err)
		}
		return damaged
	}
	c := filled(t)
	if bad := verify(c, false); bad != nil {
		t.Fatalf("nothing is damaged, and %q is", bad)
	}
	for how, damage := range map[string]func(path string) error{
		"bit":       flip,
		"cut":       func(path string) error { return os.Truncate(path, 2) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"longer":    func(path string) error { return os.Truncate(path, 10_000) },
		"directory": func(path string) error { return errors.Join(os.Remove(path), os.MkdirAll(path+"/x", 0o700)) },
		"link":      func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) },
		"moved": func(path string) error {
			return os.Rename(path, filepath.Join(filepath.Dir(path), "00"+filepath.Base(path)[2:]))
		},
	} {
		for i := range 7 {
			c := filled(t)
			name := everything(t, c)[i]
			path := filepath.Join(c.folder(), name)
			age(t, path, time.Hour) // not being written
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				age(t, path, time.Hour)
			}
			before := everything(t, c)
			if bad := verify(c, true); len(bad) != 1 || how != "moved" && bad[0] != layout+"/"+name {
				t.Errorf("%s %s: %q", how, name, bad)
			}
			if !slices.Equal(everything(t, c), before) {
				t.Errorf("%s %s: a dry run has changed something", how, name)
			}
			if bad := verify(c, false); len(bad) != 1 {
				t.Errorf("%s %s: %q", how, name, bad)
			}
			if bad := verify(c, false); bad != nil {
				t.Errorf("%s %s: it is still damaged: %q", how, name, bad)
			}
		}
	}
}

// A file or a symlink can be in the place of a folder.
func TestNoFolder(t *testing.T) {
	for _, name := range []string{"kept", "entries", "blobs", "kept/things", "entries/git"} {
		for how, damage := range map[string]func(path string) error{
			"file": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
			"link": func(path string) error { return os.Symlink(t.TempDir(), path) },
		} {
			c := filled(t)
			path := filepath.Join(c.folder(), filepath.FromSlash(name))
			if err := errors.Join(os.RemoveAll(path), damage(path)); err != nil {
				t.Fatal(err)
			}
			if how == "file" {
				age(t, path, time.Hour)
			}
			if list, err := c.Usage(); err != nil || len(list) == 0 {
				t.Errorf("%s %s: %+v, %v", how, name, list, err)
			}
			bad := 0
			if _, err := c.Verify(t.Context(), false, func(string, error) { bad++ }); err != nil || bad != 1 || exists(path) {
				t.Errorf("%s %s: %d damaged, %v", how, name, bad, err)
			}
		}
	}
}

// A file larger than memory is found to be damaged without being read.
func TestVerifyHuge(t *testing.T) {
	c := filled(t)
	huge := 0
	for _, name := range everything(t, c) {
		if path := filepath.Join(c.folder(), name); !strings.HasPrefix(name, "blobs/") {
			if err := os.Truncate(path, 1<<42); err != nil {
				t.Fatal(err)
			}
			age(t, path, time.Hour)
			huge++
		}
	}
	bad := 0
	if _, err := c.Verify(t.Context(), false, func(string, error) { bad++ }); err != nil || bad != huge || huge == 0 {
		t.Errorf("%d of %d are found, %v", bad, huge, err)
	}
}
