package builtins

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

// editNaive is the definition of FieldSpec.Edit, one field after the other, as kustomize walks.
func editNaive(v krm.Value, names []string, create krm.Type, fn EditFunc) (krm.Value, error) {
	if len(names) == 0 {
		return fn(v)
	}
	name, list := strings.CutSuffix(names[0], "[]")
	switch v.Type() {
	case krm.Null:
		return v, nil
	case krm.Seq:
		var items []krm.Value
		for _, item := range v.Items() {
			w, err := editNaive(item, names, create, fn)
			if err != nil {
				return v, err
			}
			items = append(items, w)
		}
		return krm.SeqOf(items...), nil
	case krm.Map:
		field := v.Get(name)
		switch {
		case list && field.Type() == krm.Null:
			field = krm.SeqOf()
		case !list && create != krm.None && field.IsNull() && len(names) == 1 && create != krm.Map:
			field = krm.Number(create, field.SourceText())
		case !list && create != krm.None && field.IsNull():
			field = krm.MapOf()
		case !field.Exists():
			return v, nil
		}
		w, err := editNaive(field, names[1:], create, fn)
		return v.With(name, w), err
	}
	return v, errors.New("scalar on the way")
}

func randomTree(rnd *rand.Rand, depth int) krm.Value {
	switch n := rnd.IntN(10); {
	case n == 0:
		return krm.NullValue
	case n == 1 && rnd.IntN(4) == 0:
		return krm.Str("text")
	case n < 4 && depth > 0:
		items := make([]krm.Value, rnd.IntN(3))
		for i := range items {
			items[i] = randomTree(rnd, depth-1)
		}
		return krm.SeqOf(items...)
	}
	var fields []krm.Field
	for _, key := range []string{"a", "b", "c"} {
		if depth > 0 && rnd.IntN(3) > 0 {
			fields = append(fields, krm.Field{Key: key, Value: randomTree(rnd, depth-1)})
		}
	}
	return krm.MapOf(fields...)
}

// TestTreesEditAsFieldsDo compares the trees of a set with editing field after field.
func TestTreesEditAsFieldsDo(t *testing.T) {
	names := []string{"a", "b", "c", "a[]", "b[]"}
	fails, changes := 0, 0
	for seed := range uint64(20000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		specs := make(FieldSpecs, 1+rnd.IntN(4))
		for i := range specs {
			path := names[rnd.IntN(len(names))]
			for range rnd.IntN(3) {
				path += "/" + names[rnd.IntN(len(names))]
			}
			specs[i] = FieldSpec{Path: path, CreateIfNotPresent: rnd.IntN(2) == 0}
		}
		create := []krm.Type{krm.None, krm.Map, krm.Int, krm.Map}[rnd.IntN(4)]
		v := randomTree(rnd, 4)
		calls := 0
		fn := func(field krm.Value) (krm.Value, error) {
			calls++
			switch {
			case create == krm.Map && field.Type() == krm.Map:
				return field.With("edited", krm.Str(fmt.Sprint(field.Get("edited").Text(), "x"))), nil
			case field.Type() == krm.Map || field.Type() == krm.Seq || calls%5 == 0:
				return field, nil
			}
			return krm.Str(field.Text() + "x"), nil
		}
		want, wantErr := v, error(nil)
		for _, fs := range specs {
			kind := create
			if !fs.CreateIfNotPresent {
				kind = krm.None
			}
			if want, wantErr = editNaive(want, splitPath(fs.Path), kind, fn); wantErr != nil {
				break
			}
		}
		before := string(krm.AppendJSON(nil, v))
		wantCalls := calls
		calls = 0
		got, err := specs.compile().edit(v, krm.GVK{}, create, fn)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("seed %d: error %v, want %v", seed, err, wantErr)
		}
		if after := string(krm.AppendJSON(nil, v)); after != before {
			t.Fatalf("seed %d: the value changed from %s to %s", seed, before, after)
		}
		if err != nil {
			fails++
			continue
		}
		if calls != wantCalls {
			t.Fatalf("seed %d: %d fields edited, want %d", seed, calls, wantCalls)
		}
		if !got.Equal(want) && calls < 5 { // beyond that the order of calls counts
			t.Fatalf("seed %d: %v of %s\nis   %s\nwant %s", seed, specs, before, krm.AppendJSON(nil, got), krm.AppendJSON(nil, want))
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
