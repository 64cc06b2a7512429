package loaders

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files (text) and symbolic links (-> target) below a temporary directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(strings.ReplaceAll(target, "$DIR", dir), path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadStaysInsideRoot(t *testing.T) {
	cwd := tree(t, map[string]string{
		"outside.yaml":     "o",
		"root/a.yaml":      "a",
		"root/sub/b.yaml":  "b",
		"root/inside.yaml": "-> sub/b.yaml",
		"root/abs.yaml":    "-> $DIR/root/sub/b.yaml",
		"root/out.yaml":    "-> ../outside.yaml",
		"root/outdir":      "-> ..",
		"root/loop.yaml":   "-> loop.yaml",
	})
	for _, c := range []struct {
		path, want, err, free string // free is the content without restrictions, if different
	}{
		{path: "a.yaml", want: "a"},
		{path: "./sub/../a.yaml", want: "a"},
		{path: "sub/b.yaml", want: "b"},
		{path: "inside.yaml", want: "b"},
		{path: "abs.yaml", want: "b"},
		{path: cwd + "/root/a.yaml", want: "a"},
		{path: "../outside.yaml", err: `"../outside.yaml" is outside the directory "root"`, free: "o"},
		{path: cwd + "/outside.yaml", err: `is outside the directory "root"`, free: "o"},
		{path: "out.yaml", err: `"out.yaml" is a symbolic link to "outside.yaml", which is outside the directory "root"`, free: "o"},
		{path: "outdir/outside.yaml", err: `which is outside the directory "root"`, free: "o"},
		{path: "loop.yaml", err: `"loop.yaml" is a symbolic link that leads to itself`},
		{path: "sub", err: `"sub" is a directory, not a file`},
		{path: "b.yaml", err: `"b.yaml" does not exist`},
		{path: "a.yaml/x", err: `"a.yaml/x" does not exist`},
		{path: "../missing.yaml", err: `"../missing.yaml" does not exist`},
	} {
		for _, unrestricted := range []bool{false, true} {
			l := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{"."}, Unrestricted: unrestricted})
			dir, err := l.Root("root")
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := c.want, c.err
			if unrestricted && c.free != "" {
				want, wantErr = c.free, ""
			}
			src, err := l.Read(dir, c.path)
			switch {
			case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
				t.Errorf("%s (unrestricted %v): error %v, want %s", c.path, unrestricted, err, wantErr)
			case wantErr == "" && (err != nil || string(src.Data) != want):
				t.Errorf("%s (unrestricted %v): %v", c.path, unrestricted, err)
			}
			dir.Close()
		}
	}
}

// Replacements are read like files: they can be read ahead, and only layers that may read the file
// may read its replacement.
func TestReplacementsAreReadLikeFiles(t *testing.T) {
	cwd := tree(t, map[string]string{"a/old.yaml": "old", "a/gone.yaml": "gone", "b/x.yaml": ""})
	a := filepath.Join(cwd, "a")
	l := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{"."}, Instead: map[string][]byte{
		filepath.Join(a, "old.yaml"): []byte("new"), filepath.Join(a, "made.yaml"): []byte("made"), filepath.Join(a, "gone.yaml"): nil,
	}})
	dir, _ := l.Root("a")
	other, _ := l.Root("b")
	defer dir.Close()
	defer other.Close()
	l.ReadAhead(1000, dir, "old.yaml", nil)
	for path, want := range map[string]string{"old.yaml": "new", "made.yaml": "made"} {
		if src, err := l.ReadUpTo(1000, dir, path); err != nil || string(src.Data) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	var missing *NotFoundError
	if _, err := l.Read(dir, "gone.yaml"); !errors.As(err, &missing) {
		t.Errorf("gone.yaml: %v", err)
	}
	if _, err := l.Read(other, "../a/made.yaml"); err == nil {
		t.Error("a file is read from outside of its directory")
	}
	if _, err := NewLocal(t.Context(), Config{Instead: map[string][]byte{filepath.Join(a, "old.yaml"): []byte("new")}}).ReadUpTo(2, dir,
		"old.yaml"); err == nil {
		t.Error("more is read than is asked for")
	}
}

// Permission to read is checked for each layer, even if the file is in memory already.
func TestReadIsRestrictedPerLayer(t *testing.T) {
	cwd := tree(t, map[string]string{"a/x.yaml": "x", "b/y.yaml": "y"})
	l := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{"."}})
	a, _ := l.Root("a")
	b, _ := l.Root("b")
	defer a.Close()
	defer b.Close()
	one, err := l.Read(a, "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := l.Read(a, "./x.yaml"); err != nil || two != one {
		t.Errorf("the file was read twice: %v", err)
	}
	var restricted *RestrictedError
	if _, err := l.Read(b, "../a/x.yaml"); !errors.As(err, &restricted) {
		t.Errorf("error %v, want a RestrictedError", err)
	}
	if len(l.Sources()) != 1 {
		t.Errorf("%d files were read", len(l.Sources()))
	}
}

func TestRootsAndSubdirectoriesAreNamed(t *testing.T) {
	cwd := tree(t, map[string]string{"real/k/f": "", "link": "-> real/k", "file": ""})
	l := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{"."}})
	dir, err := l.Root("link")
	if err != nil || dir.Real != filepath.Join(cwd, "real/k") || dir.Name != filepath.Join("real", "k") {
		t.Errorf("link: %+v, %v", dir, err)
	}
	up, err := l.Sub(dir, "..")
	if err != nil || up.Name != "real" || !up.Contains(dir) || dir.Contains(up) {
		t.Errorf("parent of link: %+v, %v", up, err)
	}
	if dir, err := l.Root(cwd + "/real"); err != nil || dir.Name != "real" {
		t.Errorf("an absolute path is shown as %+v, %v, where another one is relative", dir, err)
	}
	abs := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{cwd + "/real"}})
	if dir, err := abs.Root(cwd + "/real"); err != nil || dir.Name != cwd+"/real" {
		t.Errorf("an absolute path is shown as %+v, %v", dir, err)
	}
	for _, bad := range []string{"", "missing", "file", "file/x"} {
		if _, err := l.Root(bad); err == nil {
			t.Errorf("Root(%q): no error", bad)
		}
	}
	var missing *NotFoundError
	if _, err := l.Root("reel"); !errors.As(err, &missing) || len(missing.Hints()) != 1 {
		t.Errorf("no near name for a misspelled directory: %v", err)
	}
}
