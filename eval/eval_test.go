package eval

import (
	"errors"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const (
	web = "{apiVersion: v1, kind: Service, metadata: {name: web}}\n"
	api = "{apiVersion: v1, kind: Service, metadata: {name: api}}\n"
)

func source(text string) *yaml.Source { return &yaml.Source{File: "r.yaml", Data: []byte(text)} }

func loaded(t *testing.T, text string) *krm.List {
	t.Helper()
	list, err := Run(graph.Load{Source: source(text)}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// step returns a configured built-in.
func step[B builtins.Builtin](t *testing.T, b B) B {
	t.Helper()
	if err := b.Configure(builtins.Env{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func prefix(t *testing.T) graph.Transformer {
	return step(t, &builtins.PrefixTransformer{Prefix: "a-", FieldSpecs: builtins.NewFieldSpecs(builtins.FieldSpec{Path: "metadata/name"})})
}

func names(list *krm.List) string {
	var s []string
	for _, r := range list.All() {
		s = append(s, r.ID().Name)
	}
	return strings.Join(s, " ")
}

// TestOperationsLeaveInputsUnchanged checks the output of each operation, and that input lists that
// are still in use do not change.
func TestOperationsLeaveInputsUnchanged(t *testing.T) {
	generator := &builtins.ConfigMapGenerator{}
	generator.Name, generator.Literals = "made", []string{"a=b"}
	finish := &builtins.Finish{Sort: builtins.LegacyOrder()}
	for _, tc := range []struct {
		op     graph.Op
		inputs []string
		want   string
	}{
		{graph.Load{Source: source(web + "---\n" + api)}, nil, "web api"},
		{graph.Merge{}, nil, ""},
		{graph.Merge{}, []string{web, api}, "web api"},
		{graph.Generate{Generator: step(t, generator)}, []string{web}, "web made"},
		{graph.Generate{Generator: generator}, nil, "made"},
		{graph.Absorb{}, []string{web, api}, "web api"},
		{graph.Absorb{}, []string{api}, "api"},
		{graph.Transform{Transformer: prefix(t)}, []string{web + "---\n" + api}, "a-web a-api"},
		{graph.Validate{Transformer: step(t, &builtins.LabelTransformer{})}, []string{web}, "web"},
		{graph.Finish{Transformer: finish}, []string{web + "---\n" + api}, "api web"},
	} {
		var inputs []Input
		for _, text := range tc.inputs {
			inputs = append(inputs, Input{List: loaded(t, text)})
		}
		before := make([]string, len(inputs))
		for i, in := range inputs {
			before[i] = names(in.List)
		}
		got, err := Run(tc.op, inputs, func(diag.Code, string, ...any) {})
		if err != nil || names(got) != tc.want {
			t.Errorf("%s of %q: %q and error %v, want %q", tc.op.Verb(), tc.inputs, names(got), err, tc.want)
			continue
		}
		for i, in := range inputs {
			if names(in.List) != before[i] {
				t.Errorf("%s changed its input %q to %q", tc.op.Verb(), before[i], names(in.List))
			}
		}
	}
}

// TestRunExclusive checks that a list without other users is changed in place.
func TestRunExclusive(t *testing.T) {
	list := loaded(t, web)
	got, err := Run(graph.Transform{Transformer: prefix(t)}, []Input{{List: list, Held: krm.Exclusive}}, nil)
	if err != nil || got != list || names(list) != "a-web" {
		t.Errorf("a new list %q and error %v, want the owned list, changed", names(got), err)
	}
}

func TestRunErrors(t *testing.T) {
	same := step(t, &builtins.PatchTransformer{
		Target: &builtins.Selector{}, Patch: "- {op: add, path: /data, value: {a: b}}"})
	for _, tc := range []struct {
		op     graph.Op
		inputs []string
		want   string
	}{
		{graph.Load{Source: source("a: [")}, nil, "r.yaml:1: "},
		{graph.Load{Source: source(web + "---\n" + web)}, nil, "duplicate resource v1 Service web (already at r.yaml:1)"},
		{graph.Merge{}, []string{web, web}, "duplicate resource v1 Service web"},
		{graph.Validate{Transformer: same}, []string{web}, "a validator must not change resources, but it changed v1 Service web"},
		{graph.Absorb{}, []string{web, web}, "v1 Service web already exists"},
		{graph.Absorb{}, nil, "absorb has no inputs"},
		{graph.Call{}, nil, "cannot run a call operation here"},
	} {
		var inputs []Input
		for _, text := range tc.inputs {
			inputs = append(inputs, Input{List: loaded(t, text)})
		}
		if _, err := Run(tc.op, inputs, func(diag.Code, string, ...any) {}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s of %q: error %v, want %q in it", tc.op.Verb(), tc.inputs, err, tc.want)
		}
	}
}

// TestGenerateTooLarge checks that the error of a generated resource that is too large is not lost.
func TestGenerateTooLarge(t *testing.T) {
	generator := &builtins.ConfigMapGenerator{}
	generator.Name, generator.Literals = "made", []string{"a=" + strings.Repeat("x", yaml.MaxResource)}
	_, err := Run(graph.Generate{Generator: step(t, generator)}, []Input{{List: loaded(t, web)}}, nil)
	if !errors.Is(err, diag.ErrLimit) || !strings.Contains(err.Error(), "v1 ConfigMap made exceeds the limit of 64 MiB") {
		t.Errorf("error %v", err)
	}
}
