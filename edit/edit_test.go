package edit

import (
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/edit/inplace"
)

// must returns an edit and panics if its arguments are invalid.
func must(e Edit, err error) Edit {
	if err != nil {
		panic(err)
	}
	return e
}

func image(args ...string) Edit    { return must(SetImages(args)) }
func add(paths ...string) Edit     { return must(AddResources(paths, false)) }
func remove(paths ...string) Edit  { return must(RemoveMatching("resources", paths)) }
func label(args ...string) Edit    { return must(SetLabels(args)) }
func setText(field, v string) Edit { return must(SetText(field, []string{v})) }

// TestEditsKeepStyle checks that each edit changes only the lines it is for, and keeps their style.
func TestEditsKeepStyle(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		edit         Edit
		after        string
	}{
		{"double quotes", "namespace: \"a\"  # c\n", setText("namespace", "b"), "namespace: \"b\"  # c\n"},
		{"single quotes", "namespace: 'a'\n", setText("namespace", "it's"), "namespace: 'it''s'\n"},
		{"plain until it cannot be", "namespace: a # c\n", setText("namespace", "1"), "namespace: \"1\" # c\n"},
		{"null", "namespace: # c\nkind: Kustomization\n", setText("namespace", "b"), "namespace: b # c\nkind: Kustomization\n"},
		{"folded", "namespace: >-\n  a\n  b\nkind: Kustomization\n", setText("namespace", "c"), "namespace: c\nkind: Kustomization\n"},
		{"many lines", "namespace: a\n  b\nkind: Kustomization\n", setText("namespace", "c"), "namespace: c\nkind: Kustomization\n"},
		{"a tag", "namespace: !!str a\n", setText("namespace", "c"), "namespace: c\n"},
		{"a field goes", "kind: Kustomization\n\n# the namespace\nnamespace: a\n\nnamePrefix: p\n", setText("namespace", ""),
			"kind: Kustomization\n\nnamePrefix: p\n"},
		{"the last field goes", "kind: Kustomization\n\nnamespace: a\n", setText("namespace", ""), "kind: Kustomization\n"},
		{"the last field goes below a text that keeps blank lines", "metadata:\n  name: |+\n    a\n\nnamespace: a\n",
			setText("namespace", ""), "metadata:\n  name: |+\n    a\n\n"},
		{"the only field goes", "# header\nnamespace: a\n", setText("namespace", ""), "# header\n"},

		{"empty file", "", add("a"), "resources:\n- a\n"},
		{"only comments", "# c", add("a"), "# c\nresources:\n- a"},
		{"only a start", "---\n", add("a"), "---\nresources:\n- a\n"},
		{"byte order mark", "\ufeff", add("a"), "\ufeffresources:\n- a\n"},
		{"byte order mark and fields", "\ufeffnamespace: é\n", setText("namespace", "b"), "\ufeffnamespace: b\n"},
		{"empty mapping", "{}\n", add("a"), "resources:\n- a\n"},
		{"mapping in brackets", "{kind: Kustomization}\n", add("a"), "{kind: Kustomization, resources: [a]}\n"},
		{"JSON", "{\n  \"kind\": \"Kustomization\",\n  \"resources\": [\n    \"a\"\n  ]\n}\n", add("b"),
			"{\n  \"kind\": \"Kustomization\",\n  \"resources\": [\n    \"a\",\n    b\n  ]\n}\n"},
		{"CRLF", "kind: Kustomization\r\nresources:\r\n- a\r\n", add("b"), "kind: Kustomization\r\nresources:\r\n- a\r\n- b\r\n"},
		{"no line break at the end", "resources:\n- a", add("b"), "resources:\n- a\n- b"},
		{"end of the document", "resources:\n- a\n...\n", setText("namespace", "b"), "resources:\n- a\nnamespace: b\n...\n"},
		{"a second document", "resources:\n- a\n---\nb: c\n", setText("namespace", "b"), "resources:\n- a\nnamespace: b\n---\nb: c\n"},

		{"indented list", "resources:\n    -   a\n    -   b # c\n# end\n", add("d"),
			"resources:\n    -   a\n    -   b # c\n    -   d\n# end\n"},
		{"list in brackets", "resources: [a, 'b'] # c\n", add("d, e"), "resources: [a, 'b', \"d, e\"] # c\n"},
		{"list in brackets on lines", "resources: [\n  a, # x\n  b,\n]\n", add("c"), "resources: [\n  a, # x\n  b,\n  c,\n]\n"},
		{"empty list", "resources: [] # none\nkind: Kustomization\n", add("a"), "resources: # none\n- a\nkind: Kustomization\n"},
		{"null list", "resources:\nkind: Kustomization\n", add("a"), "resources:\n- a\nkind: Kustomization\n"},
		{"last of a list", "resources:\n- a\n", remove("a"), ""},
		{"item and its comment", "resources:\n- a\n# about b\n- b # b\n- c\n", remove("b"), "resources:\n- a\n- c\n"},
		{"item and the comments in it", "resources:\n- a\n  # in a\n# about b\n- b\n", remove("a"), "resources:\n# about b\n- b\n"},
		{"item on a line in brackets", "resources: [\n  a, # a\n  b, # b\n  c # c\n]\n", remove("b"),
			"resources: [\n  a, # a\n  c # c\n]\n"},
		{"first in brackets", "resources: [a, b, c]\n", remove("a"), "resources: [b, c]\n"},
		{"some in brackets", "resources: [a, b, c, d]\n", remove("[bd]"), "resources: [a, c]\n"},
		{"first ones in brackets", "resources: [a, b, c]\n", remove("[ab]"), "resources: [c]\n"},
		{"bases are renamed", "# all\nbases: # below\n- ../a # a\n", add("b"), "# all\nresources: # below\n- ../a # a\n- b\n"},
		{"bases are moved", "bases:\n# about a\n- ../a # a\nresources:\n  - c\n", add("b"),
			"resources:\n  - c\n  # about a\n  - ../a # a\n  - b\n"},

		{"in kustomize's order", "kind: Kustomization\nimages: []\n", setText("namespace", "a"),
			"kind: Kustomization\nnamespace: a\nimages: []\n"},
		{"what the file is", "# header\n\nresources:\n- a\n\nimages: []\n", Fix(func(string, string) {}),
			"# header\n\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\nresources:\n- a\n\nimages: []\n"},
		{"between blank lines", "kind: Kustomization\n\nresources:\n- a\n# - b\n\nimages: []\n", setText("namespace", "a"),
			"kind: Kustomization\n\nresources:\n- a\n# - b\n\nnamespace: a\n\nimages: []\n"},
		{"before comments of the next field", "resources:\n- a\n# about images\nimages: []\n", setText("namespace", "a"),
			"resources:\n- a\nnamespace: a\n# about images\nimages: []\n"},

		{"label in a mapping", "commonLabels:\n  # c\n  a: 'b' # d\n  c: d\n", label("a:x", "e:f"),
			"commonLabels:\n  # c\n  a: 'x' # d\n  c: d\n  e: f\n"},
		{"label in brackets", "commonLabels: {a: b, c: d}\n", label("a:1", "e:f"), "commonLabels: {a: \"1\", c: d, e: f}\n"},
		{"names in another case", "CommonLabels: {a: b}\n", label("c:d"), "CommonLabels: {a: b, c: d}\n"},
		{"the last of two fields counts", "namespace: a\nnamespace: b\n", setText("namespace", "c"), "namespace: a\nnamespace: c\n"},
		{"both fields go", "namespace: a\nkind: Kustomization\nnamespace: b\n", setText("namespace", ""), "kind: Kustomization\n"},

		{"image", "images:\n- # first\n  name: a # n\n  newTag: '1'\n- newTag: \"2\" # t\n  name: b\n", image("b:3", "a@sha256:1"),
			"images:\n- # first\n  name: a # n\n  digest: sha256:1\n- newTag: \"3\" # t\n  name: b\n"},
		{"image between", "images:\n# about a\n- name: a\n# about c\n- name: c\n", image("b:1"),
			"images:\n# about a\n- name: a\n- name: b\n  newTag: \"1\"\n# about c\n- name: c\n"},
		{"image before", "images:\n# about b\n- name: b\n", image("a:1"), "images:\n- name: a\n  newTag: \"1\"\n# about b\n- name: b\n"},
		{"images keep their order", "images:\n- name: b\n- name: a\n", image("c:1"),
			"images:\n- name: b\n- name: a\n- name: c\n  newTag: \"1\"\n"},
		{"images whose order counts", "images:\n- name: b # b\n  newName: a\n# about a\n- name: a\n  newName: c\n", image("d:x"),
			"images:\n# about a\n- name: a\n  newName: c\n- name: b # b\n  newName: a\n- name: d\n  newTag: x\n"},
		{"first field of an item goes", "images:\n- newTag: v1\n  name: a\n", image("a=b"), "images:\n- name: a\n  newName: b\n"},

		{"an anchor stays", "commonLabels: &l\n  a: b\ncommonAnnotations: *l\n", setText("namespace", "x"),
			"commonLabels: &l\n  a: b\ncommonAnnotations: *l\nnamespace: x\n"},
		{"an alias is written out", "commonAnnotations: &l\n  a: b\ncommonLabels: *l\n", label("c:d"),
			"commonAnnotations: &l\n  a: b\ncommonLabels:\n  a: b\n  c: d\n"},
		{"an alias elsewhere is written out", "commonLabels: &l\n  a: 'b'\ncommonAnnotations: *l # c\n", label("c:d"),
			"commonLabels: &l\n  a: 'b'\n  c: d\ncommonAnnotations: {a: 'b'} # c\n"},
		{"a key that << would merge, too", "commonLabels: &l\n  a: b\ncommonAnnotations:\n  c: e\n  <<: *l\n", label("c:d"),
			"commonLabels: &l\n  a: b\n  c: d\ncommonAnnotations:\n  c: e\n  <<: {a: b}\n"},
		{"an anchor goes", "namespace: &n a\nnamePrefix: *n\n", setText("namespace", ""), "namePrefix: a\n"},
		{"merged keys stay", "commonAnnotations: &l {a: b}\ncommonLabels:\n  <<: *l # all\n  c: d\n", label("c:e", "f:g"),
			"commonAnnotations: &l {a: b}\ncommonLabels:\n  <<: *l # all\n  c: e\n  f: g\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := apply(tt.before, tt.edit)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.after {
				t.Errorf("got\n%s\nwant\n%s", got, tt.after)
			}
		})
	}
}

