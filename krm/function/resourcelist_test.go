package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// call is a call with known ids.
var call = WireOptions{Name: "x/v1 T/t", Seed: krm.DigestOf([]byte("seed")), Pos: diag.Pos{File: "fn.yaml", Line: 3}}

func listOf(t *testing.T, text string) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "in.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

const threeMaps = `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: "012"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, annotations: {n: 012, t: ~}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: ns}
`

func TestEncodeResourceList(t *testing.T) {
	list := listOf(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {z: 012, t: }}\nn: 012\nd: 2001-01-01\n")
	config, _ := (&yaml.Source{Data: []byte("kind: T\nspec: {b: 1, a: [x]}\nmetadata: {name: t}\n")}).Value()
	got := EncodeResourceList(list, config, call).String()
	want := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  d: "2001-01-01T00:00:00Z"
  kind: ConfigMap
  metadata:
    annotations:
      internal.config.kubernetes.io/krmflow-id: ` + call.idPrefix() + `0
      t: ""
      z: "012"
    name: a
  "n": 10
functionConfig:
  kind: T
  metadata:
    annotations:
      config.kubernetes.io/local-config: "true"
    name: t
  spec:
    a:
    - x
    b: 1
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := EncodeResourceList(nil, yaml.Value{},
		WireOptions{Version: ResourceListV1alpha1}).String(); got != "apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\nitems: []\n" {
		t.Errorf("an empty list is\n%s", got)
	}
	generator := call
	generator.Role = GeneratorRole
	got = EncodeResourceList(nil, config, generator).String()
	if items, fc, _ := strings.Cut(got, "functionConfig:"); strings.Count(items, "local-config") != 1 ||
		strings.Count(fc, "local-config") != 1 {
		t.Errorf("a generator does not find its configuration as an item:\n%s", got)
	}
}

