package schema

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// schemaWalk compares the nodes of a kind with kyaml's, from the top down.
type schemaWalk struct {
	t     *testing.T
	seen  map[string]bool // kyaml schemas that were already compared
	pairs int
}

func (w *schemaWalk) compare(path string, n Node, want *openapi.ResourceSchema) {
	if n.Exists() != (want != nil) {
		w.t.Fatalf("%s: exists: got %v, want %v", path, n.Exists(), want != nil)
	}
	if want == nil {
		return
	}
	strategy, keys := want.PatchStrategyAndKeyList()
	if n.Strategy() != strategy || !slices.Equal(n.MergeKeys(), keys) {
		w.t.Fatalf("%s: got %q %q, want %q %q", path, n.Strategy(), n.MergeKeys(), strategy, keys)
	}
	text, err := want.Schema.MarshalJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	if w.seen[string(text)] {
		return
	}
	w.seen[string(text)] = true
	w.pairs++
	for name := range want.Schema.Properties {
		w.compare(path+"/"+name, n.Field(name), want.Field(name))
	}
	w.compare(path+"/*", n.Field("no such property"), want.Field("no such property"))
	w.compare(path+"/[]", n.Elem(), want.Elements())
}

func kyamlKinds(t *testing.T) map[kyaml.TypeMeta]bool {
	kinds := map[kyaml.TypeMeta]bool{{}: true, {APIVersion: "v1", Kind: "Unknown"}: true,
		{APIVersion: "example.com/v1", Kind: "Deployment"}: true}
	for _, k := range schemaKinds {
		kinds[kyaml.TypeMeta{APIVersion: apiVersion(k.group, k.version), Kind: k.kind}] = true
	}
	for _, def := range openapi.Schema().Definitions {
		gvks, _ := def.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, x := range gvks {
			gvk := x.(map[string]any)
			group, _ := gvk["group"].(string)
			kinds[kyaml.TypeMeta{APIVersion: apiVersion(group, gvk["version"].(string)), Kind: gvk["kind"].(string)}] = true
		}
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kustomize/kyaml").Output()
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "openapi", "openapi.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`{APIVersion: "(.*?)", Kind: "(.*?)"}:`).FindAllSubmatch(src, -1) {
		kinds[kyaml.TypeMeta{APIVersion: string(m[1]), Kind: string(m[2])}] = true
	}
	return kinds
}

func TestBuiltinSchemaAgreesWithKyaml(t *testing.T) {
	openapi.ResetOpenAPI()
	w := schemaWalk{t: t, seen: map[string]bool{}}
	var none *Schema
	kinds := kyamlKinds(t)
	if len(kinds) < 250 {
		t.Errorf("only %d kinds", len(kinds))
	}
	for k := range kinds {
		group, version, found := strings.Cut(k.APIVersion, "/")
		if !found {
			group, version = "", group
		}
		gvk := Kind{group, version, k.Kind}
		if got, want := none.ClusterScoped(gvk), openapi.IsCertainlyClusterScoped(k); got != want {
			t.Errorf("%s cluster scoped: got %v, want %v", gvk, got, want)
		}
		w.compare(fmt.Sprint(gvk), none.For(gvk), openapi.SchemaForResourceType(k))
	}
	if w.pairs < 1500 {
		t.Errorf("only %d documents were compared", w.pairs)
	}
}

func TestBuiltinSchemaVersion(t *testing.T) {
	if openapi.DefaultOpenAPI != BuiltinVersion {
		t.Errorf("got %q, want %q", BuiltinVersion, openapi.DefaultOpenAPI)
	}
}

const customSchema = `
definitions:
  com.example.v1.Thing:
    type: object
    properties:
      spec: {$ref: '#/definitions/com.example.v1.Spec'}
      metadata: {$ref: '#/definitions/no.such.definition'}
      status: {$ref: '#/definitions/loop'}
      inline:
        type: array
        x-kubernetes-patch-strategy: merge
        items: {type: string}
    x-kubernetes-group-version-kind:
    - {group: example.com, version: v1, kind: Thing}
    - {group: "", version: v1, kind: Thing}
  com.example.v1.Spec:
    properties:
      a/b:
        type: [array]
        x-kubernetes-patch-strategy: merge,retainKeys
        x-kubernetes-patch-merge-key: id
        items: {$ref: '#/definitions/com.example.v1.Spec'}
      multi:
        type: array
        x-kubernetes-list-map-keys: [port, protocol]
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: port
        items: {type: object}
      noStrategy:
        type: array
        x-kubernetes-patch-merge-key: name
        items: {type: object, additionalProperties: {$ref: '#/definitions/com.example.v1.Spec/properties/multi'}}
      shouting:
        type: array
        X-Kubernetes-Patch-Strategy: merge
        items: {type: string}
      strict: {additionalProperties: false}
      deep: {$ref: '#/definitions/com.example.v1.Spec/properties/a~1b'}
  loop: {type: string}
paths:
  /apis/example.com/v1/namespaces/{namespace}/things:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Thing}}
  /apis/example.com/v1/things:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Thing}}
  /apis/example.com/v1/worlds:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: World}}
  /apis/v1/namespaces:
    get: {x-kubernetes-group-version-kind: {group: "", version: v1, kind: Pod}}
  /healthz:
    get: {}
  /other:
    post: {}
`

