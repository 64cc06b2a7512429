package yaml

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/diag"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

func decodeInput(t testing.TB, text string) Value {
	t.Helper()
	v, err := (&Source{Data: []byte(text)}).Value()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDecodeLikeKustomize checks that each text is accepted or rejected as in kustomize, with the
// same result.
func TestDecodeLikeKustomize(t *testing.T) {
	for _, text := range []string{
		"",
		"null",
		"- a",
		"resources: [a, b]\nnamePrefix: x-\n",
		"nameprefix: x-\nRESOURCES: [a]\n",
		"nameprefix: a\nnamePrefix: b\n",
		"namePrefix: b\nNamePrefix: a\n",
		"namePrefix: 5",
		"namePrefix: true",
		"namePrefix: [a]",
		"namePrefix: {a: b}",
		"namePrefix:",
		"resources: a",
		"resources: [a, null]",
		"resources: []",
		"resources:",
		"resources: [1]",
		"commonLabels: {a: 1}",
		"commonLabels: {a: null, b: c}",
		"commonLabels: {1: a, true: b}",
		"commonLabels: [a]",
		"replicas: [{name: a, count: 1.0}, {name: b, count: 0x10}, {name: c, count: 012}, {name: d, count: 1e2}]",
		"replicas: [{name: a, count: 1.5}]",
		"replicas: [{name: a, count: '1'}]",
		"replicas: [{name: a, count: true}]",
		"replicas: [{name: a, count: 99999999999999999999}]",
		"metadata: {name: x, labels: {a: b}}",
		"metadata:",
		"configMapGenerator: [{name: a, literals: [a=b], options: {disableNameSuffixHash: true, labels: {a: b}}}]",
		"configMapGenerator: [{name: a, options: {disableNameSuffixHash: yes, immutable: off}}]",
		"configMapGenerator: [{name: a, options: {disableNameSuffixHash: 'true'}}]",
		"configMapGenerator: [{name: a, options: {disableNameSuffixHash: 1}}]",
		"configMapGenerator: [{name: a, options: {disableNameSuffixHash: 'yes'}}]",
		"configMapGenerator: [{name: n, options: {immutable: y}}]",
		"namePrefix: 2020-01-01",
		"configMapGenerator: [null, {name: a}]",
		"configMapGenerator: {name: a}",
		"secretGenerator: [{name: a, type: x, env: e, envs: [f], behavior: merge, namespace: ns}]",
		"patches: [{path: a, target: {group: gr, version: vs, kind: K, name: nm, namespace: ns, labelSelector: l}, options: {allowNameChange: true}}]",
		"patches: [{path: a, target: {gvk: {kind: K}}}]",
		"replacements: [{path: a}, {source: {kind: K, fieldPath: a.b, options: {index: 2}}, targets: [{select: {name: x}, reject: [{kind: Kd}], fieldPaths: [a]}]}]",
		"replacements: [{sourceValue: x, targets: [null]}]",
		"replacements: [{sourceValue: null, targets: []}]",
		"helmCharts: [{name: a, valuesInline: {a: 1, b: [x, true, null, 1.5], c: {d: e}}, skipTests: true}]",
		"helmCharts: [{name: a, valuesInline: [1]}]",
		"vars: [{name: a, objref: {kind: K, apiVersion: v1, name: nm}, fieldref: {fieldPath: a.b}}]",
		"images: [{name: a, newTag: b}]",
		"images: [{name: a, newTag: 1.5}]",
		"sortOptions: {order: legacy, legacySortOptions: {orderFirst: [A]}}",
		"openapi: {path: x}",
		"labels: [{pairs: {a: b}, includeSelectors: true, fields: [{path: a/b, create: true, kind: K}]}]",
		"foo: bar",
		"typemeta: {kind: x}",
	} {
		var want, got types.Kustomization
		wantErr := want.Unmarshal([]byte(text))
		errs := Decode(decodeInput(t, text), &got)
		if (wantErr != nil) != (len(errs) > 0) {
			t.Errorf("%s:\nkustomize: %v\ngot: %v", text, wantErr, errs)
			continue
		}
		if wantErr == nil {
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s:\nkustomize: %+v\ngot: %+v", text, want, got)
			}
		}
	}
}