// TestResourceListRoundTrip checks that a function that changes nothing returns its input,
// including the internal state of resources.
func TestResourceListRoundTrip(t *testing.T) {
	list := listOf(t, threeMaps)
	r := list.At(1).Copy()
	r.PushID()
	r.SetName("renamed")
	r.NeedsHash, r.Behavior, r.Prefixes, r.RefVars = true, "merge", []string{"p-"}, []string{"V"}
	r.Origin = &krm.Origin{Path: "b.yaml"}
	list.Set(1, r)
	data := EncodeResourceList(list, yaml.Value{}, call)
	if strings.Contains(data.String(), "b.yaml") {
		t.Error("a function sees what the build remembers")
	}
	for _, version := range []string{ResourceListV1, ResourceListV1beta1, ResourceListV1alpha1} {
		reply, err := DecodeResourceList(yaml.Chunks{[]byte(strings.Replace(data.String(), ResourceListV1, version, 1))}, list, call)
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Warnings) > 0 || len(reply.Removed) > 0 || reply.List.Len() != 3 {
			t.Errorf("%+v", reply)
		}
		got := reply.List.At(1)
		if got.OrigID() != list.At(1).OrigID() || !got.NeedsHash || got.Behavior != "merge" || got.Origin != r.Origin ||
			len(got.Prefixes) != 1 || len(got.RefVars) != 1 || got.Pos != r.Pos {
			t.Errorf("%s came back as %+v", version, got)
		}
		if a := reply.List.At(0).Annotations(); a.Exists() {
			t.Errorf("annotations were left: %s", yaml.AppendYAML(nil, a))
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	for _, tt := range []struct{ name, out, want string }{
		{"empty", "", "output of x/v1 T/t: the function returned no ResourceList: its output is empty"},
		{"comment", "# nothing\n---\n", "output of x/v1 T/t: the function returned no ResourceList: its output is empty"},
		{"text", "Error: no\nsuch thing\n", `the function wrote text to stdout and no ResourceList: "Error: no"` + "\n"},
		{"word", "done\n", `the function wrote text to stdout and no ResourceList: "done"` +
			"\n  write only the ResourceList to stdout, and messages to stderr"},
		{"text before", "starting\n" + head + "items: []\n", `the function wrote text to stdout before the ResourceList: "starting"` +
			"\n"},
		{"text before a separator", "starting\n---\n" + head + "items: []\n", `before the ResourceList: "starting"` + "\n"},
		{"text before JSON", "starting\n" + `{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []}` + "\n",
			`before the ResourceList: "starting"`},
		{"text before resources", "\nreading config\n" + cm, `before the ResourceList: "reading config"`},
		{"JSON log before", `{"level": "info"}` + "\n" + head + "items: []\n", "before the ResourceList\n"},
		{"text after", head + "items: []\ndone: it took 3s: long\nall good\n", ":4: "},
		{"text after the list", head + "items: []\n\ndone, 3 resources\n", `after the ResourceList: "done, 3 resources"` + "\n"},
		{"cut in a key of the list", head + "items: []\nresul", ":4: "},
		{"text after without line end", head + "items: []\nall done", `after the ResourceList: "all done"`},
		{"JSON log after", head + "items: []\n" + `{"level": "info"}` + "\n", "after the ResourceList\n"},
		{"text around", "starting\n" + head + "items: []\ndone\n", `before and after the ResourceList: "starting"` + "\n"},
		{"text and a broken list", "starting\n" + head + "items: [\n", ":2: "},
		{"text that may be a value", "password: hunter2\n" + head + "items: [a: b: c]\n", ":4: "},
		{"value before", "bXktc2VjcmV0LXBhc3N3b3Jk\n" + head + "items: []\n", "before the ResourceList\n"},
		{"field before", "password: hun: ter2\n" + head + "items: []\n", "before the ResourceList\n"},
		{"text with data before", "found data hunter2\n" + head + "items: []\n", `before the ResourceList: "found ..."` + "\n"},
		{"long text before", strings.Repeat("long ", 20) + "\n" + head + "items: []\n", strings.Repeat("long ", 12) + `..."` + "\n"},
		{"control characters before", "\x1b[31mstarting now\n" + head + "items: []\n", `before the ResourceList: "\x1b[31mstarting now"`},
		{"json list", `[{"apiVersion": "v1"}]`, "expected a ResourceList, found a list"},
		{"no items", head,
			"output of x/v1 T/t: items: the ResourceList has no items; a function without resources must return an empty list"},
		{"items a mapping", head + "items: {}\n", "items: must be a list, not a mapping"},
		{"items a string", head + "items: none\n", "items: must be a list, not a string"},
		{"null item", head + "items:\n- " + cm + "- \n", "items[1]: must be a resource, not null"},
		{"list item", head + "items:\n- []\n", "items[0]: must be a resource, not a list"},
		{"no apiVersion", head + "items:\n- kind: X\n  metadata: {name: x}\n", "items[0].apiVersion: is missing (X x)"},
		{"no kind", head + "items:\n- " + cm + "- apiVersion: v1\n  metadata: {name: x}\n", "items[1].kind: is missing (x)"},
		{"no metadata", head + "items:\n- apiVersion: v1\n  kind: X\n", "items[0].metadata.name: is missing (X)"},
		{"empty name", head + "items:\n- {apiVersion: v1, kind: X, metadata: {name: ''}}\n", "items[0].metadata.name: is empty (X)"},
		{"name a list", head + "items:\n- {apiVersion: v1, kind: X, metadata: {name: [x]}}\n",
			"items[0].metadata.name: must be a string, not a list (X)"},
		{"metadata a list", head + "items:\n- {apiVersion: v1, kind: X, metadata: []}\n",
			"items[0].metadata: must be a mapping, not a list (X)"},
		{"annotations", head + "items:\n- {apiVersion: v1, kind: X, metadata: {name: x, annotations: {a: {}}}}\n",
			"items[0].metadata.annotations.a: must be a string, not a mapping (X x)"},
		{"labels", head + "items:\n- {apiVersion: v1, kind: X, metadata: {name: x, labels: []}}\n",
			"items[0].metadata.labels: must be a mapping, not a list (X x)"},
		{"two lists", head + "items: []\n---\n" + head + "items: []\n",
			"expected one ResourceList, found 2 documents; number 1 is a ResourceList"},
		{"list and resource", cm + "---\n" + head + "items: []\n",
			"expected one ResourceList, found 2 documents; number 2 is a ResourceList"},
		{"second document behind ...", head + "items: []\n...\n" + cm, ":5: found a second document after a document marker"},
		{"second document without line end", head + "items: []\n--- x", ":4: found a second document after a document marker"},
		{"text behind the separator", head + "items: []\n--- x\n", ":4: found text after the document separator ---"},
		{"cut in a key", head + "items:\n- " + cm + "- apiVersion: v1\n  kind: X\n  metad", "expected a colon after the key"},
		{"cut in a name", head + "items:\n- apiVersion: v1\n  kind: X\n  metadata:\n    name: long-na",
			"the output stops in the middle of a line: it is incomplete"},
		{"cut before the name", head + "items:\n- apiVersion: v1\n  kind: X\n  metadata:\n", "items[0].metadata.name: is missing (X)"},
		{"cut in JSON", `{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [`, "the closing bracket is missing"},
		{"other version", "apiVersion: foo/v1\nkind: ResourceList\nitems: []\n",
			`apiVersion: unknown version "foo/v1" of the ResourceList; expected config.kubernetes.io/v1`},
		{"number as version", "apiVersion: 1.0\nkind: ResourceList\nitems: []\n", `apiVersion: unknown version "1.0" of the ResourceList`},
		{"other version of a List", "apiVersion: foo/v1\nkind: List\nitems: []\n",
			`apiVersion: unknown version "foo/v1" of the List; expected v1`},
		{"List without items", "apiVersion: v1\nkind: List\n", "items: the List has no items"},
		{"other kind without items", "apiVersion: v1\nkind: NotAList\n", "expected a ResourceList, found the kind NotAList without items"},
		{"other kind with no items", "apiVersion: v1\nkind: NotAList\nitems: []\n",
			"expected a ResourceList, found the kind NotAList without items"},
		{"other kind with items", "apiVersion: v1\nkind: NotAList\nitems:\n- " + cm,
			`items[0]: expected a ResourceList, found the kind NotAList with an item of kind "ConfigMap"`},
		{"bare without name", "apiVersion: v1\nkind: X\n", "document 1: metadata.name: is missing"},
		{"second bare a string", cm + "---\nhello\n", `after the ResourceList: "hello"`},
		{"NUL", head + "items: [\"\x00\"]\n", ":3: found the control character U+0000"},
		{"ESC", head + "items:\n- {apiVersion: v1, kind: X, metadata: {name: \x1b[2J}}\n", ":4: found the control character U+001B"},
		{"not UTF-8", head + "items: [\"\xff\"]\n", ":3: found the byte 0xFF, which is not UTF-8"},
		{"duplicate", head + "items:\n- " + cm + "- " + cm, "items[1]: duplicate resource v1 ConfigMap a: it is also items[0]"},
		{"duplicate by namespace", head + "items:\n- " + cm +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n",
			"items[1]: duplicate resource v1 ConfigMap default/a: it is also items[0]"},
		{"duplicate key", head + "items:\n- {apiVersion: v1, kind: X, kind: X, metadata: {name: x}}\n", "kind"},
		{"endless alias", head + "items: &a [*a]\n", ":3: "},
		{"bomb", bomb(), ""},
		{"deep", head + "items: " + strings.Repeat("[", 100000), "1000 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := DecodeResourceList(yaml.Chunks{[]byte(tt.out)}, krm.NewList(), call)
			if err == nil {
				t.Fatalf("accepted: %+v", reply)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "output of x/v1 T/t") {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
			var e *diag.Error
			if !errors.As(err, &e) {
				t.Errorf("%T is no *Error", err)
			}
			if diag.Sanitise(e.Error()) != e.Error() {
				t.Errorf("%q has control characters", e.Error())
			}
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\na0: &a0 [lol, lol]\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1, i-1)
	}
	b.WriteString("items: *a39\n")
	return b.String()
}

// TestDecodeCut checks that a truncated answer is not accepted as a shorter list, unless the rest
// is a complete list.
func TestDecodeCut(t *testing.T) {
	list := listOf(t, threeMaps)
	config, _ := (&yaml.Source{Data: []byte("kind: T\napiVersion: x/v1\nmetadata: {name: t}\n")}).Value()
	data := EncodeResourceList(list, config, call).Join()
	for n := range data {
		reply, err := DecodeResourceList(yaml.Chunks{data[:n]}, list, call)
		if err == nil && data[n-1] != '\n' {
			t.Errorf("accepted when cut behind %q: %d resources", data[max(0, n-20):n], reply.List.Len())
		}
		if err == nil && reply.List.Len()+len(reply.Removed) != list.Len() {
			t.Errorf("cut at %d: %d resources are left and %d named as removed", n, reply.List.Len(), len(reply.Removed))
		}
	}
}

func TestDecodeAccepts(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	for _, tt := range []struct{ name, out, want, warning string }{
		{"JSON",
			`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[{"apiVersion":"v1","kind":"X","metadata":{"name":"x"},"n":1000}]}`, "X/x", ""},
		{"JSON over lines",
			"{\n\t\"apiVersion\": \"config.kubernetes.io/v1\",\n\t\"kind\": \"ResourceList\",\n\t\"items\": [\n\t\t{\"apiVersion\": \"v1\", \"kind\": \"X\", \"metadata\": {\"name\": \"x\"}}\n\t]\n}", "X/x", ""},
		{"null items", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: null\n", "", ""},
		{"List", "apiVersion: v1\nkind: List\nitems:\n- " + cm, "ConfigMap/a",
			"output of x/v1 T/t: the function returned a List; it should return a ResourceList"},
		{"marker first", "---\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- " + cm + "---\n", "ConfigMap/a", ""},
		{"byte order mark, CRLF", "\ufeffapiVersion: config.kubernetes.io/v1\r\nkind: ResourceList\r\nitems:\r\n- " + cm, "ConfigMap/a",
			""},
		{"bare", cm + "---\n" + strings.Replace(cm, "a}", "b}", 1), "ConfigMap/a ConfigMap/b",
			"output of x/v1 T/t: the function returned bare documents; it should return a ResourceList"},
		{"bare without line end", "apiVersion: v1\nkind: X\nmetadata:\n  name: x", "X/x",
			"the output does not end with a newline: it may be incomplete"},
		{"no version", "kind: ResourceList\nitems:\n- " + cm, "ConfigMap/a",
			"apiVersion: is missing from the ResourceList; expected config.kubernetes.io/v1"},
		{"list of a kind", "apiVersion: v1\nkind: ConfigMapList\nitems:\n- " + cm, "ConfigMap/a", "the function returned bare documents"},
		{"empty inner list",
			"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: PodList, items: []}\n- " + cm,
			"ConfigMap/a", "items[0]: the PodList contains no resource"},
		{"inner list",
			"kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - " +
				cm + "- {apiVersion: v1, kind: X, metadata: {name: x}}\n", "X/x ConfigMap/a", ""},
		{"aliases",
			"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: X\n  metadata: &m {name: x}\n- apiVersion: v1\n  kind: Y\n  metadata: *m\n", "X/x Y/x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := DecodeResourceList(yaml.Chunks{[]byte(tt.out)}, nil, call)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(reply.List); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			var warnings []string
			for _, w := range reply.Warnings {
				warnings = append(warnings, w.Error())
			}
			if got := strings.Join(warnings, "\n"); !strings.Contains(got, tt.warning) || tt.warning == "" && got != "" {
				t.Errorf("got warnings %q, want %q", got, tt.warning)
			}
		})
	}
}

func names(l *krm.List) string {
	var names []string
	for _, r := range l.All() {
		names = append(names, r.ID().Kind+"/"+r.ID().Name)
	}
	return strings.Join(names, " ")
}

// edited decodes the input of a function after text replacements.
func edited(t *testing.T, list *krm.List, o WireOptions, pairs ...string) (*Reply, error) {
	t.Helper()
	in := EncodeResourceList(list, yaml.Value{}, o).String()
	out := strings.NewReplacer(pairs...).Replace(in)
	if in == out {
		t.Fatalf("%q is not in\n%s", pairs[0], in)
	}
	return DecodeResourceList(yaml.Chunks{[]byte(out)}, list, o)
}

func TestDecodeState(t *testing.T) {
	list := listOf(t, threeMaps)
	for i, r := range list.All() {
		r = r.Copy()
		r.PushID()
		r.SetName("p-" + r.ID().Name)
		r.NeedsHash, r.RefVars = i == 1, []string{"V"}
		list.Set(i, r)
	}
	prefix := call.idPrefix()
	idLine := func(i int) string { return fmt.Sprintf("      %s: %s%d\n", idAnnotation, prefix, i) }

	reply, err := edited(t, list, call, "name: p-b", "name: new")
	if err != nil {
		t.Fatal(err)
	}
	// A renamed resource moves to the end, as in kustomize. It is not reported as removed.
	if got := names(reply.List); got != "ConfigMap/p-a ConfigMap/p-c ConfigMap/new" || len(reply.Removed) != 0 {
		t.Errorf("got %s, removed %v", got, reply.Removed)
	}
	if r := reply.List.At(2); r.OrigID().Name != "b" || len(r.Prev) != 1 || !r.NeedsHash {
		t.Errorf("the renamed resource is %+v", r)
	}

	reply, err = edited(t, list, call, "name: p-a", "name: p-b", "name: p-b", "name: p-a")
	if err != nil {
		t.Fatal(err)
	}
	if r := reply.List.At(0); r.ID().Name != "p-a" || r.OrigID().Name != "b" {
		t.Errorf("after swapped names the first is %s, was %s", r.ID(), r.OrigID())
	}

	// Exchanged ids have no effect: an item that has the name of a different resource, and is more
	// similar to it, is that resource.
	reply, err = edited(t, list, call, prefix+"0\n", prefix+"1\n", prefix+"1\n", prefix+"0\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range reply.List.All() {
		if r.OrigID().Name != string("abc"[i]) || r.NeedsHash != (i == 1) {
			t.Errorf("after exchanged ids, resource %d is %+v", i, r)
		}
	}
	if len(reply.Warnings) != 2 || !strings.HasSuffix(reply.Warnings[0].Error(),
		"items[0]: v1 ConfigMap p-a has the id annotation of v1 ConfigMap p-b; its name takes precedence") {
		t.Errorf("warnings: %v", reply.Warnings)
	}
	reply, err = edited(t, list, call, prefix+"0\n", prefix+"1\n", prefix+"1\n", prefix+"2\n", prefix+"2\n", prefix+"0\n", "  data:\n",
		"  more: x\n  data:\n")
	if err != nil || len(reply.Warnings) != 3 || reply.List.At(0).OrigID().Name != "a" || reply.List.At(2).OrigID().Name != "c" {
		t.Errorf("after a circle of exchanged ids: %v, %+v", err, reply)
	}
	// A duplicate id is also an error if one of the resources is recognized by its name.
	_, err = edited(t, list, call, prefix+"0\n", prefix+"1\n", prefix+"1\n", prefix+"0\n", "name: p-b", "name: new")
	if err == nil || !strings.Contains(err.Error(), "items[1]: ConfigMap new has the same id as items[0], ConfigMap p-a") {
		t.Errorf("got %v", err)
	}

	// A resource rewritten without its id is a new resource in the old position.
	reply, err = edited(t, list, call, idLine(1), "")
	if err != nil {
		t.Fatal(err)
	}
	if r := reply.List.At(1); r.ID().Name != "p-b" || len(r.Prev) != 0 || r.NeedsHash || len(r.RefVars) != 1 || r.Pos.File != "in.yaml" {
		t.Errorf("the rewritten resource is %+v", r)
	}

	// Unknown ids have no effect.
	for _, forged := range []string{prefix + "3", prefix + "-1", prefix + "01", prefix + "+1", prefix, "1", "x-1"} {
		reply, err = edited(t, list, call, prefix+"1\n", `"`+forged+`"`+"\n", "name: p-b", "name: forged")
		if err != nil {
			t.Fatal(err)
		}
		if r := reply.List.At(2); r.ID().Name != "forged" || len(r.Prev) != 0 || r.NeedsHash || r.Pos != call.Pos {
			t.Errorf("id %q made %+v", forged, r)
		}
		if len(reply.Removed) != 1 || reply.Removed[0].Name != "p-b" {
			t.Errorf("removed: %v", reply.Removed)
		}
	}
	_, err = edited(t, list, call, prefix+"2\n", prefix+"0\n")
	want := "output of x/v1 T/t: items[2]: ConfigMap p-c has the same id as items[0], ConfigMap p-a\n  remove the annotation internal.config.kubernetes.io/krmflow-id from copies of a resource"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for i, r := range list.All() {
		if r.OrigID().Name != string("abc"[i]) || len(r.Prev) != 1 {
			t.Errorf("the input was changed: %+v", r)
		}
	}
}

// TestDecodeForgedAnnotations checks that a function cannot replace a resource or choose files with
// annotations that are reserved for builds and runners.
func TestDecodeForgedAnnotations(t *testing.T) {
	out := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      config.kubernetes.io/path: ../../../x
      config.kubernetes.io/index: '0'
      config.k8s.io/id: '1'
      internal.config.kubernetes.io/path: ../x
      internal.config.kubernetes.io/previousNames: victim
      internal.config.kubernetes.io/previousNamespaces: default
      internal.config.kubernetes.io/previousKinds: ConfigMap
      internal.config.kubernetes.io/needsHashSuffix: enabled
      internal.config.kubernetes.io/helm-generated: "true"
      internal.config.kubernetes.io/anything: x
      kustomize.config.k8s.io/id: x
      config.kubernetes.io/local-config: "false"
      kustomize.config.k8s.io/needs-hash: "true"
      number: 1
`
	for role, want := range map[Role]string{
		TransformerRole: "config.kubernetes.io/local-config: \"false\"\nkustomize.config.k8s.io/needs-hash: \"true\"\nnumber: \"1\"\n",
		GeneratorRole:   "config.kubernetes.io/local-config: \"false\"\nkustomize.config.k8s.io/id: x\nnumber: \"1\"\n",
	} {
		o := call
		o.Role = role
		reply, err := DecodeResourceList(yaml.Chunks{[]byte(out)}, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		r := reply.List.At(0)
		if got := string(yaml.AppendYAML(nil, r.Annotations())); got != want {
			t.Errorf("role %d: annotations are\n%s", role, got)
		}
		if len(r.Prev) != 0 || r.NeedsHash != (role == GeneratorRole) {
			t.Errorf("role %d: %+v", role, r)
		}
	}
	// A resource keeps its earlier annotations, except for the one that kustomize removes.
	list := listOf(t,
		"apiVersion: v1\nkind: X\nmetadata: {name: x, annotations: {internal.config.kubernetes.io/helm-generated: 'true', kustomize.config.k8s.io/id: '7'}}\n")
	reply, err := DecodeResourceList(EncodeResourceList(list, yaml.Value{}, call), list, call)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(yaml.AppendYAML(nil,
		reply.List.At(0).Annotations())); got != "internal.config.kubernetes.io/helm-generated: \"true\"\n" {
		t.Errorf("annotations are\n%s", got)
	}
}

func TestDecodeGenerator(t *testing.T) {
	o := call
	o.Role = GeneratorRole
	item := func(annotations string) yaml.Chunks {
		return yaml.Chunks{[]byte(
			"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {" + annotations + "}}}\n")}
	}
	for _, tt := range []struct {
		annotations, behavior string
		hash                  bool
		err                   string
	}{
		{"kustomize.config.k8s.io/needs-hash: 'true'", "", true, ""},
		{"kustomize.config.k8s.io/needs-hash: 'false', kustomize.config.k8s.io/behavior: merge", "merge", false, ""},
		{"kustomize.config.k8s.io/needs-hash: '1', kustomize.config.k8s.io/behavior: replace", "replace", true, ""},
		{"kustomize.config.k8s.io/behavior: Merge", "", false, ""},
		{"kustomize.config.k8s.io/needs-hash: maybe", "", false,
			`items[0].metadata.annotations."kustomize.config.k8s.io/needs-hash": must be true or false, not "maybe"`},
	} {
		reply, err := DecodeResourceList(item(tt.annotations), nil, o)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", tt.annotations, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r := reply.List.At(0)
		if r.NeedsHash != tt.hash || r.Behavior != tt.behavior || r.Annotations().Exists() || r.Pos != o.Pos {
			t.Errorf("%s: %+v", tt.annotations, r)
		}
	}
}

func TestDecodeValidator(t *testing.T) {
	o := call
	o.Role = ValidatorRole
	list := listOf(t, threeMaps+"---\n"+`apiVersion: v1
kind: X
metadata: {name: odd, labels: {}}
n: [012, 1.10, 0x1F, 1e3, 9007199254740993, 2001-01-01, ~, {a: }, TRUE, .5]
s: ["012", "", "yes", " x", 'a: b', "\x07"]
folded: >
  a

    b
  c
`)
	if reply, err := DecodeResourceList(nil, list, o); err != nil || reply.List != list {
		t.Errorf("silence is refused: %v", err)
	}
	if reply, err := DecodeResourceList(
		yaml.Chunks{[]byte("kind: ResourceList\napiVersion: config.kubernetes.io/v1\nresults: [{message: m}]\n")}, list, o); err != nil ||
		reply.List != list || len(reply.Results) != 1 {
		t.Errorf("results alone are refused: %v", err)
	}
	if reply, err := DecodeResourceList(EncodeResourceList(list, yaml.Value{}, o), list, o); err != nil || reply.List != list {
		t.Errorf("the unchanged list is refused: %v", err)
	}
	if _, err := edited(t, list, o, "    name: a\n", "    name: a\n    labels: {validated-by: me}\n", "    labels: {}\n",
		"    labels: {validated-by: me}\n"); err != nil {
		t.Errorf("the label is refused: %v", err)
	}
	for _, tt := range []struct{ from, to, want string }{
		{"x: \"012\"", "x: \"13\"", "it changed v1 ConfigMap a: data.x"},
		{"x: \"012\"", "x: 12", "it changed v1 ConfigMap a: data.x"},
		{"x: \"012\"", "x: \"012\"\n    y: z", "it changed v1 ConfigMap a: data.y"},
		{"  data:\n    x: \"012\"\n", "", "it changed v1 ConfigMap a: data"},
		{"- 1000\n", "- 1001\n", "it changed v1 X odd: n[3]"},
		{"name: a\n", "name: z\n", "it removed v1 ConfigMap a"},
		{"items:\n", "items:\n- {apiVersion: v1, kind: Y, metadata: {name: y}}\n", "it added v1 Y y"},
		{"    name: a\n", "    name: a\n    labels: {x: y}\n", "it changed v1 ConfigMap a: metadata.labels"},
	} {
		_, err := edited(t, list, o, tt.from, tt.to)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %q: got %v, want %s", tt.to, tt.from, err, tt.want)
		}
	}
}

func TestResultsAreDecoded(t *testing.T) {
	out := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: no owner
- message: too many
  severity: Warning
  resourceRef: {apiVersion: apps/v1, kind: Deployment, name: d, namespace: ns}
  field: {path: spec.replicas, currentValue: 10, proposedValue: 2}
  file: {path: d.yaml, index: 2}
  tags: {rule: r1}
- {message: secret, severity: info, resourceRef: {apiVersion: v1, kind: Secret, name: s}, field: {path: data.x, currentValue: aHVzaA==}}
- just text
`
	reply, err := DecodeResourceList(yaml.Chunks{[]byte(out)}, nil, call)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range reply.Results {
		lines = append(lines, r.String())
	}
	want := []string{
		"info: no owner",
		"warning: d.yaml: apps/v1 Deployment ns/d: spec.replicas is 10, suggested 2: too many",
		"info: v1 Secret s: data.x: secret",
		"error: just text",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	j, _ := json.Marshal(reply.Results[1])
	if want := `{"message":"too many","severity":"warning","resourceRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d","namespace":"ns"},"field":{"path":"spec.replicas","currentValue":"10","proposedValue":"2"},"file":{"path":"d.yaml","index":2},"tags":{"rule":"r1"}}`; string(j) != want {
		t.Errorf("got %s", j)
	}
	if got := ParseResults(
		yaml.Chunks{[]byte("kind: ResourceList\nresults: {name: n, items: [{message: old form}]}\nitems: broken\n")}, SeverityError); len(got) != 1 ||
		got[0].String() != "error: old form" {
		t.Errorf("the old form is %v", got)
	}
	if got := ParseResults(yaml.Chunks{[]byte("no list: [")}, SeverityError); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestResourceListKeepsTrees checks that real objects survive the wire format.
func TestResourceListKeepsTrees(t *testing.T) {
	files, err := filepath.Glob("../../testdata/kustomize/*/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	count := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := krm.Resources(&yaml.Source{File: file, Data: data}, nil)
		if err != nil {
			continue
		}
		list := krm.NewList(rs...)
		if list.CheckUnique() != nil {
			continue
		}
		o := call
		o.Role = ValidatorRole
		if _, err := DecodeResourceList(EncodeResourceList(list, yaml.Value{}, o), list, o); err != nil {
			if !strings.Contains(err.Error(), "is missing") { // a Kustomization has no name
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		count++
	}
	if count < 20 {
		t.Errorf("only %d files", count)
	}
}

func numbersAsNames(l *krm.List) bool {
	for _, r := range l.All() {
		for _, v := range []yaml.Value{r.Value().Get("apiVersion"), r.Value().Get("kind"), r.Value().At("metadata", "name"),
			r.Value().At("metadata", "namespace")} {
			if v.Exists() && v.Type() != yaml.String {
				return true
			}
		}
	}
	return false
}

func FuzzDecodeResourceList(f *testing.F) {
	list, err := krm.Resources(&yaml.Source{File: "in.yaml", Data: []byte(threeMaps)}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(EncodeResourceList(krm.NewList(list...), yaml.Value{}, call).Join())
	f.Add([]byte("apiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: X, metadata: {name: x, annotations: null}}\n"))
	f.Add([]byte(`{"kind":"ResourceList","items":[{"apiVersion":"v1","kind":"X","metadata":{"name":"x"}}],"results":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, role := range []Role{TransformerRole, GeneratorRole, ValidatorRole} {
			o := call
			o.Role = role
			reply, err := DecodeResourceList(yaml.Chunks{data}, krm.NewList(list...), o)
			if err != nil {
				continue
			}
			if err := reply.List.CheckUnique(); err != nil {
				t.Fatal(err)
			}
			if numbersAsNames(reply.List) {
				continue // 00 and 000 are two names until they are printed as numbers
			}
			again, err := DecodeResourceList(EncodeResourceList(reply.List, yaml.Value{}, o), reply.List, o)
			if err != nil {
				t.Fatalf("what was accepted is refused when it is sent again: %v", err)
			}
			if names(again.List) != names(reply.List) {
				t.Fatalf("%s became %s", names(reply.List), names(again.List))
			}
		}
	})
}

// TestDecodeLarge checks that an answer above the size limit of a file is read item by item. It is
// rejected as too large if its items do not each start with a dash on a new line, if a part exceeds
// the size limit of a document, or if the list would not fit into memory.
func TestDecodeLarge(t *testing.T) {
	longtest.Only(t)
	const head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	const tail = "results:\n- {message: done, severity: info}\n"
	item := func(i int, text string) []byte {
		return fmt.Appendf(nil, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c%d\n  data: %s\n", i, text)
	}
	text := func(n int) string { return "{a: " + strings.Repeat("x", n) + "}" }
	large := func(n int, text string) yaml.Chunks {
		list := yaml.Chunks{[]byte(head)}
		for i := range n {
			list = append(list, item(i, text))
		}
		return append(list, []byte(tail))
	}
	reply, err := DecodeResourceList(large(70, text(1<<20)), nil, call)
	if err != nil || reply.List.Len() != 70 || len(reply.Results) != 1 || reply.List.At(69).ID().Name != "c69" {
		t.Errorf("70 MiB: %v", err)
	}
	inner := []byte("- apiVersion: v1\n  kind: XList\n  items:\n" + strings.Repeat("  - {apiVersion: v1, kind: X, metadata: {name: x}}\n",
		10000))
	for _, tt := range []struct {
		name   string
		answer yaml.Chunks
		want   string
	}{
		{"items", large(krm.MaxResources+1, "{}"), "output of x/v1 T/t: items: has more than 262144 items"},
		{"item", large(1, text(yaml.MaxFile)), "output of x/v1 T/t:4: items[0]: it has 67,1"},
		{"values", large(6500, "{a: ["+strings.Repeat("x,", 4096)+"]}"), "the values exceed the memory limit for function output"},
		{"rare YAML", large(1, "{a: &a x, b: ["+strings.Repeat("*a,", 1<<19)+"]}"),
			"it uses anchors, tags or other rare YAML and has more than 524288 values"},
		{"items of rare YAML", large(1200, "{a: &a x, b: ["+strings.Repeat("*a,", 4096)+"]}"), "anchors, tags or other rare YAML"},
		{"JSON", yaml.Chunks{[]byte(`{"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [` +
			strings.Repeat(" ", yaml.MaxFile) + "]}\n")},
			" bytes; more than 64 MiB is allowed only if each item of the list starts on a separate line with a dash"},
		{"results", append(large(1, "{}"), []byte("- message: "+strings.Repeat("x", yaml.MaxFile)+"\n")),
			"output of x/v1 T/t:9: the part after the items has 67,1"},
		{"inner items", append(yaml.Chunks{[]byte(head)}, slices.Repeat(yaml.Chunks{inner}, 27)...),
			"the lists have more than 262144 resources"},
	} {
		_, err := DecodeResourceList(tt.answer, nil, call)
		if err == nil || !diag.IsTooLarge(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	// An error in a large list has a position.
	broken := large(70, text(1<<20))
	broken[50] = []byte("- a: b\n  c\n")
	if _, err := DecodeResourceList(broken, nil, call); diag.IsTooLarge(err) ||
		!strings.HasPrefix(err.Error(), "output of x/v1 T/t:250: items[49]: expected a colon after the key") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkResourceList(b *testing.B) {
	rs := make([]*krm.Resource, 10000)
	for i := range rs {
		r := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d\n  labels: {a: b}\ndata:\n  text: |\n%s",
			i, strings.Repeat("    line of text that is about sixty characters long, as they are\n", 29))
		parsed, err := krm.Resources(&yaml.Source{File: "x", Data: []byte(r)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		rs[i] = parsed[0]
	}
	list := krm.NewList(rs...)
	data := EncodeResourceList(list, yaml.Value{}, call)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(data.Len()))
		for b.Loop() {
			EncodeResourceList(list, yaml.Value{}, call)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(data.Len()))
		for b.Loop() {
			if _, err := DecodeResourceList(data, list, call); err != nil {
				b.Fatal(err)
			}
		}
	})
}