// TestUnsafeEditsAreRefused checks that an edit is refused if it cannot be written without other
// changes.
func TestUnsafeEditsAreRefused(t *testing.T) {
	for _, tt := range []struct{ name, before, message string }{
		{"a key that is no text", "{commonLabels: {a: b}}: c\n", "kustomization.yaml"},
		{"no mapping", "- a\n", "kustomization.yaml:1: must be a mapping"},
		{"no YAML", "a: [\n", "kustomization.yaml:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := apply(tt.before, label("c:d"))
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func apply(before string, edits ...Edit) (string, error) {
	d, err := inplace.Parse("kustomization.yaml", []byte(before), Fields)
	if err != nil {
		return "", err
	}
	d, err = Apply(d, "kustomization.yaml", Env{Warn: func(string, ...any) {}}, edits...)
	if err != nil {
		return "", err
	}
	return string(d.Text()), nil
}

// FuzzEdit checks that no text makes an edit panic, and that the result can be read and has the new
// namespace.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"", "{}", "resources: [a]\n", "images:\n- name: a\n  newTag: b # c\n", "? a\n: b\n", "a: |+\n  x\n\n",
		"\ufeff%YAML 1.2\n---\na: 'b\n  c'\n",
		"commonLabels: &a {b: c}\nx: *a\n", "resources:\r\n- a\r\n# c\r\n", "images: [{name: a, newTag: b}, c]\n", "- a",
		"resources: !!seq\n- a\n", "a: \"\\\n  b\"\n", "metadata: |", "namespace: |+", "resources:\n- >", "images: [\n  {name: a}\n]",
		"images:\n- - a\n", "bases: [a]\nresources: [b]", "commonLabels: &l\n  a: b\nlabels:\n- pairs: *l\n", "imageTags:\n- name: a\n",
		"commonLabels:\n  ? a\n  : b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, before string) {
		got, err := apply(before, image("a=b:1", "z:2"), add("x"), label("k:v"), setText("namespace", "n"), Fix(func(string, string) {}))
		if err != nil {
			return
		}
		d, err := inplace.Parse("kustomization.yaml", []byte(got), Fields)
		if err != nil {
			t.Fatalf("%v\n%q", err, got)
		}
		if ns := get(d.Value(), "namespace").Text(); ns != "n" {
			t.Errorf("namespace is %q in %q", ns, got)
		}
	})
}

func TestWordsFollowShellQuoting(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     nil,
		" a  b\tc\n":           {"a", "b", "c"},
		`a 'b "c' "d 'e" f\ g`: {"a", `b "c`, "d 'e", "f g"},
		`a"b"'c' ""`:           {"abc", ""},
		"a # b\nc d#e":         {"a", "c", "d#e"},
		`"a\"b" '\'`:           {`a"b`, `\`},
	} {
		if got, err := words(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := words("a 'b"); err == nil {
		t.Error("a quote may stay open")
	}
}
