package builtins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/krm"
	yamlv3 "go.yaml.in/yaml/v3"
)

// resourceList makes a list of the documents in text.
func resourceList(t testing.TB, text string) *krm.List {
	t.Helper()
	dec := yamlv3.NewDecoder(strings.NewReader(text))
	list := krm.NewList()
	for {
		var doc yamlv3.Node
		if dec.Decode(&doc) != nil {
			return list
		}
		if err := list.Append(krm.NewResource(yamlNodeValue(doc.Content[0]), nil)); err != nil {
			t.Fatal(err)
		}
	}
}

// replace applies the replacements in config and returns the resources.
func replace(t testing.TB, list *krm.List, config string, files map[string]string) (warnings []string, err error) {
	t.Helper()
	var tr ReplacementTransformer
	if errs := krm.Decode(yamlValue(t, "replacements:\n"+config), &tr); errs != nil {
		t.Fatal(errs)
	}
	if err := tr.Configure(fileEnv(files)); err != nil {
		return nil, err
	}
	err = tr.Transform(list, func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) })
	return warnings, err
}

func listText(t testing.TB, list *krm.List) string {
	t.Helper()
	var values []krm.Value
	for _, r := range list.All() {
		values = append(values, r.Value())
	}
	return yamlText(t, values...)
}

const replaceSource = `
apiVersion: v1
kind: X
metadata: {name: src}
v: {s: abc, n: 8080, f: 1.5, b: true, e: "", sn: "8080", sb: "true", m: {x: 1}, l: [1, a], h: 0x10, multi: "a\nb", y: "yes"}
---
`

