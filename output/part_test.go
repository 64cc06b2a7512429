package output

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
)

// nested are the folders of roots, some inside each other.
var nested = []string{"a", "a/b", "a/b/c", "a/d", "e/f", "e/g", "h"}

// TestOutputParts changes some roots at a time and compares the folder with a newly written one.
func TestOutputParts(t *testing.T) {
	for seed := range uint64(15) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		top := t.TempDir()
		out := filepath.Join(top, "out")
		seen := known.New()
		roots := map[string]*krm.List{}
		for step := range 12 {
			for _, root := range nested {
				switch rnd.IntN(8) {
				case 0:
					delete(roots, root)
				case 1, 2:
					l := krm.NewList()
					for i := range rnd.IntN(4) {
						l.Append(configMap(fmt.Sprintf("c%d", i), fmt.Sprint(rnd.IntN(3))))
					}
					roots[root] = l
				}
			}
			if len(roots) == 0 {
				continue
			}
			writeOut(t, out, Options{Known: seen}, roots)
			fresh := filepath.Join(top, fmt.Sprint("fresh", step))
			writeOut(t, fresh, Options{}, roots)
			if got, want := tree(t, out), tree(t, fresh); !maps.Equal(got, want) {
				t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, want)
			}
			if c, err := tryWriteOut(out, Options{Known: seen}, roots); err != nil || !c.None() {
				t.Fatalf("seed %d, step %d: once more: %+v, %v", seed, step, c, err)
			}
		}
	}
}

// A folder beside the folder of the only changed root is not replaced.
func TestOutputPartAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there folders are exchanged")
	}
	out := filepath.Join(t.TempDir(), "out")
	roots := map[string]*krm.List{"a/b": krm.NewList(configMap("x", "1")), "a/c": krm.NewList(configMap("x", "1")),
		"d": krm.NewList(configMap("x", "1"))}
	writeOut(t, out, Options{}, roots)
	stat := func(name string) os.FileInfo {
		info, err := os.Stat(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if err := os.Chmod(filepath.Join(out, "a/b"), 0o750); err != nil {
		t.Fatal(err)
	}
	before := map[string]os.FileInfo{}
	for _, name := range []string{".", "a", "a/b", "a/c", "d"} {
		before[name] = stat(name)
	}
	roots["a/b"] = krm.NewList(configMap("x", "2"))
	writeOut(t, out, Options{}, roots)
	for name, info := range before {
		if got, want := os.SameFile(stat(name), info), name != "a/b"; got != want {
			t.Errorf("%s is the same folder: %t, want %t", name, got, want)
		}
		if stat(name).Mode() != info.Mode() {
			t.Errorf("%s has mode %v, not %v", name, stat(name).Mode(), info.Mode())
		}
	}
}

// TestOutputReuse reuses existing output if it is unchanged since it was written.
func TestOutputReuse(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	seen := known.New()
	list := krm.NewList(configMap("x", "1"), object("v1", "Secret", "", "s", "1"))
	o, err := Open(out, Options{Known: seen})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Put("r", list); err != nil {
		t.Fatal(err)
	}
	files := o.Files("r")
	if _, err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	reuse := func() bool {
		o, err := Open(out, Options{Known: seen})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Abort()
		ok, err := o.Reuse("r", files)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			if c, err := o.Commit(); err != nil || !c.None() || c.Unchanged != 2 {
				t.Errorf("reused: %+v, %v", c, err)
			}
		}
		return ok
	}
	for range 2 {
		if !reuse() {
			t.Fatal("what is there is not reused")
		}
	}
	files[0]++
	if reuse() {
		t.Error("other files are reused")
	}
	files[0]--
	file := filepath.Join(out, "r/v1_configmap_x.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(text)+"# edited\n")
	if reuse() {
		t.Error("a file that was edited is reused")
	}
	write(t, file, string(text))
	if !reuse() {
		t.Error("a file that was written again is not reused")
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(out, "r/v1_secret_s.yaml"), 0o644); err != nil {
			t.Fatal(err)
		}
		if reuse() {
			t.Error("a Secret that others can read is reused")
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if reuse() {
		t.Error("a file that was removed is reused")
	}
}

// TestOutputLearns edits files during a slow commit. Afterwards, the known state of files is the
// state that krmflow wrote or checked.
func TestOutputLearns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	seen := known.New()
	settle := func() { time.Sleep(50 * time.Millisecond) } // until the file system's clock has advanced
	commit := func(meanwhile func(), put func(o *Dir) error) {
		t.Helper()
		o, err := Open(out, Options{Known: seen})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Abort()
		if err := put(o); err != nil {
			t.Fatal(err)
		}
		settle()
		next, err := o.next()
		if err != nil {
			t.Fatal(err)
		}
		if err := o.commit(next); err != nil {
			t.Fatal(err)
		}
		o.made = nil
		meanwhile()
		settle()
		o.learn(o.changed)
	}
	isKnown := func(want bool, files ...string) {
		t.Helper()
		for _, file := range files {
			if _, ok := seen.By[file]; ok != want {
				t.Errorf("%s is known: %t, want %t", file, ok, want)
			}
		}
	}
	a, b := "a/v1_configmap_x.yaml", "b/v1_configmap_x.yaml"
	edit := func(file string) { write(t, filepath.Join(out, file), "edited\n") }
	put := func(root string, kept ...string) func(o *Dir) error {
		return func(o *Dir) error {
			for _, root := range kept {
				if err := o.Keep(root); err != nil {
					return err
				}
			}
			return o.Put(root, krm.NewList(configMap("x", "1")))
		}
	}
	commit(func() {}, put("a"))
	isKnown(true, a)
	commit(func() { edit(b) }, put("b", "a")) // as soon as it exists
	isKnown(false, a, b)                      // kept files were not checked
	edit(a)
	settle()
	commit(func() {}, put("c", "a", "b"))
	isKnown(false, a, b)
}
