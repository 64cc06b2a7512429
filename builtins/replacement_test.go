package builtins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// resourceList parses the documents in text into a list.
func resourceList(t testing.TB, text string) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "r.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

// replace applies the replacements in config to list.
func replace(t testing.TB, list *krm.List, config string, files map[string]string) (warnings []string, err error) {
	t.Helper()
	var tr ReplacementTransformer
	if errs := yaml.Decode(yamlValue(t, "replacements:\n"+config), &tr); errs != nil {
		t.Fatal(errs)
	}
	if err := tr.Configure(fileEnv(files)); err != nil {
		return nil, err
	}
	err = tr.Transform(list, told(&warnings))
	return warnings, err
}

const replaceSource = `
apiVersion: v1
kind: X
metadata: {name: src}
v: {s: abc, n: 8080, f: 1.5, b: true, e: "", sn: "8080", sb: "true", m: {x: 1}, l: [1, a], h: 0x10, multi: "a\nb", y: "yes"}
---
`

// TestReplacementTypes checks that the type of the target field, not the type of the value,
// determines the type of the result. The expectations are kustomize's output, "!" for an error.
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
		_, err := replace(t,
			list, fmt.Sprintf("- source: {name: src, fieldPath: v.%s}\n  targets: [{select: {name: dst}, fieldPaths: [t]}]", test.field),
			nil)
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