// What becomes of a field is decided by the type of the field, not of the value: kustomize's answers, "!" for errors.
func TestReplacementTypes(t *testing.T) {
	for _, test := range []struct{ target, field, want string }{
		{"str", "s", "abc"},
		{"str", "n", `"8080"`},
		{"str", "f", `"1.5"`},
		{"str", "b", `"true"`},
		{"str", "e", `""`},
		{"str", "m", `""`},
		{"str", "l", `""`},
		{"str", "h", `"0x10"`},
		{"str", "multi", `"a\nb"`},
		{"5", "s", "!"},
		{"5", "n", "8080"},
		{"5", "sn", "8080"},
		{"5", "f", "!"},
		{"5", "b", "!"},
		{"5", "e", "!"},
		{"5", "m", "!"},
		{"5", "h", "0x10"},
		{"1.5", "n", "8080"},
		{"1.5", "s", "!"},
		{"1.5", "e", "!"},
		{"true", "b", "true"},
		{"true", "sb", "true"},
		{"true", "y", "!"},
		{"true", "n", "!"},
		{"null", "s", "!"},
		{"null", "n", "!"},
		{"null", "e", "null"},
		{"null", "m", "null"},
		{"{a: b}", "n", "8080"},
		{"{a: b}", "sn", `"8080"`},
		{"{a: b}", "m", "{x: 1}"},
		{"{a: b}", "l", "[1, a]"},
		{"[1]", "s", "abc"},
		{"[1]", "m", "{x: 1}"},
	} {
		list := resourceList(t, replaceSource+"apiVersion: v1\nkind: X\nmetadata: {name: dst}\nt: "+test.target)
		_, err := replace(t, list, fmt.Sprintf("- source: {name: src, fieldPath: v.%s}\n  targets: [{select: {name: dst}, fieldPaths: [t]}]", test.field), nil)
		if test.want == "!" {
			if err == nil {
				t.Errorf("%s <- %s: no error", test.target, test.field)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s <- %s: %v", test.target, test.field, err)
			continue
		}
		if got, want := list.At(1).Value().Get("t"), yamlValue(t, test.want); !got.Equal(want) {
			t.Errorf("%s <- %s: got %v %q, want %s", test.target, test.field, got.Type(), got.Text(), test.want)
		}
	}
}

// A new field takes the type of its text, whatever the type of the source was.
func TestReplacementCreate(t *testing.T) {
	for _, test := range []struct{ target, field, path, want string }{
		{"{}", "s", "new", "{new: abc}"},
		{"{}", "n", "new", "{new: 8080}"},
		{"{}", "sn", "new", "{new: 8080}"},
		{"{}", "sb", "new", "{new: true}"},
		{"{}", "e", "new", "{new: null}"},
		{"{}", "y", "new", `{new: "yes"}`},
		{"{}", "multi", "new", `{new: "a\nb"}`},
		{"{}", "m", "new", "{new: {x: 1}}"},
		{"{}", "l", "new", "{new: [1, a]}"},
		{"{}", "s", "a.b.c", "{a: {b: {c: abc}}}"},
		{"{}", "s", "a.[name=x].c", "{a: [{name: x, c: abc}]}"},
		{"{}", "s", "a.[port=80].c", "{a: [{port: 80, c: abc}]}"},
		{"{}", "s", "a.[=x]", "{a: [abc]}"},
		{"{}", "s", "a.0", "{a: [abc]}"},
		{"{}", "s", "a.0.b", "{a: [{b: abc}]}"},
		{"{}", "s", "a.1", "!"},
		{"{}", "s", "a.*", "!"},
		{"{}", "s", "a.-", "{a: {'-': abc}}"},
		{"{}", "s", `a\.b.[c.d]`, "{a.b: {c.d: abc}}"},
		{"{a: [1]}", "s", "a.1", "{a: [1, abc]}"},
		{"{a: [{name: y}]}", "s", "a.[name=x].c", "{a: [{name: y}, {name: x, c: abc}]}"},
		{"{a: [{name: xy}]}", "s", "a.[name=x].c", "{a: [{name: xy, c: abc}]}"},
		{"{a: []}", "s", "a.*", "!"},
		{"{a: 1}", "s", "a.b", "!"},
		{"{a: {b: 1}}", "s", "a.0", "!"},
		{"{a: [1]}", "s", "a.b", "!"},
		{"{}", "s", "a.[name=^y.$].c", "!"},
		{"{a: null}", "s", "a.b", "{a: null}"},
		{"{a: null}", "s", "a.b.c", "{a: null}"},
		{"{a: null}", "s", "a.0", "{a: null}"},
		{"{a: null}", "s", "a.1", "!"},
		{"{a: null}", "s", "a.[name=x].y", "{a: null}"},
		{"{a: null}", "s", "a.*", "!"},
		{"{a: }", "s", "a.b", "!"},
		{"{a: }", "s", "a.0", "!"},
		{"{a: [null]}", "s", "a.0.b", "{a: [null]}"},
	} {
		list := resourceList(t, replaceSource+"apiVersion: v1\nkind: X\nmetadata: {name: dst}\nt: "+test.target)
		_, err := replace(t, list, fmt.Sprintf("- source: {name: src, fieldPath: v.%s}\n  targets: [{select: {name: dst}, fieldPaths: ['t.%s'], options: {create: true}}]", test.field, test.path), nil)
		if test.want == "!" {
			if err == nil {
				t.Errorf("%s at %s: no error", test.target, test.path)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s at %s: %v", test.target, test.path, err)
			continue
		}
		if got, want := list.At(1).Value().Get("t"), yamlValue(t, test.want); !got.Equal(want) {
			t.Errorf("%s <- %s at %s: got\n%s", test.target, test.field, test.path, yamlText(t, got))
		}
	}
}

func TestSplitFieldPath(t *testing.T) {
	for path, want := range map[string][]string{
		"a.b":                            {"a", "b"},
		".a.b":                           {"a", "b"},
		"a":                              {"a"},
		"":                               {""},
		`a\.b.c`:                         {"a.b", "c"},
		"a.[b.c].d":                      {"a", "b.c", "d"},
		"a.[name=b.c].d":                 {"a", "[name=b.c]", "d"},
		"a.[name=b].d":                   {"a", "[name=b]", "d"},
		"a.[b]":                          {"a", "[b]"},
		"a.[b.c":                         {"a", "b.c"},
		"metadata.annotations.[x.y/z]":   {"metadata", "annotations", "x.y/z"},
		`metadata.annotations.x\.y\.z/a`: {"metadata", "annotations", "x.y.z/a"},
	} {
		if diff := cmp.Diff(want, splitFieldPath(path)); diff != "" {
			t.Errorf("%q: -want +got\n%s", path, diff)
		}
	}
}
