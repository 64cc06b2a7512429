// Package celtest compares the program krmflow-cel with the code that an API server runs when it
// creates or updates a custom resource or creates a CustomResourceDefinition. The definitions
// come from public trees, and the objects are random.
package celtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"
)

var scheme = runtime.NewScheme()

func init() { crdinstall.Install(scheme) }

// A crd is a definition with rules, as in its file and decoded.
type crd struct {
	raw  map[string]any
	v1   *apiextensionsv1.CustomResourceDefinition
	crd  *apiextensions.CustomResourceDefinition
	name string
}

// decode returns a definition as an API server reads it.
func decode(raw map[string]any) (*crd, error) {
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	c := &crd{raw: raw, v1: &apiextensionsv1.CustomResourceDefinition{}, crd: &apiextensions.CustomResourceDefinition{}}
	if err := json.Unmarshal(data, c.v1); err != nil {
		return nil, err
	}
	scheme.Default(c.v1)
	c.name = c.v1.Name
	return c, scheme.Convert(c.v1.DeepCopy(), c.crd, nil)
}

// public returns the definitions with rules in the trees of KRMFLOW_TREES.
func public(t *testing.T) (all []*crd) {
	dir := os.Getenv("KRMFLOW_TREES")
	if dir == "" {
		t.Skip("NOT TESTED: no KRMFLOW_TREES")
	}
	if _, err := exec.LookPath("krmflow-cel"); err != nil {
		t.Skip("NOT TESTED: no krmflow-cel in PATH (make functions)")
	}
	seen := map[string]bool{}
	filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".yaml" {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(data, []byte("x-kubernetes-validations:")) {
			return nil
		}
		for _, doc := range bytes.Split(data, []byte("\n---")) {
			var raw map[string]any
			if yaml.Unmarshal(doc, &raw) != nil || raw["kind"] != "CustomResourceDefinition" ||
				!bytes.Contains(doc, []byte("x-kubernetes-validations:")) || seen[string(doc)] {
				continue
			}
			seen[string(doc)] = true
			if c, err := decode(raw); err == nil && c.v1.APIVersion == "apiextensions.k8s.io/v1" {
				all = append(all, c)
			}
		}
		return nil
	})
	if len(all) == 0 {
		t.Fatal("no definitions")
	}
	return all
}

// A result is a result of krmflow-cel.
type result struct {
	Message, Severity string
	Field             struct{ Path string }
	Tags              struct{ Item string }
}

// ask runs krmflow-cel and returns the results of each item: the field and the message.
// The first item is the definition. old has the old states of items that are updates.
func ask(t *testing.T, items []any, old map[int]int) [][]string {
	t.Helper()
	objects := slices.DeleteFunc(upTo(len(items)), func(i int) bool {
		_, ok := old[i]
		return old != nil && !ok
	})
	data, err := json.Marshal(map[string]any{"kind": "ResourceList", "items": items,
		"functionConfig": map[string]any{"spec": map[string]any{
			"groups": []any{map[string]any{"objects": objects, "context": []int{0}, "old": old}}}}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("krmflow-cel")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Results []result }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	found := make([][]string, len(items))
	for _, r := range answer.Results {
		var i int
		fmt.Sscan(r.Tags.Item, &i)
		found[i] = append(found[i], r.Field.Path+": "+r.Message)
	}
	return found
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// An oracle creates and updates custom resources of a version as an API server does.
type oracle struct {
	structural, plain *structuralschema.Structural
	with, without     interface {
		PrepareForCreate(ctx context.Context, obj runtime.Object)
		Validate(ctx context.Context, obj runtime.Object) field.ErrorList
		PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
		ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	}
}

func newOracle(c *crd, v *apiextensionsv1.CustomResourceDefinitionVersion) (*oracle, error) {
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props,
		nil); err != nil {
		return nil, err
	}
	o := &oracle{}
	var err error
	if o.structural, err = structuralschema.NewStructural(&props); err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(o.structural); err != nil {
		return nil, err
	}
	o.plain = o.structural.DeepCopy()
	strip := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		changed := s.XValidations != nil
		s.XValidations = nil
		return changed
	}, NestedValueValidation: func(s *structuralschema.NestedValueValidation) bool {
		changed := s.XValidations != nil
		s.XValidations = nil
		return changed
	}}
	strip.Visit(o.plain)
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	if v.Subresources != nil && v.Subresources.Status != nil {
		status = &apiextensions.CustomResourceSubresourceStatus{}
	}
	gvk := schema.GroupVersionKind{Group: c.v1.Spec.Group, Version: v.Name, Kind: c.v1.Spec.Names.Kind}
	namespaced := c.v1.Spec.Scope == apiextensionsv1.NamespaceScoped
	o.with = customresource.NewStrategy(typer{gvk}, namespaced, gvk, validator, nil, o.structural, status, nil, nil)
	o.without = customresource.NewStrategy(typer{gvk}, namespaced, gvk, validator, nil, o.plain, status, nil, nil)
	return o, nil
}

