package builtins

import (
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

func applyJSONText(t *testing.T, doc yaml.Value, patch string) (yaml.Value, error) {
	t.Helper()
	p, err := parseJSONPatch(Env{}, patchText{src: &yaml.Source{Data: []byte(patch)}})
	if err != nil {
		return yaml.Value{}, err
	}
	return p.apply(doc, yaml.MaxResource, func(diag.Code, string, ...any) {}, nil)
}

func TestJSONPatchErrorsNameTheOperation(t *testing.T) {
	doc := parseYAML(t, "{a: {b: [1, 2]}, n: null}")
	for patch, want := range map[string]string{
		"- {op: add, path: /a/c, value: 1}\n- {op: remove, path: /x}": "operation 2 (remove /x): the path does not exist",
		"- {op: add, path: /n/x, value: 1}":                           "operation 1 (add /n/x): the path does not exist",
		"- {op: replace, path: /a/b/5, value: 1}":                     "operation 1 (replace /a/b/5): index 5 is out of range",
		"- {op: replace, path: /a/b/c, value: 1}":                     `operation 1 (replace /a/b/c): "c" is not a list index`,
		"- {op: test, path: /a/b/0, value: 2}":                        "operation 1 (test /a/b/0): the value is different",
		"- {op: move, from: /q, path: /r}":                            "operation 1 (move /r): from /q: the path does not exist",
		"- {op: move, path: /r}":                                      "operation 1 (move /r): from must be a string",
		"- {op: add, path: 5}":                                        "operation 1 (add): path must be a string",
		"- {path: /a}":                                                "operation 1 (/a): op must be add, remove, replace, move, copy or test",
		"- {op: replace, path: '', value: [a]}":                       "operation 1 (replace): the whole object can only be replaced by a mapping",
		"a: b":                                                        "a JSON patch is a list of operations, this is a mapping",
		"[a]":                                                         "not JSON, although it starts with a bracket: invalid character 'a' looking for beginning of value",
		"- a":                                                         "operation 1 must be a mapping, and is of type string",
		`[{"op": "remove", "path": "/a"}] x`:                          "found more text after the JSON patch",
		`[{"op": "add", "path": "/a/b/-3", "value": 1},{"op":"remove","path":"/a/b/-4"}]`: "operation 2 (remove /a/b/-4): index -4 is out of range",
	} {
		if _, err := applyJSONText(t, doc, patch); err == nil || said(err) != want {
			t.Errorf("%s\ngot  %v\nwant %s", patch, err, want)
		}
	}
}

func TestJSONPatchKeepsNumbers(t *testing.T) {
	got, err := applyJSONText(t, yaml.MapOf(),
		`[{"op": "add", "path": "/a", "value": 12345678901234567890}, {"op": "add", "path": "/b", "value": 1.50}]`)
	if want := "{a: 12345678901234567890, b: 1.5}"; err != nil || show(got) != want {
		t.Errorf("got %s, %v, want %s", show(got), err, want)
	}
}

func TestJSONPatchSharesWhatItDoesNotChange(t *testing.T) {
	doc := parseYAML(t, "{a: {b: [1, 2]}, c: {d: e}}")
	for _, patch := range []string{
		"- {op: replace, path: /c/d, value: e}", "- {op: test, path: /c/d, value: e}", "- {op: replace, path: /a/b/1, value: 2}",
		"- {op: add, path: /c, value: {d: e}}",
	} {
		if got, err := applyJSONText(t, doc, patch); err != nil || !got.Same(doc) {
			t.Errorf("%s: %v, %s", patch, err, show(got))
		}
	}
	got, err := applyJSONText(t, doc, "- {op: add, path: /c/x, value: y}")
	if err != nil || !got.Get("a").Same(doc.Get("a")) || got.Same(doc) {
		t.Errorf("%v, %s", err, show(got))
	}
}

func FuzzJSONPatch(f *testing.F) {
	for _, patch := range []string{
		"- {op: add, path: /a/b/-, value: {x: y}}", `[{"op":"move","from":"/a","path":"/c/d"}]`, "- {op: copy, from: /a/b/0, path: /a/b/0}",
		"- {op: remove, path: /a~1~0}", "[]", "null", "- op: test\n  path: ''",
	} {
		f.Add(patch)
	}
	doc := parseYAML(f, "{a: {b: [1, 2, {c: d}]}, c: {}, 'a/~': x}")
	before := show(doc)
	f.Fuzz(func(t *testing.T, patch string) {
		_, _ = applyJSONText(t, doc, patch)
		if show(doc) != before {
			t.Errorf("the patch wrote to its input:\n%s", patch)
		}
	})
}
