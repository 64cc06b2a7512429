package composition

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/report"
)

// The reference: the rules of consolidation as simply as they can be said, on data that has nothing but what matters.
type (
	refItem struct {
		kind, name string
		fields     map[string]int // 0 stands for null in an override
	}
	refOverride struct {
		refItem
		remove bool
	}
	refImport struct {
		to     int
		append bool
	}
	refFile struct {
		imports   []refImport
		own       []refItem
		overrides []refOverride
		order     []refItem // kind may be empty
	}
)

// consolidateRef returns what file i comes to, false if a rule is broken.
func consolidateRef(files []refFile, i int, path []int) ([]refItem, bool) {
	if slices.Contains(path, i) {
		return nil, false
	}
	f := files[i]
	var front, back []refItem
	for _, imp := range f.imports {
		items, ok := consolidateRef(files, imp.to, append(path, i))
		if !ok {
			return nil, false
		}
		if imp.append {
			back = append(back, items...)
		} else {
			front = append(front, items...)
		}
	}
	split := len(front)
	imported := append(front, back...)
	if !distinctRef(imported) {
		return nil, false
	}
	gone := map[int]bool{}
	for _, o := range f.overrides {
		at := slices.IndexFunc(imported, func(it refItem) bool { return it.kind == o.kind && it.name == o.name })
		if at < 0 || gone[at] {
			return nil, false
		}
		gone[at] = o.remove
		fields := map[string]int{}
		for k, v := range imported[at].fields {
			fields[k] = v
		}
		for k, v := range o.fields {
			if fields[k] = v; v == 0 {
				delete(fields, k)
			}
		}
		imported[at].fields = fields
	}
	var all []refItem
	for at, it := range imported {
		if at == split {
			all = append(all, f.own...)
		}
		if !gone[at] {
			all = append(all, it)
		}
	}
	if split == len(imported) {
		all = append(all, f.own...)
	}
	if !distinctRef(all) {
		return nil, false
	}
	return orderRef(all, f.order)
}

func distinctRef(items []refItem) bool {
	seen := map[string]bool{}
	for _, it := range items {
		if seen[it.kind+"/"+it.name] {
			return false
		}
		seen[it.kind+"/"+it.name] = true
	}
	return true
}

func orderRef(items, order []refItem) ([]refItem, bool) {
	if len(order) == 0 {
		return items, true
	}
	var out []refItem
	for _, o := range order {
		var found []refItem
		for _, it := range items {
			if it.name == o.name && (o.kind == "" || o.kind == it.kind) {
				found = append(found, it)
			}
		}
		if len(found) != 1 {
			return nil, false
		}
		out = append(out, found[0])
	}
	return out, len(out) == len(items) && distinctRef(out)
}

// randomTree returns files of which each mostly imports later ones, and is mostly right.
func randomTree(r *rand.Rand) []refFile {
	files := make([]refFile, 2+r.IntN(5))
	kinds := []string{"PrefixTransformer", "SuffixTransformer", "LabelTransformer"}
	n := 0
	for i := len(files) - 1; i >= 0; i-- {
		f := &files[i]
		for range r.IntN(3) {
			n++
			it := refItem{kinds[r.IntN(3)], fmt.Sprintf("n%d", n), map[string]int{"a": 1 + r.IntN(9), "b": 1 + r.IntN(9)}}
			if r.IntN(12) == 0 {
				it.name = fmt.Sprintf("n%d", 1+r.IntN(n))
			}
			f.own = append(f.own, it)
		}
		for j := i + 1; j < len(files) && r.IntN(3) > 0; j++ {
			if r.IntN(2) == 0 {
				f.imports = append(f.imports, refImport{j, r.IntN(2) == 0})
			}
		}
		if r.IntN(30) == 0 {
			f.imports = append(f.imports, refImport{r.IntN(len(files)), false})
		}
		randomChanges(r, files, i, n)
	}
	return files
}

// randomChanges gives file i overrides and an order, mostly about what it imports.
func randomChanges(r *rand.Rand, files []refFile, i, n int) {
	f := &files[i]
	known, ok := consolidateRef(files, i, nil)
	if !ok || len(known) == 0 {
		return
	}
	for range r.IntN(3) {
		target := known[r.IntN(len(known))]
		own := slices.ContainsFunc(f.own, func(it refItem) bool { return it.name == target.name && it.kind == target.kind })
		if own && r.IntN(8) > 0 {
			continue
		}
		o := refOverride{refItem{target.kind, target.name, map[string]int{}}, r.IntN(6) == 0}
		for _, key := range []string{"a", "b", "c"} {
			if r.IntN(2) == 0 && !o.remove {
				o.fields[key] = r.IntN(4)
			}
		}
		if r.IntN(25) == 0 {
			o.name = "unknown"
		}
		f.overrides = append(f.overrides, o)
	}
	if r.IntN(3) > 0 {
		return
	}
	known, ok = consolidateRef(files, i, nil)
	if !ok {
		return
	}
	for _, at := range r.Perm(len(known)) {
		o := refItem{kind: known[at].kind, name: known[at].name}
		if r.IntN(3) > 0 {
			o.kind = ""
		}
		switch r.IntN(40) {
		case 0:
			continue // one is missing
		case 1:
			f.order = append(f.order, o) // one occurs twice
		case 2:
			o.name = "unknown"
		}
		f.order = append(f.order, o)
	}
}

