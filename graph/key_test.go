package graph_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestKeysTellConfigurations fills two configurations of each built-in at random. They are often
// equal or almost equal. They must have the same key if and only if they are equal.
func TestKeysTellConfigurations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	makers := []func() any{
		func() any { return new(builtins.SortOrderTransformer) },
		func() any { return new(builtins.Finish) },
	}
	for _, kind := range builtins.Kinds() {
		makers = append(makers, func() any { return builtins.New(kind) })
	}
	same := 0
	for i := range 100_000 {
		a, b := makers[i%len(makers)](), makers[i%len(makers)]()
		seed := r.Uint64()
		fill(rand.New(rand.NewPCG(seed, 0)), reflect.ValueOf(a).Elem(), 0)
		fill(rand.New(rand.NewPCG(seed, 0)), reflect.ValueOf(b).Elem(), 0)
		if i%3 > 0 {
			change(r, reflect.ValueOf(b).Elem())
		}
		equal := describe(reflect.ValueOf(a)) == describe(reflect.ValueOf(b))
		if equal {
			same++
		}
		if ka, kb := operation(a).Key(), operation(b).Key(); (ka == kb) != equal {
			t.Fatalf("%T: equal is %v, but the keys are %s and %s:\n%v\n%v", a, equal, ka, kb, describe(reflect.ValueOf(a)),
				describe(reflect.ValueOf(b)))
		}
	}
	if same < 20_000 || same > 80_000 {
		t.Errorf("%d of 100,000 pairs were the same", same)
	}
}

// TestKeysStay checks that data derived from a configuration during a run is not part of the key.
func TestKeysStay(t *testing.T) {
	config := builtins.DefaultConfig()
	for _, b := range []any{
		&builtins.PrefixTransformer{Prefix: "a-", FieldSpecs: builtins.NewFieldSpecs(config.NamePrefix.All()...)},
		&builtins.Finish{NameReference: builtins.NewNameReferences(config.NameReference.All()...)},
	} {
		op := operation(b)
		before := op.Key()
		v, err := (&yaml.Source{Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")}).Value()
		if err != nil {
			t.Fatal(err)
		}
		list := krm.NewList(krm.NewResource(v, nil))
		if err := b.(graph.Transformer).Transform(list, func(diag.Code, string, ...any) {}); err != nil {
			t.Fatal(err)
		}
		if op.Key() != before {
			t.Errorf("%T: the key is another one after it ran", b)
		}
	}
}

func operation(builtin any) graph.Op {
	if g, ok := builtin.(graph.Generator); ok {
		return graph.Generate{Generator: g}
	}
	return graph.Transform{Transformer: builtin.(graph.Transformer)}
}

// fill sets the exported fields of v to one of a few values, so that two results are often similar.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[yaml.Value]() {
		v.Set(reflect.ValueOf(randomValue(r)))
		return
	}
	v = unwrapped(v)
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(r.IntN(3)))
	case reflect.String:
		v.SetString([]string{"", "a", "ab", "b", "a,b", "a\x00b"}[r.IntN(6)])
	case reflect.Slice:
		if n := r.IntN(4) - 1; n >= 0 && depth < 6 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n := r.IntN(4) - 1; n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, depth+1)
				fill(r, value, depth+1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Pointer:
		if r.IntN(2) == 0 && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(r, v.Field(i), depth+1)
			}
		}
	}
}

// unwrapped returns the list that a yaml.Wrapper wraps, or v itself if it is not a wrapper.
func unwrapped(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		if w, ok := v.Addr().Interface().(yaml.Wrapper); ok {
			return reflect.ValueOf(w.Wrapped()).Elem()
		}
	}
	return v
}

// change refills one exported field of a struct.
func change(r *rand.Rand, v reflect.Value) {
	var fields []int
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			fields = append(fields, i)
		}
	}
	if len(fields) == 0 {
		return
	}
	f := v.Field(fields[r.IntN(len(fields))])
	if f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[yaml.Value]() {
		change(r, f)
		return
	}
	f.SetZero()
	fill(r, f, 0)
}

func randomValue(r *rand.Rand) yaml.Value {
	switch r.IntN(6) {
	case 0:
		return yaml.Value{}
	case 1:
		return yaml.Str("a")
	case 2:
		return yaml.QuotedStr("a")
	case 3:
		return yaml.Number(yaml.Int, "1")
	case 4:
		return yaml.SeqOf(yaml.Str("1"))
	}
	return yaml.MapOf(yaml.Field{Key: "a", Value: yaml.NullValue})
}

