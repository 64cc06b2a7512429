package builtins

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// editNaive is the definition of FieldSpec.Edit. It edits one field after the other, as kustomize
// does.
func editNaive(v yaml.Value, names []string, create yaml.Type, fn EditFunc) (yaml.Value, error) {
	if len(names) == 0 {
		return fn(v)
	}
	name, list := strings.CutSuffix(names[0], "[]")
	switch v.Type() {
	case yaml.Null:
		return v, nil
	case yaml.Seq:
		var items []yaml.Value
		for _, item := range v.Items() {
			w, err := editNaive(item, names, create, fn)
			if err != nil {
				return v, err
			}
			items = append(items, w)
		}
		return yaml.SeqOf(items...), nil
	case yaml.Map:
		field := v.Get(name)
		switch {
		case list && field.Type() == yaml.Null:
			field = yaml.SeqOf()
		case !list && create != yaml.None && field.IsNull() && len(names) == 1 && create != yaml.Map:
			field = yaml.Number(create, field.SourceText())
		case !list && create != yaml.None && field.IsNull():
			field = yaml.MapOf()
		case !field.Exists():
			return v, nil
		}
		w, err := editNaive(field, names[1:], create, fn)
		return v.With(name, w), err
	}
	return v, errors.New("scalar on the way")
}

func randomTree(rnd *rand.Rand, depth int) yaml.Value {
	switch n := rnd.IntN(10); {
	case n == 0:
		return yaml.NullValue
	case n == 1 && rnd.IntN(4) == 0:
		return yaml.Str("text")
	case n < 4 && depth > 0:
		items := make([]yaml.Value, rnd.IntN(3))
		for i := range items {
			items[i] = randomTree(rnd, depth-1)
		}
		return yaml.SeqOf(items...)
	}
	var fields []yaml.Field
	for _, key := range []string{"a", "b", "c"} {
		if depth > 0 && rnd.IntN(3) > 0 {
			fields = append(fields, yaml.Field{Key: key, Value: randomTree(rnd, depth-1)})
		}
	}
	return yaml.MapOf(fields...)
}

// TestTreesEditAsFieldsDo compares the tree of a set of fields with editing each field in turn.
func TestTreesEditAsFieldsDo(t *testing.T) {
	names := []string{"a", "b", "c", "a[]", "b[]"}
	fails, changes := 0, 0
	for seed := range uint64(20000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		specs := make([]FieldSpec, 1+rnd.IntN(4))
		for i := range specs {
			path := names[rnd.IntN(len(names))]
			for range rnd.IntN(3) {
				path += "/" + names[rnd.IntN(len(names))]
			}
			specs[i] = FieldSpec{Path: path, CreateIfNotPresent: rnd.IntN(2) == 0}
		}
		create := []yaml.Type{yaml.None, yaml.Map, yaml.Int, yaml.Map}[rnd.IntN(4)]
		v := randomTree(rnd, 4)
		calls := 0
		fn := func(field yaml.Value) (yaml.Value, error) {
			calls++
			switch {
			case create == yaml.Map && field.Type() == yaml.Map:
				return field.With("edited", yaml.Str(fmt.Sprint(field.Get("edited").Text(), "x"))), nil
			case field.Type() == yaml.Map || field.Type() == yaml.Seq || calls%5 == 0:
				return field, nil
			}
			return yaml.Str(field.Text() + "x"), nil
		}
		want, wantErr := v, error(nil)
		for _, fs := range specs {
			kind := create
			if !fs.CreateIfNotPresent {
				kind = yaml.None
			}
			if want, wantErr = editNaive(want, splitPath(fs.Path), kind, fn); wantErr != nil {
				break
			}
		}
		before := string(yaml.AppendJSON(nil, v))
		wantCalls := calls
		calls = 0
		got, err := NewFieldSpecs(specs...).edit(v, krm.GVK{}, create, fn)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("seed %d: error %v, want %v", seed, err, wantErr)
		}
		if after := string(yaml.AppendJSON(nil, v)); after != before {
			t.Fatalf("seed %d: the value changed from %s to %s", seed, before, after)
		}
		if err != nil {
			fails++
			continue
		}
		if calls != wantCalls {
			t.Fatalf("seed %d: %d fields edited, want %d", seed, calls, wantCalls)
		}
		if !got.Equal(want) && calls < 5 { // with more calls, the result depends on their order
			t.Fatalf("seed %d: %v of %s\nis   %s\nwant %s", seed, specs, before, yaml.AppendJSON(nil, got), yaml.AppendJSON(nil, want))
		}
		if got.Equal(v) != got.Same(v) {
			t.Fatalf("seed %d: an unchanged value was copied", seed)
		}
		if !got.Same(v) {
			changes++
		}
	}
	if fails < 100 || changes < 1000 {
		t.Errorf("only %d failures and %d changes: the trees are too tame", fails, changes)
	}
}

func TestSplitPath(t *testing.T) {
	for path, want := range map[string]string{
		"a/b": "a|b", "/a/b": "a|b", `a\/b/c`: "a/b|c", `a\/b\/c`: "a/b/c", "": "", "a//b": "a||b", "a/": "a|", "//a": "|a", `\/`: "/",
		`a/b\`: `a|b\`,
	} {
		if got := strings.Join(splitPath(path), "|"); got != want {
			t.Errorf("splitPath(%q) = %q, want %q", path, got, want)
		}
	}
}