// TestDecodeLenient checks that configuration files other than Kustomizations may have unknown
// fields, and that their scalars are read as text.
func TestDecodeLenient(t *testing.T) {
	type Embedded struct {
		Deep string `json:"deep"`
		Opts struct {
			S string `json:"s"`
		} `json:"opts"`
	}
	type config struct {
		Embedded `json:",inline"`
		Text     string            `json:"text"`
		Labels   map[string]string `json:"labels"`
		List     []string          `json:"list"`
		Ptr      *string           `json:"ptr"`
		Num      int64             `json:"num"`
		F        float64           `json:"f"`
		B        bool              `json:"b"`
		Any      any               `json:"any"`
		Inner    struct {
			Skip string `json:"-"`
			Own  int
		} `json:"inner"`
	}
	for _, text := range []string{
		"text: 5\nlabels: {a: 1, b: 1.10, c: true, d: 012, e: 1e3, f: 0x1F, g: 1_000, h: ~, i: 0.1, j: 123456789.123}",
		"text: true\nlist: [1, a, null, 1.0]\nptr: 7",
		"unknown: 1\ninner: {x: y, Own: 3, skip: q}",
		"num: 1.0\nf: 2\nb: false\nany: {a: [1, b]}",
		"num: x",
		"b: 1",
		"text: [a]",
		"any: 5",
		"inner: 5",
		"deep: a\nopts: {s: b}",
		"deep: 5",
		"opts: {s: 5}",
	} {
		var want, got config
		wantErr := yaml.Unmarshal([]byte(text), &want)
		errs := Decoding{AllowUnknown: true, ScalarsAsText: true}.Decode(decodeInput(t, text), &got)
		if (wantErr != nil) != (len(errs) > 0) {
			t.Errorf("%s:\nkustomize: %v\ngot: %v", text, wantErr, errs)
			continue
		}
		if wantErr == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -kustomize +got\n%s", text, diff)
			}
		}
	}
}

func TestDecodeCollectsMistakes(t *testing.T) {
	text := `
resorces: [a]
namePrefix: 5
patches:
- path: a
- path: b
  target: {kynd: Deployment, name: [x]}
commonLabels:
  a.b/c: {}
replicas: [{name: a, count: many}]
`
	want := `resorces: unknown field "resorces"
  did you mean "resources"?
namePrefix: must be a string, not an integer
  put it in quotes: "5"
patches[1].target.kynd: unknown field "kynd"
  did you mean "kind"?
patches[1].target.name: must be a string, not a list
  write a single string; quote a text that looks like key: value
commonLabels."a.b/c": must be a string, not a mapping
  write a single string; quote a text that looks like key: value
replicas[0].count: must be an integer, not a string
  write an integer, without quotes
`
	var k types.Kustomization
	var got strings.Builder
	for _, e := range Decode(decodeInput(t, text), &k) {
		got.WriteString(e.Error() + "\n")
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(k.Patches) != 2 || k.Patches[1].Path != "b" {
		t.Errorf("valid fields were not decoded: %+v", k.Patches)
	}
}

func TestDecodeEmbedded(t *testing.T) {
	type Deep struct{ Name, Only string }
	type Ptr struct {
		Extra string `json:"extra"`
	}
	type Top struct {
		Deep `json:",inline"`
		*Ptr
		Name string
		Raw  Value          `json:"raw"`
		Opts map[string]int `json:"opts"`
	}
	var got Top
	if errs := Decode(decodeInput(t, "name: a\nonly: b\nextra: c\nraw: [1, {x: z}]\nopts: {nn: 3}"), &got); errs != nil {
		t.Fatal(errs)
	}
	if got.Name != "a" || got.Deep.Name != "" || got.Only != "b" || got.Extra != "c" || got.Opts["nn"] != 3 {
		t.Errorf("got %+v", got)
	}
	if got.Raw.Items()[1].Get("x").Text() != "z" {
		t.Errorf("raw value: %v", got.Raw)
	}
}

func TestPrintPath(t *testing.T) {
	if got := diag.FieldPath([]any{"patches", 2, "target", "a.b"}); got != `patches[2].target."a.b"` {
		t.Error(got)
	}
	if got := diag.FieldPath([]any{0, "x"}); got != "[0].x" {
		t.Error(got)
	}
}

func BenchmarkDecode(b *testing.B) {
	v := decodeInput(b, `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: prod
namePrefix: prod-
resources: [../base, a.yaml, b.yaml]
labels: [{pairs: {app: x, env: prod}, includeSelectors: true}]
patches:
- path: p.yaml
  target: {kind: Deployment, name: x}
images: [{name: nginx, newTag: "1.2"}]
`)
	b.ReportAllocs()
	for b.Loop() {
		var k types.Kustomization
		if errs := Decode(v, &k); errs != nil {
			b.Fatal(errs)
		}
	}
}

// names is a list with a private index.
type names struct {
	list  []string
	known map[string]bool
}

func (n *names) Wrapped() any { return &n.list }

func TestDecodeWrapper(t *testing.T) {
	v, err := (&Source{Data: []byte("a: [x, w]\nb: []\nc: null\nd: [z]\n")}).Value()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		A, B, C *names
		D       names
	}
	if errs := Decode(v, &got); len(errs) > 0 {
		t.Fatal(errs)
	}
	if len(got.A.list) != 2 || got.A.list[1] != "w" || got.B == nil || got.B.list == nil || got.C != nil || got.D.list[0] != "z" ||
		got.D.known != nil {
		t.Errorf("got %+v", got)
	}
	v, _ = (&Source{Data: []byte("a: [x, [w]]\n")}).Value()
	if errs := Decode(v, &got); len(errs) != 1 || errs[0].Msg != "must be a string, not a list" {
		t.Errorf("mistakes %v", errs)
	}
}