func (f refFile) yaml() string {
	var b strings.Builder
	b.WriteString("kind: Composition\ntransformersFrom:\n")
	for k, i := range f.imports {
		mode := "prepend"
		if i.append {
			mode = "append"
		}
		fmt.Fprintf(&b, "- {path: ../d%d%s, importMode: %s}\n", i.to, []string{"", "/composition.yaml"}[k%2], mode)
	}
	b.WriteString("transformers:\n")
	for _, it := range f.own {
		fmt.Fprintf(&b, "- %s\n", it.yaml(""))
	}
	b.WriteString("transformerOverrides:\n")
	for _, o := range f.overrides {
		more := ""
		if o.remove {
			more = ", $patch: delete"
		}
		fmt.Fprintf(&b, "- %s\n", o.yaml(more))
	}
	b.WriteString("transformerOrder:\n")
	for _, o := range f.order {
		if o.kind == "" {
			fmt.Fprintf(&b, "- name: %s\n", o.name)
		} else {
			fmt.Fprintf(&b, "- {name: %s, kind: %s}\n", o.name, o.kind)
		}
	}
	return b.String()
}

func (it refItem) yaml(more string) string {
	fields := ""
	for _, key := range []string{"a", "b", "c"} {
		if v, ok := it.fields[key]; ok && v == 0 {
			fields += ", " + key + ": null"
		} else if ok {
			fields += fmt.Sprintf(", %s: %d", key, v)
		}
	}
	return fmt.Sprintf("{apiVersion: builtin, kind: %s, metadata: {name: %s}%s%s}", it.kind, it.name, fields, more)
}

// TestConsolidationLikeReference compares random trees of Compositions with the reference: the same list, or both refuse.
// What comes out, saved in the place of the first file, comes to the same again (CI-04 to CI-09, CV-01 to CV-09, CD-03, CD-05 to CD-08,
// CE-08).
func TestConsolidationLikeReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	right, wrong, changed, ordered := 0, 0, 0, 0
	for range 600 {
		files := randomTree(r)
		dir := t.TempDir()
		for i, f := range files {
			put(t, dir, fmt.Sprintf("d%d/composition.yaml", i), f.yaml())
		}
		want, ok := consolidateRef(files, 0, nil)
		v, err := consolidated(t, dir, "d0")
		if (err == nil) != ok {
			t.Fatalf("the reference accepts: %v, krmflow: %v\n%s", ok, err, show(files))
		}
		if !ok {
			wrong++
			continue
		}
		right++
		changed, ordered = changed+len(files[0].overrides), ordered+len(files[0].order)
		if got := plainItems(v); got != plainRef(want) {
			t.Fatalf("got\n%swant\n%s\n%s", got, plainRef(want), show(files))
		}
		put(t, dir, "d0/composition.yaml", string(yaml.AppendYAML(nil, v)))
		again, err := consolidated(t, dir, "d0")
		if err != nil || !again.Equal(v) {
			t.Fatalf("read again: %v\n%s\n%s", err, yaml.AppendYAML(nil, v), yaml.AppendYAML(nil, again))
		}
	}
	if right < 100 || wrong < 50 || changed < 30 || ordered < 30 {
		t.Errorf("%d right trees, %d wrong ones, %d overrides, %d entries of orders: the test is too easy", right, wrong, changed, ordered)
	}
}

func plainItems(v yaml.Value) string {
	var b strings.Builder
	for _, it := range v.Get("transformers").Items() {
		fmt.Fprintf(&b, "%s/%s", it.Get("kind").Text(), it.At("metadata", "name").Text())
		for _, key := range []string{"a", "b", "c"} {
			fmt.Fprintf(&b, " %s=%s", key, it.Get(key).Text())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func plainRef(items []refItem) string {
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%s/%s", it.kind, it.name)
		for _, key := range []string{"a", "b", "c"} {
			text := ""
			if v := it.fields[key]; v != 0 {
				text = fmt.Sprint(v)
			}
			fmt.Fprintf(&b, " %s=%s", key, text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func show(files []refFile) string {
	var b strings.Builder
	for i, f := range files {
		fmt.Fprintf(&b, "-- d%d --\n%s", i, f.yaml())
	}
	return b.String()
}

// files reads the files of a tree, and keeps no account of that.
type files struct{ *loaders.Local }

func (files) Reads(string, string)               {}
func (files) Refers(*yaml.Source, []any, string) {}

func newFiles(cwd string) files {
	return files{loaders.NewLocal(context.Background(), loaders.Config{Cwd: cwd, Roots: []string{"."}})}
}

// consolidate returns the list of the Composition in the directory name, and that directory.
func consolidate(t *testing.T, s *Set, name string) (*List, *loaders.Dir, error) {
	t.Helper()
	dir, err := s.files.(files).Root(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Close)
	src, _, err := layerfile.Find(s.files, dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &report.Reporter{Warnings: &report.Warnings{}}
	l := s.Consolidate(dir, src, nil, r)
	return l, dir, errors.Join(r.Errs.Errors()...)
}

// consolidated returns the Composition in the directory name of cwd, written out.
func consolidated(t *testing.T, cwd, name string) (yaml.Value, error) {
	t.Helper()
	l, dir, err := consolidate(t, NewSet(newFiles(cwd), false), name)
	if err != nil {
		return yaml.Value{}, err
	}
	return l.Value(dir), nil
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}