// TestReplacementCreate checks that a new field takes the type of its text, regardless of the type
// of the source.
func TestReplacementCreate(t *testing.T) {
	for _, test := range []struct{ target, field, path, want string }{
		{"{}", "s", "new", "{new: abc}"},
		{"{}", "n", "new", "{new: 8080}"},
		{"{}", "sn", "new", "{new: 8080}"},
		{"{}", "sb", "new", "{new: true}"},
		{"{}", "e", "new", `{new: ""}`}, // because it is in brackets; elsewhere it is printed as null
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
		_, err := replace(t,
			list,
			fmt.Sprintf(
				"- source: {name: src, fieldPath: v.%s}\n  targets: [{select: {name: dst}, fieldPaths: ['t.%s'], options: {create: true}}]",
				test.field, test.path), nil)
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

func TestReplacementMistakes(t *testing.T) {
	const resources = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: a}
data: {host: hunter2, port: "80"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: b}
data: {host: hunter2}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {port: 80, ports: [1]}
`
	for _, test := range []struct{ config, want string }{
		{"targets: [{select: {name: web}}]", "source is missing"},
		{"source: {name: web}\n  sourceValue: x\n  targets: []", "source and sourceValue are mutually exclusive"},
		{"source: {name: web}", "targets are missing"},
		{"path: x\n  source: {name: web}", "path and an inline replacement exclude each other"},
		{"path: nope", "nope: no such file"},
		{"path: bad.yaml", `dir/bad.yaml:3: [0].targets[0].fieldPaths: must be a list, not a string`},
		{"path: text.yaml", "dir/text.yaml: must contain a replacement or a list of replacements"},
		{"path: nosource.yaml", "dir/nosource.yaml:1: [1]: source is missing"},
		{"source: {name: web}\n  targets: [{fieldPaths: [a]}]", "targets[0]: select is missing: it selects the resources to change"},
		{"source: {name: web}\n  targets: [null]", "targets[0]: select is missing: it selects the resources to change"},
		{"source: {name: web}\n  targets: [{select: {name: '('}}]",
			"targets[0]: select.name: no regular expression: missing closing ): `(`"},
		{"source: {name: web}\n  targets: [{select: {name: a}, reject: [{kind: '('}]}]",
			"targets[0]: reject[0].kind: no regular expression: missing closing ): `(`"},
		{"source: {name: settings}\n  targets: []",
			"source: settings metadata.name selects more than one resource\n  v1 ConfigMap a/settings (r.yaml:2)\n  v1 ConfigMap b/settings (r.yaml:7)\n  add the kind, name or namespace of the intended one"},
		{"source: {name: setings}\n  targets: []", "source: setings metadata.name selects nothing\n  did you mean \"settings\"?"},
		{"source: {name: settings, namespace: a, fieldPath: data.hots}\n  targets: []",
			`source v1 ConfigMap a/settings: field "data.hots" is missing or empty`},
		{"source: {name: settings, namespace: a, fieldPath: 'data.*'}\n  targets: []",
			`source v1 ConfigMap a/settings: field "data.*": * is not allowed in the field path of a source`},
		{"source: {name: settings, namespace: a, fieldPath: data.host, options: {delimiter: u, index: 2}}\n  targets: []",
			`source v1 ConfigMap a/settings: field "data.host": options.index is 2, but the value has 2 parts`},
		{"source: {name: settings, namespace: a, fieldPath: data, options: {delimiter: u}}\n  targets: []",
			`source v1 ConfigMap a/settings: field "data": options.delimiter needs a string, not a mapping`},
		{"source: {name: settings, namespace: a, fieldPath: data.host}\n  targets: [{select: {kind: Service}, fieldPaths: [spec.port]}]",
			`targets[0]: v1 Service web: unable to find field "spec.port": the field has type integer, but the value has a different type`},
		{"source: {name: settings, namespace: a, fieldPath: data.host}\n  targets: [{select: {kind: Service}, fieldPaths: [spec.prt]}]",
			`targets[0]: v1 Service web: unable to find field "spec.prt"`},
		{"source: {name: settings, namespace: a, fieldPath: data.host}\n  targets: [{select: {kind: Service}, fieldPaths: [spec.ports.3], options: {create: true}}]", `targets[0]: v1 Service web: unable to find or create field "spec.ports.3": index 3 is out of range for a list of length 1`},
		{"source: {name: settings, namespace: a, fieldPath: data.host}\n  targets: [{select: {kind: Service, labelSelector: '='}}]",
			`targets[0]: labelSelector "=": found '=', expected a key`},
	} {
		_, err := replace(t, resourceList(t, resources), "- "+test.config, map[string]string{
			"bad.yaml":      "- source: {name: a}\n  targets:\n  - fieldPaths: text\n",
			"text.yaml":     "text",
			"nosource.yaml": "[{source: {name: web}, targets: []}, {targets: []}]",
		})
		if err == nil || !says(err, test.want) {
			t.Errorf("%s:\n got %v\nwant %s", test.config, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the message shows a value: %v", test.config, err)
		}
	}
}

func TestReplacementFile(t *testing.T) {
	files := map[string]string{
		"one.yaml":  "sourceValue: 1\ntargets: [{select: {name: x}, fieldPaths: [a]}]\nunknown: ignored\n",
		"list.yaml": "- sourceValue: two\n  targets: [{select: {name: x}, fieldPaths: [b]}]\n- sourceValue: three\n  targets: [{select: {name: x}, fieldPaths: [c]}]\n",
	}
	list := resourceList(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\na: ''\nb: ''\nc: ''\n")
	if _, err := replace(t, list, "- path: one.yaml\n- path: list.yaml", files); err != nil {
		t.Fatal(err)
	}
	v := list.At(0).Value()
	if got := v.Get("a").Text() + v.Get("b").Text() + v.Get("c").Text(); got != "1twothree" {
		t.Error(got)
	}
}

// TestReplacementPreviousNames checks that targets also select resources by their previous names,
// whose namespace is never empty.
func TestReplacementPreviousNames(t *testing.T) {
	list := resourceList(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\na: ''\n---\napiVersion: v1\nkind: X\nmetadata: {name: y}\na: ''")
	for i, r := range list.All() {
		r = r.Copy()
		r.PushID()
		r.SetName("new-" + r.ID().Name)
		list.Set(i, r)
	}
	for _, test := range []struct {
		sel  string
		want string
	}{
		{"{name: x}", "v "},
		{"{name: new-x}", "v "},
		{"{name: 'new-.*'}", "v v"},
		{"{namespace: default}", "v v"},
		{"{name: new-x, namespace: default}", " "},
		{"{name: x, namespace: default}", "v "},
		{"{name: x|y}", "v v"},
		{"{name: x, kind: Y}", " "},
	} {
		l := list.Clone()
		if _, err := replace(t, l, "- sourceValue: v\n  targets: [{select: "+test.sel+", fieldPaths: [a]}]", nil); err != nil {
			t.Fatal(err)
		}
		if got := l.At(0).Value().Get("a").Text() + " " + l.At(1).Value().Get("a").Text(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.sel, got, test.want)
		}
	}
	warnings, err := replace(t, list.Clone(), "- sourceValue: v\n  targets: [{select: {name: z}, fieldPaths: [a]}]", nil)
	if diff := cmp.Diff([]string{"targets[0] selects nothing: name=z"}, warnings); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestReplacementShares checks that a shared resource never changes, and that an unchanged resource
// is not copied.
func TestReplacementShares(t *testing.T) {
	list := resourceList(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\na: old\nb: [{c: old}]")
	shared := list.Clone()
	if _, err := replace(t, list, "- sourceValue: new\n  targets: [{select: {name: x}, fieldPaths: [a, 'b.*.c']}]", nil); err != nil {
		t.Fatal(err)
	}
	if got := shared.At(0).Value().Get("a").Text() + yamlText(t, shared.At(0).Value().Get("b")); got != "old- c: old\n" {
		t.Errorf("the original became %s", got)
	}
	before := list.At(0)
	if _, err := replace(t, list, "- sourceValue: new\n  targets: [{select: {name: x}, fieldPaths: [a, 'b.*.c']}]", nil); err != nil {
		t.Fatal(err)
	}
	if list.At(0) != before {
		t.Error("copied without need")
	}
}

// TestReplacementSourceIsTarget checks that a change of the source by one target is visible to
// later targets.
func TestReplacementSourceIsTarget(t *testing.T) {
	list := resourceList(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\na: v\nb: w\nc: ''")
	config := `
- source: {name: x, fieldPath: a}
  targets:
  - {select: {name: x}, fieldPaths: [a], options: {delimiter: '-', index: 5}}
  - {select: {name: x}, fieldPaths: [c]}`
	if _, err := replace(t, list, config, nil); err != nil {
		t.Fatal(err)
	}
	if got := list.At(0).Value().Get("c").Text(); got != "v-v" {
		t.Error(got)
	}
}

func BenchmarkReplacements(b *testing.B) {
	const n = 400
	var text, config strings.Builder
	for i := range n {
		fmt.Fprintf(&text,
			"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}\nspec: {template: {spec: {containers: [{name: main, image: x}]}}}\n", i)
		fmt.Fprintf(&config,
			"- source: {kind: Deployment, name: d%d}\n  targets: [{select: {kind: Deployment, name: d%d}, fieldPaths: ['spec.template.spec.containers.[name=main].image']}]\n", i, (i+1)%n)
	}
	list := resourceList(b, text.String())
	var tr ReplacementTransformer
	if errs := yaml.Decode(yamlValue(b, "replacements:\n"+config.String()), &tr); errs != nil {
		b.Fatal(errs)
	}
	if err := tr.Configure(Env{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := tr.Transform(list.Clone(), func(diag.Code, string, ...any) { b.Fatal("warning") }); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzReplacementDocument checks that no document and no path makes a replacement panic or change
// its input object.
func FuzzReplacementDocument(f *testing.F) {
	f.Add("a: {b: 1} # c", "a.b", "x", false)
	f.Add(`{"a": [{"name": "n", "v": 1}]}`, "a.[name=n].v", "2", true)
	f.Add("- &x a\n- *x\n", "1", "new", true)
	f.Add("a: null\n", "a.b.[=c].*.-", "", true)
	f.Add(" ", "a", "x", true)
	f.Add("? [a]\n: b\n", "a", "x", true)
	f.Fuzz(func(t *testing.T, text, path, value string, create bool) {
		c := copier{value: constantValue(value), opts: FieldOptions{Create: create}}
		parts := parseFieldPath("doc." + path)
		object := yaml.MapOf(yaml.Field{Key: "doc", Value: yaml.Str(text)})
		first, _, err := c.apply(object, &parts)
		if object.Len() != 1 || object.Get("doc").Text() != text {
			t.Fatalf("%q at %q: the object was changed", text, path)
		}
		if second, _, err2 := c.apply(object, &parts); !first.Equal(second) || (err == nil) != (err2 == nil) {
			t.Errorf("%q at %q: first %v, %v, then %v, %v", text, path, first, err, second, err2)
		}
	})
}

// TestWritesReturnsFieldPathIndex checks that Writes returns the index of the field path that
// writes a field, -1 for none.
func TestWritesReturnsFieldPathIndex(t *testing.T) {
	list := resourceList(t,
		"apiVersion: v1\nkind: X\nmetadata: {name: a}\nl: [{name: b, v: 1}, {name: c, v: 2}]\ns: [p, q]\nm: {k: 1, a.b: 2}\n")
	for _, test := range []struct {
		target string
		path   []any
		want   int
	}{
		{"{select: {kind: X}, fieldPaths: [m.k]}", []any{"m", "k"}, 0},
		{"{select: {kind: X}, fieldPaths: [m.x, m.k]}", []any{"m", "k"}, 1},
		{"{select: {kind: X}, fieldPaths: [m.k]}", []any{"m"}, 0},
		{"{select: {kind: X}, fieldPaths: [m]}", []any{"m", "k"}, 0},
		{"{select: {kind: X}, fieldPaths: [m.a\\.b]}", []any{"m", "a.b"}, 0},
		{"{select: {kind: X}, fieldPaths: ['m.[a.b]']}", []any{"m", "a.b"}, 0},
		{"{select: {kind: X}, fieldPaths: [m.k]}", []any{"m", "a.b"}, -1},
		{"{select: {kind: X}, fieldPaths: ['l.[name=c].v']}", []any{"l", 1, "v"}, 0},
		{"{select: {kind: X}, fieldPaths: ['l.[name=c].v']}", []any{"l", 0, "v"}, -1},
		{"{select: {kind: X}, fieldPaths: ['l.*.v']}", []any{"l", 0, "v"}, 0},
		{"{select: {kind: X}, fieldPaths: [l.0.v]}", []any{"l", 0, "v"}, 0},
		{"{select: {kind: X}, fieldPaths: [l.0.v]}", []any{"l", 1, "v"}, -1},
		{"{select: {kind: X}, fieldPaths: [l.v]}", []any{"l", 1, "v"}, -1},
		{"{select: {kind: X}, fieldPaths: [l.0.v]}", []any{"l", 9, "v"}, -1},
		{"{select: {kind: X}, fieldPaths: ['s.[=q]']}", []any{"s", 1}, 0},
		{"{select: {kind: X}, fieldPaths: ['s.[=q]']}", []any{"s", 0}, -1},
		{"{select: {kind: X}}", []any{"metadata", "name"}, 0},
		{"{select: {kind: X}}", []any{"m", "k"}, -1},
		{"{select: {kind: Y}, fieldPaths: [m.k]}", []any{"m", "k"}, -1},
		{"{select: {kind: X}, reject: [{name: a}], fieldPaths: [m.k]}", []any{"m", "k"}, -1},
		{"{select: {name: '['}, fieldPaths: [m.k]}", []any{"m", "k"}, -1},
		{"{fieldPaths: [m.k]}", []any{"m", "k"}, -1},
	} {
		var target ReplacementTarget
		if errs := yaml.Decode(yamlValue(t, test.target), &target); errs != nil {
			t.Fatal(errs)
		}
		if got := target.Writes(list.At(0), list.At(0), test.path); got != test.want {
			t.Errorf("%s writes %v: %d, want %d", test.target, test.path, got, test.want)
		}
	}
}