func TestCustomSchemaAgreesWithKyaml(t *testing.T) {
	openapi.ResetOpenAPI()
	t.Cleanup(openapi.ResetOpenAPI)
	if err := openapi.SetSchema(map[string]string{"path": "x"}, []byte(customSchema), true); err != nil {
		t.Fatal(err)
	}
	s, err := Parse(schemaDoc(t, customSchema))
	if err != nil {
		t.Fatal(err)
	}
	w := schemaWalk{t: t, seen: map[string]bool{}}
	for _, gvk := range []Kind{
		{"example.com", "v1", "Thing"}, {"", "v1", "Thing"}, {"example.com", "v1", "World"}, {"apps", "v1", "Deployment"},
		{"", "v1", "Pod"}, {"", "v1", "Node"},
		{"kustomize.config.k8s.io", "v1beta1", "Kustomization"},
	} {
		k := kyaml.TypeMeta{APIVersion: apiVersion(gvk.Group, gvk.Version), Kind: gvk.Kind}
		if got, want := s.ClusterScoped(gvk), openapi.IsCertainlyClusterScoped(k); got != want {
			t.Errorf("%s cluster scoped: got %v, want %v", gvk, got, want)
		}
		w.compare(fmt.Sprint(gvk), s.For(gvk), openapi.SchemaForResourceType(k))
	}
	if w.pairs < 10 {
		t.Errorf("only %d documents were compared", w.pairs)
	}
	if !s.With(Read).For(Kind{"apps", "v1", "Deployment"}).Field("spec").Exists() || !s.With(Read).For(Kind{"", "v1", "Thing"}).Exists() {
		t.Error("a schema on top of the built-in one must answer for both")
	}
}

func TestParseSchemaErrors(t *testing.T) {
	for doc, want := range map[string]string{
		"[]": "an OpenAPI schema is a mapping, this is a list",
		"definitions: {a: {x-kubernetes-group-version-kind: [{kind: A}]}}": "definitions: a: x-kubernetes-group-version-kind lacks version or kind",
		"paths: {/a: {get: {x-kubernetes-group-version-kind: {}}}}":        "paths: /a: x-kubernetes-group-version-kind lacks version or kind",
	} {
		if _, err := Parse(schemaDoc(t, doc)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", doc, err, want)
		}
	}
	loop, err := Parse(schemaDoc(t,
		"definitions: {a: {properties: {p: {$ref: '#/definitions/b'}}, x-kubernetes-group-version-kind: [{kind: A, version: v1}]}, b: {$ref: '#/definitions/b'}}"))
	if err != nil || loop.For(Kind{"", "v1", "A"}).Field("p").Exists() {
		t.Errorf("a circle of references: %v", err)
	}
}

func schemaDoc(t *testing.T, text string) yaml.Value {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return schemaDocOf(doc.Content[0])
}

func schemaDocOf(n *yamlv3.Node) yaml.Value {
	switch n.Kind {
	case yamlv3.MappingNode:
		var fields []yaml.Field
		for i := 0; i < len(n.Content); i += 2 {
			fields = append(fields, yaml.Field{Key: n.Content[i].Value, Value: schemaDocOf(n.Content[i+1])})
		}
		return yaml.MapOf(fields...)
	case yamlv3.SequenceNode:
		var items []yaml.Value
		for _, x := range n.Content {
			items = append(items, schemaDocOf(x))
		}
		return yaml.SeqOf(items...)
	}
	if n.Tag == "!!bool" {
		return yaml.BoolValue(n.Value == "true")
	}
	return yaml.Str(n.Value)
}

func BenchmarkBuiltinSchema(b *testing.B) {
	b.ReportAllocs()
	var s *Schema
	for b.Loop() {
		if len(s.For(Kind{"apps", "v1", "Deployment"}).Field("spec").Field("template").Field("spec").Field("containers").Elem().Field(
			"ports").MergeKeys()) != 2 {
			b.Fatal("wrong answer")
		}
	}
}

func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// TestBuiltinStates checks that the schema that kustomize reads last takes precedence for kinds and
// definitions in both.
func TestBuiltinStates(t *testing.T) {
	src := &yaml.Source{Data: []byte(`
definitions:
  x.Deployment:
    x-kubernetes-group-version-kind: [{group: apps, version: v1, kind: Deployment}]
    properties: {template: {$ref: "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}}
  x.Thing:
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
    properties:
      template: {$ref: "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}
      selector: {$ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"}
  io.k8s.api.core.v1.PodTemplateSpec:
    properties: {spec: {properties: {containers: {type: array, items: {type: object}}}}}
`)}
	doc, err := src.Value()
	if err != nil {
		t.Fatal(err)
	}
	own, err := Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	containers := func(n Node) string {
		n = n.Field("template").Field("spec").Field("containers")
		return fmt.Sprint(n.Exists(), n.MergeKeys())
	}
	for _, c := range []struct {
		state                          Builtin
		deployment, sts, thing, labels string
	}{
		{Unread, "true []", "false []", "true []", "false"},
		{Deferred, "false []", "true [name]", "true [name]", "true"},
		{Read, "true []", "true []", "true []", "true"},
	} {
		s := own.With(c.state)
		thing := s.For(Kind{"example.com", "v1", "Thing"})
		got := []string{
			containers(s.For(Kind{"apps", "v1", "Deployment"})), containers(s.For(Kind{"apps", "v1", "StatefulSet"}).Field("spec")),
			containers(thing),
			fmt.Sprint(thing.Field("selector").Exists()),
		}
		if want := []string{c.deployment, c.sts, c.thing, c.labels}; !slices.Equal(got, want) {
			t.Errorf("state %d: Deployment, StatefulSet, Thing, selector are %q, want %q", c.state, got, want)
		}
	}
}
