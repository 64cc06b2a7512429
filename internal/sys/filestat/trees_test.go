package filestat

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTreesEndAtRepository checks that a path is found in its tree in each spelling, and that a
// tree ends at its repository.
func TestTreesEndAtRepository(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
	for _, dir := range []string{"repo/.git", "repo/a/b", "repo/inner/.git", "repo/inner/k", "repo/sub/k", "loose/a/deep", "loose/b",
		"elsewhere"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in("repo/sub/.git"), []byte("gitdir: ../.git/modules/sub\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(in("repo/a"), in("link")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name     string
		rendered []string
		wd       string
		path     string
		want     string
	}{
		{"the repository of a root", []string{"repo/a/b"}, "", "repo/cache/new", "repo"},
		{"outside of it", []string{"repo/a/b"}, "", "elsewhere/cache", ""},
		{"a name that begins like it", []string{"repo/a/b"}, "", "repository/cache", ""},
		{"by a link", []string{"repo/a/b"}, "", "link/cache", "repo"},
		{"a root by a link", []string{"link/b"}, "", "repo/cache", "repo"},
		{"by dots", []string{"repo/a/b"}, "", "elsewhere/../repo/cache", "repo"},
		{"an inner repository has its own tree", []string{"repo/inner/k"}, "", "repo/cache", ""},
		{"and nobody else", []string{"repo/inner/k"}, "", "repo/inner/cache", "repo/inner"},
		{"both", []string{"repo/inner/k", "repo/a/b"}, "", "repo/cache", "repo"},
		{"both, in another order", []string{"repo/a/b", "repo/inner/k"}, "", "repo/inner/cache", "repo/inner"},
		{"a submodule", []string{"repo/sub/k"}, "", "repo/cache", "repo"},
		{"a directory without git", []string{"loose/a"}, "", "loose/a/cache", "loose/a"},
		{"beside it", []string{"loose/a"}, "", "loose/cache", ""},
		{"one with git does not count for that", []string{"loose/a", "repo/a"}, "", "elsewhere/cache", ""},
		{"a root above another", []string{"loose", "loose/b"}, "", "loose/cache", "loose"},
		{"the working directory", []string{"loose/a"}, "repo/a", "repo/cache", "repo"},
		{"a working directory without git", []string{"loose/a"}, "elsewhere", "elsewhere/cache", ""},
		{"nothing is rendered", nil, "", "repo/cache", ""},
		{"a root that does not exist", []string{"gone"}, "", "gone/cache", ""},
	} {
		var rendered []string
		for _, dir := range c.rendered {
			rendered = append(rendered, in(dir))
		}
		wd, want := "", ""
		if c.wd != "" {
			wd = in(c.wd)
		}
		if c.want != "" {
			want = in(c.want)
		}
		if got := (&Dirs{}).TreesOf(rendered, wd).Around(top + "/" + c.path); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// TestTreeAboveHome checks that a directory that contains the user's home directory is not a tree,
// independent of HOME.
func TestTreeAboveHome(t *testing.T) {
	home := home()
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		t.Skip("the user has no home")
	}
	t.Setenv("HOME", t.TempDir())
	if tree := (&Dirs{}).TreesOf([]string{home}, "").Around(filepath.Join(home, ".cache")); tree != "" {
		t.Errorf("the cache is in %s", tree)
	}
	if tree := (&Dirs{}).TreesOf([]string{filepath.Dir(home)}, "").Around(filepath.Join(filepath.Dir(home), "beside")); tree == "" {
		t.Error("what is beside the home is the user's own")
	}
	other := t.TempDir()
	if tree := (&Dirs{}).TreesOf([]string{other}, "").Around(filepath.Join(other, ".cache")); tree == "" {
		t.Error("HOME makes a tree the user's own")
	}
	t.Setenv("HOME", other)
	if tree := (&Dirs{}).TreesOf([]string{other}, "").Around(filepath.Join(other, ".cache")); tree == "" {
		t.Error("HOME makes a tree the user's own")
	}
}