type typer struct{ gvk schema.GroupVersionKind }

func (t typer) ObjectKinds(runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{t.gvk}, false, nil
}
func (t typer) Recognizes(schema.GroupVersionKind) bool { return true }

// create returns the errors of the rules, as [ask] does. checked is false if the schema is violated
// so that the rules are not evaluated.
func (o *oracle) create(object map[string]any) (errs []string, checked bool) {
	u := o.decode(object)
	ctx := genericrequest.WithNamespace(context.Background(), u.GetNamespace())
	o.with.PrepareForCreate(ctx, u)
	without := o.without.Validate(ctx, u.DeepCopy())
	return ofRules(o.with.Validate(ctx, u), without)
}

// update is create for the update of an old object.
func (o *oracle) update(old, object map[string]any) (errs []string, checked bool) {
	u, before := o.decode(object), o.decode(old)
	ctx := genericrequest.WithNamespace(context.Background(), u.GetNamespace())
	o.with.PrepareForUpdate(ctx, u, before)
	without := o.without.ValidateUpdate(ctx, u.DeepCopy(), before.DeepCopy())
	return ofRules(o.with.ValidateUpdate(ctx, u, before), without)
}

// decode returns an object as an API server reads it.
func (o *oracle) decode(object map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	pruning.Prune(u.Object, o.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, o.structural)
	defaulting.Default(u.Object, o.structural)
	return u
}

// ofRules returns the errors of rules: those in with that are not in without.
func ofRules(with, without field.ErrorList) (errs []string, checked bool) {
	schemaErrs := map[string]int{}
	for _, err := range without {
		schemaErrs[err.Error()]++
	}
	checked = true
	for _, err := range with {
		switch text := err.Error(); {
		case schemaErrs[text] > 0:
			schemaErrs[text]--
		case strings.Contains(err.Detail, "some validation rules were not checked"):
			checked = false
		default:
			errs = append(errs, strings.TrimPrefix(strings.TrimPrefix(err.Field, "<nil>"), ".")+": "+err.Detail)
		}
	}
	return errs, checked
}

// objects is the number of random objects of a version.
const objects = 150

// TestObjects compares the violated rules of random objects.
func TestObjects(t *testing.T) {
	rules, compared, checked, violations, seen := 0, 0, 0, 0, map[string]bool{}
	for _, c := range public(t) {
		for i := range c.v1.Spec.Versions {
			v := &c.v1.Spec.Versions[i]
			text, _ := json.Marshal(v.Schema)
			n := bytes.Count(text, []byte(`"rule":`))
			if n == 0 || !v.Served {
				continue
			}
			o, err := newOracle(c, v)
			if err != nil {
				t.Errorf("%s %s: %v", c.name, v.Name, err)
				continue
			}
			rules += n
			g := &generator{Rand: rand.New(rand.NewPCG(1, uint64(i))), words: words(string(text))}
			items := []any{c.raw}
			for n := range objects {
				g.size = n % 10
				items = append(items, g.object(c, v, n))
			}
			got := ask(t, items, nil)
			if len(got[0]) > 0 {
				t.Errorf("%s: %q", c.name, got[0])
			}
			for n, item := range items[1:] {
				want, ok := o.create(item.(map[string]any))
				compared++
				if ok {
					checked++
				}
				slices.Sort(want)
				slices.Sort(got[n+1])
				violations += len(want)
				for _, w := range want {
					_, message, _ := strings.Cut(w, ": ")
					seen[c.name+v.Name+message] = true
				}
				if !slices.Equal(want, got[n+1]) {
					data, _ := json.Marshal(item)
					t.Errorf("%s: got\n%q\nwant\n%q\n%s", c.name, got[n+1], want, data)
				}
			}
		}
	}
	t.Logf("%d rules, %d objects compared, the rules of %d of them evaluated, %d violations of %d different rules", rules, compared,
		checked,
		violations, len(seen))
}

