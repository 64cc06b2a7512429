package loaders

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func parse(src *yaml.Source) error {
	_, err := src.Documents()
	return err
}

// Content read ahead becomes an input of the run only when it is requested, and is not read again
// then.
func TestReadAhead(t *testing.T) {
	cwd := tree(t, map[string]string{
		"a/x.yaml":    "apiVersion: v1\nkind: A\nmetadata: {name: x}\n",
		"a/odd.yaml":  "apiVersion: v1\nkind: A\nmetadata: {name: x}\nspec: 012\n",
		"a/bad.yaml":  "kind: ]\n",
		"a/same.yaml": "-> x.yaml",
		"b/y.yaml":    "",
	})
	budget := &Budget{Max: 1000}
	l := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{"."}, Budget: budget})
	a, _ := l.Root("a")
	b, _ := l.Root("b")
	defer a.Close()
	defer b.Close()
	early := l.ReadAhead(1000, a, "x.yaml", parse)
	for _, name := range []string{"odd.yaml", "bad.yaml", "missing.yaml", "../b/y.yaml"} {
		if src := l.ReadAhead(1000, a, name, parse); src != nil {
			t.Errorf("%s is parsed, with mistakes or warnings", name)
		}
	}
	l.ReadAhead(1000, a, "same.yaml", parse)
	if len(l.Sources()) != 0 || budget.Used() != 0 {
		t.Errorf("%d files count before somebody asks for them, for %d bytes", len(l.Sources()), budget.Used())
	}
	if src, err := l.ReadUpTo(1000, a, "x.yaml"); err != nil || src != early {
		t.Errorf("x.yaml was read again: %v", err)
	}
	if same, err := l.ReadUpTo(1000, a, "same.yaml"); err != nil || budget.Used() != int64(len(early.Data)) || same.File != "a/same.yaml" {
		t.Errorf("the other name of x.yaml: %v, %d bytes", err, budget.Used())
	}
	if src, err := l.ReadUpTo(1000, a, "odd.yaml"); err != nil || len(src.Warnings()) != 0 {
		t.Errorf("odd.yaml: %v, or it was parsed before", err)
	}
	if _, err := l.ReadUpTo(1000, a, "missing.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing.yaml: %v", err)
	}
	var restricted *RestrictedError
	if _, err := l.ReadUpTo(1000, a, "../b/y.yaml"); !errors.As(err, &restricted) {
		t.Errorf("error %v, want a RestrictedError", err)
	}
	if _, err := l.ReadUpTo(1000, b, "../a/bad.yaml"); !errors.As(err, &restricted) {
		t.Errorf("error %v: what is there for one layer is there for all", err)
	}
	if _, err := l.ReadUpTo(3, a, "bad.yaml"); err == nil {
		t.Error("bad.yaml is not too large")
	}
}

// A goroutine that requests a file still being read ahead does other work until the file is there.
func TestWhileWaiting(t *testing.T) {
	cwd := tree(t, map[string]string{"slow.yaml": "kind: A\n", "other.yaml": "kind: B\n"})
	l := NewLocal(t.Context(), Config{Cwd: cwd, Roots: []string{"."}})
	dir, _ := l.Root(".")
	defer dir.Close()
	begun, finish := make(chan bool), make(chan bool)
	var early *yaml.Source
	var walker sync.WaitGroup
	walker.Go(func() {
		early = l.ReadAhead(1000, dir, "slow.yaml", func(*yaml.Source) error {
			close(begun)
			<-finish
			return nil
		})
	})
	calls := 0
	l.WhileWaiting(func(over func() bool) {
		calls++
		if over() {
			t.Error("there before it was read")
		}
		l.ReadAhead(1000, dir, "other.yaml", nil)
		close(finish)
		for !over() {
			runtime.Gosched()
		}
	})
	<-begun
	src, err := l.ReadUpTo(1000, dir, "slow.yaml")
	walker.Wait()
	if err != nil || src != early || calls != 1 {
		t.Errorf("%v, read again: %v, %d calls", err, src != early, calls)
	}
	if _, err := l.ReadUpTo(1000, dir, "other.yaml"); err != nil || calls != 1 {
		t.Errorf("%v, %d calls for a file that is there", err, calls)
	}
}
