package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/diag"
)

// tree stores files. A text that begins with "-> " is a symbolic link.
func tree(t *testing.T, c *Cache, files map[string]string) (*Tree, error) {
	t.Helper()
	w, err := c.NewTree(Limits{Files: 50, Bytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	for name, text := range files {
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = w.Link(name, target)
		} else if text == "submodule" {
			err = w.Absent(name)
		} else {
			err = w.File(name, strings.HasSuffix(name, ".sh"), int64(len(text)), strings.NewReader(text))
		}
		if err != nil {
			return nil, err
		}
	}
	return w.Commit()
}

func TestTreeIsFS(t *testing.T) {
	c := open(t)
	files := map[string]string{"a.yaml": "a: 1\n", "a/b.yaml": "b: 1\n", "a/c/d": "", "a-b/x.sh": "#!\n", "z": "z", "a/c-d": "1",
		"odd\nname": "x"}
	tr, err := tree(t, c, files)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a.yaml", "a/b.yaml", "a/c/d", "a-b/x.sh", "z", "odd\nname"}
	if err := fstest.TestFS(tr, names...); err != nil {
		t.Error(err)
	}
	again, err := c.Tree(tr.Digest)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if data, err := again.ReadFile(name); string(data) != text || err != nil {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	empty, err := tree(t, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(empty); err != nil {
		t.Error(err)
	}
}

func TestTreeLinks(t *testing.T) {
	tr, err := tree(t, open(t), map[string]string{
		"a/b.yaml": "b", "a/c/d.yaml": "d", "to-a": "-> a", "a/up": "-> ../to-a/c", "a/file": "-> c/d.yaml",
		"loop": "-> loop", "out": "-> ../x", "a/out": "-> c/../../../x", "abs": "-> /etc/passwd", "dead": "-> nothing",
		"sneaky": "-> to-a/../../x", "sub": "submodule",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"to-a/b.yaml": "a/b.yaml", "a/up/d.yaml": "a/c/d.yaml", "to-a/up/d.yaml": "a/c/d.yaml", "a/file": "a/c/d.yaml", "to-a": "a",
		".": ".", "a": "a",
	} {
		if real, err := tr.Real(name); real != want || err != nil {
			t.Errorf("%s is %q, %v; want %q", name, real, err, want)
		}
	}
	if data, err := tr.ReadFile("to-a/file"); string(data) != "d" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if list, err := tr.ReadDir("to-a/up"); len(list) != 1 || list[0].Name() != "d.yaml" || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	for _, name := range []string{"out", "a/out", "abs", "sneaky", "abs/x"} {
		var escape *EscapeError
		if _, err := tr.ReadFile(name); !errors.As(err, &escape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"dead", "nothing", "a/b.yaml/c", "to-a/x"} {
		if _, err := tr.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"../x", "/etc/passwd", "a//b.yaml", "a/../a/b.yaml", ""} {
		if _, err := tr.ReadFile(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"loop", "a"} {
		if _, err := tr.ReadFile(name); err == nil {
			t.Errorf("%s can be read", name)
		}
	}
	for _, name := range []string{"sub", "sub/kustomization.yaml"} {
		if _, err := tr.ReadFile(name); !errors.Is(err, ErrAbsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTreeRefuses(t *testing.T) {
	c := open(t)
	for _, files := range []map[string]string{
		{"../x": ""}, {"/x": ""}, {"a/../b": ""}, {"": ""}, {".": ""}, {"a\x00b": ""}, {"a": "", "a/b": ""}, {"a/": ""},
	} {
		if _, err := tree(t, c, files); err == nil {
			t.Errorf("%q is a tree", files)
		}
	}
	if _, err := tree(t, c, map[string]string{"a": strings.Repeat("x", 6000), "b": strings.Repeat("x", 6000)}); !errors.Is(err,
		diag.ErrLimit) {
		t.Errorf("too many bytes: %v", err)
	}
	w, err := c.NewTree(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	if err := w.File("a", false, 10, strings.NewReader("short")); err == nil {
		t.Error("a file may be shorter than it says")
	}
}

func TestTreeDamage(t *testing.T) {
	files := map[string]string{"a": "hello"}
	c := open(t)
	tr, _ := tree(t, c, files)
	if err := flip(c.blob(tr.data)); err != nil {
		t.Fatal(err)
	}
	if data, err := tr.ReadFile("a"); !errors.Is(err, ErrDamaged) {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := c.Tree(tr.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	restored := 0
	tr.Restore = func() error { restored++; _, err := tree(t, c, files); return err }
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if data, err := tr.ReadFile("a"); string(data) != "hello" || err != nil {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
	all.Wait()
	if restored != 1 {
		t.Errorf("it was restored %d times", restored)
	}
	if err := flip(c.blob(tr.Digest)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tree(tr.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the index is damaged, and %v", err)
	}
}

// A forged index, which a copy may contain, never makes a reader see content that its files do not
// have.
func TestTreeForged(t *testing.T) {
	c := open(t)
	data, err := c.Put([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []entry{{size: 6}, {size: -1}, {size: 1, offset: 5}, {size: 1, offset: -1}, {size: math.MaxInt64},
		{size: math.MaxInt64, offset: math.MaxInt64}} {
		e.kind, e.name = regular, "a"
		d, err := c.Put(index(data, []entry{e}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Tree(d); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("size %d at %d: %v", e.size, e.offset, err)
		}
	}
}

func TestCompareNames(t *testing.T) {
	names := []string{"a", "a/b", "a/b/c", "a/bc", "a-b", "a.b", "ab", "b"}
	for i, a := range names {
		for j, b := range names {
			if got := compareNames(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
			if got := (entry{name: a}).compareTo(b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q to %q: %d", a, b, got)
			}
		}
	}
}

// It opens a tree of 20,000 files and reads one of them.
func BenchmarkTree(b *testing.B) {
	c, err := Temporary()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	w, err := c.NewTree(Limits{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Discard()
	for i := range 20_000 {
		if err := w.File(fmt.Sprintf("dir%d/file%d.yaml", i%100, i), false, 5, strings.NewReader("a: 1\n")); err != nil {
			b.Fatal(err)
		}
	}
	stored, err := w.Commit()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		tree, err := c.Tree(stored.Digest)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tree.ReadFile("dir50/file10050.yaml"); err != nil {
			b.Fatal(err)
		}
		tree.Close()
	}
}