// TestUpdates compares the violated rules of random updates. The new object has parts of the old
// one, so that some values are unchanged.
func TestUpdates(t *testing.T) {
	compared, checked, violations, transitions, ratcheted := 0, 0, 0, 0, 0
	for _, c := range public(t) {
		for i := range c.v1.Spec.Versions {
			v := &c.v1.Spec.Versions[i]
			text, _ := json.Marshal(v.Schema)
			if !bytes.Contains(text, []byte(`"rule":`)) || !v.Served {
				continue
			}
			o, err := newOracle(c, v)
			if err != nil {
				t.Errorf("%s %s: %v", c.name, v.Name, err)
				continue
			}
			g := &generator{Rand: rand.New(rand.NewPCG(2, uint64(i))), words: words(string(text))}
			items, old := []any{c.raw}, map[int]int{}
			for n := range objects {
				g.size = n % 10
				was, is := g.object(c, v, n), g.object(c, v, n)
				delete(was, "status") // the status in a cluster is unknown
				delete(is, "status")
				old[len(items)+1] = len(items)
				items = append(items, was, g.mixed(was, is))
			}
			got := ask(t, items, old)
			for now, before := range old {
				was, is := items[before].(map[string]any), items[now].(map[string]any)
				want, ok := o.update(was, is)
				created, _ := o.create(is)
				compared++
				if ok {
					checked++
				}
				slices.Sort(want)
				slices.Sort(got[now])
				violations += len(want)
				for _, w := range want {
					if !slices.Contains(created, w) {
						transitions++
					}
				}
				for _, w := range created {
					if ok && !slices.Contains(want, w) {
						ratcheted++
					}
				}
				if !slices.Equal(want, got[now]) {
					data, _ := json.Marshal([]any{was, is})
					t.Errorf("%s: got\n%q\nwant\n%q\n%s", c.name, got[now], want, data)
				}
			}
		}
	}
	t.Logf("%d updates compared, the rules of %d of them evaluated, %d violations, %d of them only in updates, %d only in creations", compared,
		checked, violations, transitions, ratcheted)
}

// mixed returns now with random parts of old.
func (g *generator) mixed(old, now any) any {
	if g.IntN(3) == 0 {
		return runtime.DeepCopyJSONValue(old)
	}
	switch now := now.(type) {
	case map[string]any:
		if old, ok := old.(map[string]any); ok {
			keys := slices.Sorted(maps.Keys(now))
			for _, key := range keys {
				if was, ok := old[key]; ok {
					now[key] = g.mixed(was, now[key])
				}
			}
		}
	case []any:
		if old, ok := old.([]any); ok {
			for i := range min(len(old), len(now)) {
				now[i] = g.mixed(old[i], now[i])
			}
		}
	}
	return now
}