// describe prints the exported fields of v. It does not use the encoding of keys.
func describe(v reflect.Value) string {
	if v.Type() == reflect.TypeFor[yaml.Value]() {
		x := v.Interface().(yaml.Value)
		return fmt.Sprintf("%v %v %s", x.Type(), x.Quoted(), yaml.AppendJSON(nil, x))
	}
	v = unwrapped(v)
	switch v.Kind() {
	case reflect.Slice:
		s := fmt.Sprintf("nil=%v[", v.IsNil())
		for i := range v.Len() {
			s += describe(v.Index(i)) + ";"
		}
		return s + "]"
	case reflect.Map:
		m := map[string]string{}
		for it := v.MapRange(); it.Next(); {
			m[describe(it.Key())] = describe(it.Value())
		}
		return fmt.Sprintf("%q", m)
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return "&" + describe(v.Elem())
	case reflect.Struct:
		s := "{"
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s += v.Type().Field(i).Name + ":" + describe(v.Field(i)) + " "
			}
		}
		return s + "}"
	}
	return fmt.Sprintf("%q", fmt.Sprint(v.Interface()))
}

// TestKeysTellFiles checks that configurations that differ only in the content of a file have
// different keys, because the content is part of the key.
func TestKeysTellFiles(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: %s}}"
	byPath := &builtins.Selector{}
	byPath.Name = "x"
	for _, tt := range []struct {
		text string // the file; %s marks the difference
		make func() builtins.Builtin
	}{
		{"%s", func() builtins.Builtin {
			g := new(builtins.ConfigMapGenerator)
			g.Name, g.Files = "x", []string{"f"}
			return g
		}},
		{"a=%s", func() builtins.Builtin {
			g := new(builtins.SecretGenerator)
			g.Name, g.Envs = "x", []string{"f"}
			return g
		}},
		{cm, func() builtins.Builtin { return &builtins.PatchTransformer{Path: "f"} }},
		{"- {op: add, path: /a, value: %s}", func() builtins.Builtin { return &builtins.PatchTransformer{Path: "f", Target: byPath} }},
		{"- {op: add, path: /a, value: %s}",
			func() builtins.Builtin { return &builtins.PatchJson6902Transformer{Path: "f", Target: byPath} }},
		{cm, func() builtins.Builtin { return &builtins.PatchStrategicMergeTransformer{Paths: []string{"f"}} }},
		{"{sourceValue: %s, targets: [{select: {kind: X}, fieldPaths: [a]}]}", func() builtins.Builtin {
			return &builtins.ReplacementTransformer{Replacements: []builtins.Replacement{{Path: "f"}}}
		}},
		{"targets: [{fieldPath: metadata/%s}]",
			func() builtins.Builtin { return &builtins.ValueAddTransformer{Value: "v", TargetFilePath: "f"} }},
	} {
		key := func(value string) krm.Digest {
			b := tt.make()
			err := b.Configure(builtins.Env{Read: func(string) (*yaml.Source, error) {
				return &yaml.Source{File: "f", Data: fmt.Appendf(nil, tt.text, value)}, nil
			}})
			if err != nil {
				t.Fatalf("%T: %v", b, err)
			}
			return operation(b).Key()
		}
		if first, again, other := key("b"), key("b"), key("c"); first != again || first == other {
			t.Errorf("%T of %q: the keys are %s and %s, and %s for another file", tt.make(), tt.text, first, again, other)
		}
	}
}

// TestKeysTellOperations checks that operations of different kinds have different keys, even with
// the same content.
func TestKeysTellOperations(t *testing.T) {
	seen := map[krm.Digest]string{}
	sorter := new(builtins.SortOrderTransformer)
	for _, op := range []graph.Op{
		graph.Load{}, graph.Merge{}, graph.Generate{}, graph.Transform{}, graph.Validate{}, graph.Pass{}, graph.Fetch{}, graph.Call{},
		graph.Absorb{}, graph.Finish{},
		graph.Transform{Transformer: sorter}, graph.Validate{Transformer: sorter}, graph.Finish{Transformer: sorter},
		graph.Transform{Transformer: sorter, Last: true}, graph.Transform{Transformer: sorter, Origin: &krm.Origin{}},
		graph.Load{Source: &yaml.Source{File: "f"}}, graph.Load{Source: &yaml.Source{File: "g"}},
		graph.Load{Source: &yaml.Source{File: "f", Data: []byte("a: b")}},
	} {
		name := fmt.Sprintf("%T %+v", op, op)
		if other := seen[op.Key()]; other != "" {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[op.Key()] = name
	}
}
