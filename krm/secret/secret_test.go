package secret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// forms are objects with Secrets that contain the value CANARY, and the values in them. An empty
// list means only CANARY.
var forms = map[string]struct {
	text   string
	values []string
}{
	"plain":         {text: `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: CANARY}}`},
	"data":          {text: `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: CANARY}}`},
	"no apiVersion": {text: `{kind: Secret, data: {a: CANARY}}`},
	"several": {text: `{kind: Secret, data: {a: b, c: 1}, stringData: {d: [CANARY, {e: f}]}}`,
		values: []string{"b", "1", "CANARY", "f"}},
	"no mapping":           {text: `{kind: Secret, data: CANARY}`},
	"list":                 {text: `{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: CANARY}}]}`},
	"list of lists":        {text: `{kind: List, items: [{kind: FooList, items: [{kind: Secret, data: {a: CANARY}}]}]}`},
	"SecretList":           {text: `{apiVersion: v1, kind: SecretList, items: [{metadata: {name: s}, data: {a: CANARY}}]}`},
	"SecretList in list":   {text: `{kind: List, items: [{apiVersion: v1, kind: SecretList, items: [{stringData: {a: CANARY}}]}]}`},
	"Template":             {text: `{apiVersion: template.openshift.io/v1, kind: Template, objects: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: CANARY}}]}`},
	"custom resource":      {text: `{apiVersion: a.io/v1, kind: Object, spec: {manifest: {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: CANARY}}}}`},
	"annotation":           {text: `{kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: CANARY}}}`},
	"YAML text":            {text: "kind: ConfigMap\ndata:\n  a: |\n    kind: Secret\n    data: {a: CANARY}\n"},
	"documents":            {text: "kind: ConfigMap\ndata:\n  a: |\n    # first\n    ---\n    kind: X\n    ---\n    kind: Secret\n    data: {a: CANARY}\n"},
	"JSON text":            {text: `{kind: ConfigMap, data: {a: '{"kind":"Secret","metadata":{},"stringData":{"a":"CANARY"}}'}}`},
	"list of text":         {text: `{kind: ConfigMap, data: {a: '{"kind":"List","items":[{"kind":"Secret","data":{"a":"CANARY"}}]}'}}`},
	"SecretList of text":   {text: `{kind: ConfigMap, data: {a: '{"kind":"SecretList","items":[{"data":{"a":"CANARY"}}]}'}}`},
	"text in text":         {text: `{kind: ConfigMap, data: {a: '{"x":"kind: Secret\ndata: {a: CANARY}\n"}'}}`},
	"annotation of others": {text: `{kind: Deployment, metadata: {annotations: {x: '{"kind": "Secret", "data": {"a": "CANARY"}}'}}}`},
	"script": {text: "kind: ConfigMap\ndata:\n  a: |\n    cat <<E\n    kind: Secret\n    data: {a: CANARY}\n    E\n",
		values: []string{"cat <<E\nkind: Secret\ndata: {a: CANARY}\nE\n"}},
	"comment": {text: "kind: ConfigMap\ndata:\n  a: |\n    x: y\n    # kind: Secret\n    # data: {a: CANARY}\n",
		values: []string{"x: y\n# kind: Secret\n# data: {a: CANARY}\n"}},
}

func read(t *testing.T, text string) yaml.Value {
	t.Helper()
	v, err := (&yaml.Source{Data: []byte(text)}).Value()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFindsSecrets(t *testing.T) {
	for name, form := range forms {
		v := read(t, form.text)
		if !secret.In(v) || !secret.HasValues(v) {
			t.Errorf("%s: not found", name)
		}
		want := form.values
		if want == nil {
			want = []string{"CANARY"}
		}
		var got []string
		for x := range secret.Values(v) {
			got = append(got, x.Text())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: values %q, want %q", name, got, want)
		}
		if shown := string(yaml.AppendYAML(nil, secret.Hide(v))); strings.Contains(shown, "CANARY") ||
			!strings.Contains(shown, secret.Hidden) {
			t.Errorf("%s: shown as\n%s", name, shown)
		}
	}
}

// TestReferencesAreNotSecrets checks that references to Secrets, and resources that a cluster turns
// into Secrets, are not hidden.
func TestReferencesAreNotSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"other group":       `{apiVersion: example.com/v1, kind: Secret, metadata: {name: s}, data: {a: b}}`,
		"reference":         `{kind: HelmRelease, spec: {valuesFrom: [{kind: Secret, name: s}], ref: {apiVersion: v1, kind: Secret, name: s, namespace: n}}}`,
		"SealedSecret":      `{apiVersion: bitnami.com/v1alpha1, kind: SealedSecret, spec: {encryptedData: {a: b}, template: {metadata: {name: s}, type: Opaque, data: {c: d}}}}`,
		"ExternalSecret":    `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {target: {template: {data: {a: '{{ .b }}'}}}}}`,
		"other group, text": `{kind: ConfigMap, data: {a: '{"apiVersion":"example.com/v1","kind":"Secret","metadata":{},"data":{"a":"b"}}'}}`,
		"reference, text":   "kind: ConfigMap\ndata:\n  a: |\n    ref: {kind: Secret, name: s}\n    data: {x: y}\n",
		"SealedSecret text": "kind: ConfigMap\ndata:\n  a: |\n    kind: SealedSecret\n    data: {x: y}\n",
		"prose":             `{kind: ConfigMap, data: {a: "write kind: Secret to get one"}}`,
	} {
		v := read(t, text)
		if secret.In(v) || secret.HasValues(v) || !secret.Hide(v).Same(v) {
			t.Errorf("%s: taken for a Secret, shown as\n%s", name, yaml.AppendYAML(nil, secret.Hide(v)))
		}
	}
}

func TestValuesStops(t *testing.T) {
	v := read(t, forms["several"].text)
	n := 0
	for range secret.Values(v) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d values, want 2", n)
	}
}