// TestDefinitions compares the rules that are refused. Without limits of lists and strings, the
// estimated cost of many rules is too high.
func TestDefinitions(t *testing.T) {
	compared, refused := 0, 0
	refusal := regexp.MustCompile(`x-kubernetes-validations`)
	for _, c := range public(t) {
		for _, limits := range []bool{true, false} {
			raw := runtime.DeepCopyJSON(numbers(c.raw))
			if !limits {
				unlimited(raw)
			}
			d, err := decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), d.crd) {
				path := err.Field
				if refusal.MatchString(path) && !strings.Contains(err.Detail, "total for entire") &&
					!strings.Contains(err.Detail, "contributed to") {
					want = append(want, strings.ReplaceAll(strings.ReplaceAll(path, "properties[", "properties."), "]", ""))
				}
			}
			items := []any{raw}
			for _, v := range d.v1.Spec.Versions {
				items = append(items, map[string]any{"apiVersion": d.v1.Spec.Group + "/" + v.Name, "kind": d.v1.Spec.Names.Kind,
					"metadata": map[string]any{"name": "a"}})
			}
			got := []string{}
			for _, line := range ask(t, items, nil)[0] {
				path, _, _ := strings.Cut(line, ": ")
				got = append(got, strings.ReplaceAll(path, "]", ""))
			}
			// The path of an API server depends on the number of versions.
			for _, list := range [][]string{want, got} {
				for i, path := range list {
					list[i] = regexp.MustCompile(`^spec\.(validation|versions\[\d+(\.schema)?)(\.openAPIV3Schema)?\.?`).ReplaceAllString(
						path, "")
				}
				slices.Sort(list)
			}
			want, got = slices.Compact(want), slices.Compact(got)
			compared++
			refused += len(want)
			if !slices.Equal(want, got) {
				t.Errorf("%s with limits=%v: got\n%s\nwant\n%s", c.name, limits, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	t.Logf("%d definitions, %d refused rules", compared, refused)
}

// numbers returns a copy with the numbers of an API server.
func numbers(raw map[string]any) map[string]any {
	data, _ := json.Marshal(raw)
	var u unstructured.Unstructured
	if err := utilyaml.Unmarshal(data, &u.Object); err != nil {
		panic(err)
	}
	return u.Object
}

// unlimited removes the limits of lists, maps and strings.
func unlimited(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"maxItems", "maxLength", "maxProperties"} {
			if _, ok := v[key].(int64); ok {
				delete(v, key)
			}
		}
		for _, x := range v {
			unlimited(x)
		}
	case []any:
		for _, x := range v {
			unlimited(x)
		}
	}
}

// words returns the strings in the rules of a schema.
func words(text string) (list []string) {
	for _, m := range regexp.MustCompile(`'([^'\\]*)'|\\"([^"\\]*)\\"`).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1]+m[2])
	}
	return append(list, "a", "b", "", "1h", "10", "50%")
}

// A generator makes random objects of a schema. A larger size makes more optional fields.
type generator struct {
	*rand.Rand
	words []string
	size  int
}

// object returns an object of a version.
func (g *generator) object(c *crd, v *apiextensionsv1.CustomResourceDefinitionVersion, n int) map[string]any {
	object, _ := g.value(v.Schema.OpenAPIV3Schema, 0).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object["apiVersion"], object["kind"] = c.v1.Spec.Group+"/"+v.Name, c.v1.Spec.Names.Kind
	object["metadata"] = map[string]any{"name": fmt.Sprint("a", n), "namespace": "b"}
	if c.v1.Spec.Scope == apiextensionsv1.ClusterScoped {
		object["metadata"] = map[string]any{"name": fmt.Sprint("a", n)}
	}
	return object
}

func (g *generator) value(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	if len(s.Enum) > 0 && g.IntN(20) > 0 {
		var v any
		json.Unmarshal(s.Enum[g.IntN(len(s.Enum))].Raw, &v)
		return v
	}
	kind := s.Type
	if s.XIntOrString {
		kind = []string{"integer", "string"}[g.IntN(2)]
	}
	switch kind {
	case "object":
		object := map[string]any{}
		for _, name := range sorted(s.Properties) {
			if p := s.Properties[name]; slices.Contains(s.Required, name) || g.IntN(12) < 1+g.size && depth < 9 {
				object[name] = g.value(&p, depth+1)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for range g.IntN(3) {
				object[g.word(s)+"x"] = g.value(s.AdditionalProperties.Schema, depth+1)
			}
		}
		return object
	case "array":
		n := g.IntN(3)
		if s.MinItems != nil {
			n = max(n, int(*s.MinItems))
		}
		list := []any{}
		for range n {
			list = append(list, g.value(s.Items.Schema, depth+1))
		}
		return list
	case "integer":
		n := int64(g.IntN(4))
		if s.Minimum != nil {
			n += int64(*s.Minimum)
		}
		return n
	case "number":
		return float64(g.IntN(40)) / 4
	case "boolean":
		return g.IntN(2) == 0
	case "string":
		return g.word(s)
	}
	return map[string]any{}
}

func (g *generator) word(s *apiextensionsv1.JSONSchemaProps) string {
	switch s.Format {
	case "date-time":
		return "2026-01-02T03:04:05Z"
	}
	word := g.words[g.IntN(len(g.words))]
	if s.MinLength != nil && int64(len(word)) < *s.MinLength {
		word += strings.Repeat("a", int(*s.MinLength))
	}
	return word
}

func sorted(m map[string]apiextensionsv1.JSONSchemaProps) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
