package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// resources parses the objects in a text.
func resources(t testing.TB, text string) []*krm.Resource {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "test.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func joined(findings []Finding) string {
	var all []string
	for _, f := range findings {
		text := f.Text()
		if f.Warning {
			text = "warning: " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// TestValidObjects checks that objects that an API server accepts cause no findings, in any
// notation.
func TestValidObjects(t *testing.T) {
	v := New(openapi.Newest)
	for _, text := range []string{
		"{apiVersion: v1, kind: Pod, metadata: {name: p, creationTimestamp: null}, spec: {containers: [{name: a, resources: {limits: {cpu: 0.5, memory: 1e3, x/y: '1'}}}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: 80.0}], env: null, imagePullPolicy: ''}]}}",
		"{apiVersion: v1, kind: Service, metadata: {name: p}, spec: {ports: [{port: 53, protocol: UDP, name: a}, {port: 53, name: b, targetPort: dns}]}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: p}, data: {a: aGk=, b: '', c: null}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: p}, data: {a: \"aGVs\\nbG8=\\n\"}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: p}, roleRef: {kind: Role, name: r}}",
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p}, spec: {}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: p}, spec: {group: g, scope: Cluster, names: {plural: p, kind: P}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, additionalProperties: {type: string}, x-kubernetes-preserve-unknown-fields: true, properties: {a: {items: {type: string}, default: [1, {b: c}]}}}}}]}, status: {conditions: null}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: p}, data: {a: 2020-01-01, b: 'yes'}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: p}, data: {a: 'ENC[AES256_GCM,data:x]'}, sops: {mac: x}}",
	} {
		for _, r := range resources(t, text) {
			if findings := v.Check(r); len(findings) > 0 {
				t.Errorf("%s\n%s", text, joined(findings))
			}
		}
	}
}

func TestFindingsNameWrongFields(t *testing.T) {
	v := New(openapi.Newest)
	pod := func(spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}], " + spec + "}}"
	}
	for _, c := range []struct{ text, want string }{
		{pod("hostNetwork: 'yes'"), `spec.hostNetwork: must be a boolean, not the string "yes"`},
		{pod("priority: '${PRIORITY}'"), `warning: spec.priority: must be an integer, not the string "${PRIORITY}"`},
		{pod("priority: 1.5"), `spec.priority: must be an integer, not the number 1.5`},
		{pod("priority: -2147483649"), `spec.priority: -2147483649 does not fit in 32 bits`},
		{pod("activeDeadlineSeconds: 99999999999999999999"), `spec.activeDeadlineSeconds: 99999999999999999999 does not fit in 64 bits`},
		{pod("volumes: {}"), `spec.volumes: must be a list, not a mapping`},
		{pod("volumes: [a]"), `spec.volumes[0]: must be a mapping, not the string "a"`},
		{pod("overhead: {cpu: true}"), `spec.overhead.cpu: must be a quantity, not the boolean true`},
		{pod("overhead: {cpu: 1.5.0}"), `spec.overhead.cpu: "1.5.0" is not a quantity such as 500m, 2 or 1.5Gi`},
		{pod(
			"topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]"),
			`spec.topologySpreadConstraints[1]: item 0 of the list has the same topologyKey "z" and whenUnsatisfiable "DoNotSchedule"`},
		{"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: 12}, data: {b: secret}}",
			"stringData.a: must be a string, not an integer; data.b: is not valid base64"},
		{"{apiVersion: v1, kind: Pods, metadata: {name: s}}", "kind: Kubernetes " + Newest() + " has no v1 Pods"},
		{"{apiVersion: v1, kind: Event, metadata: {name: s}, involvedObject: {}, firstTimestamp: today}",
			`firstTimestamp: "today" is not a time such as 2006-01-02T15:04:05Z`},
	} {
		for _, r := range resources(t, c.text) {
			if got := joined(v.Check(r)); got != c.want {
				t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
			}
		}
	}
}

// TestTableHasNoDuplicateFields checks that no kind has a field twice in one release, and that each
// kind exists in some release.
func TestTableHasNoDuplicateFields(t *testing.T) {
	schemas := 0
	for k := range openapi.Kinds() {
		if k.From > k.To || k.To > openapi.Newest {
			t.Errorf("%+v", k)
		}
	}
	for minor := oldest; minor <= openapi.Newest; minor++ {
		r := &release{minor: minor, schemas: map[openapi.Node]*schema{}}
		var visit func(s *schema)
		seen := map[*schema]bool{}
		visit = func(s *schema) {
			if seen[s] {
				return
			}
			seen[s] = true
			names := map[string]bool{}
			for f := range s.node.Fields() {
				if f.From <= minor && minor <= f.To {
					if names[f.Name] {
						t.Errorf("1.%d: %s occurs twice", minor, f.Name)
					}
					names[f.Name] = true
				}
			}
			for _, name := range slices.Sorted(func(yield func(string) bool) {
				for name := range s.fields {
					if !yield(name) {
						return
					}
				}
			}) {
				visit(r.of(s.fields[name]))
			}
			for _, p := range []*property{s.elem, s.more} {
				if p != nil {
					visit(r.of(p))
				}
			}
		}
		for k := range openapi.Kinds() {
			if k.From <= minor && minor <= k.To {
				visit(r.schema(k.Node))
			}
		}
		schemas += len(seen)
	}
	if schemas < 10000 {
		t.Errorf("%d schemas", schemas)
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]int{"": openapi.Newest, "latest": openapi.Newest, "1.31": 31, "v1.29.3": 29, "1.30.0-rc.1": 30,
		"1.16": 16} {
		if got, err := ParseVersion(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "1.", "1.x", "2.1", "1.15", "1.99", "31", "1.-3"} {
		if got, err := ParseVersion(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// crd returns a CustomResourceDefinition of the kind Shop with a schema for its spec.
func crd(schema string) string {
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops.example.org}, spec: {group: example.org, names: {kind: Shop}, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: " + schema +
		"}}}}]}}"
}

func TestCustomResourcesFollowDefinitions(t *testing.T) {
	for _, c := range []struct{ schema, spec, want string }{
		{"{type: object, properties: {a: {type: integer, format: int32}}}", "{a: 5000000000}",
			"spec.a: 5000000000 does not fit in 32 bits"},
		{"{type: object, properties: {a: {type: integer, exclusiveMinimum: true, minimum: 0}}}",
			"{a: 0}", "spec.a: 0 is too small: the minimum is 0, exclusive"},
		{"{type: object, properties: {a: {type: number, multipleOf: 0.1}}}", "{a: 0.3}", ""},
		{"{type: object, properties: {a: {type: number, multipleOf: 2}}}", "{a: 3}", "spec.a: 3 is not a multiple of 2"},
		{"{type: object, properties: {a: {type: string, nullable: true}}}", "{a: null}", ""},
		{"{type: object, properties: {a: {type: string}}}", "{a: null, b: null}", "spec.b: unknown field"},
		{"{type: object, additionalProperties: {type: string}}", "{a: b, c: 1}", "spec.c: must be a string, not the integer 1"},
		{"{type: object, additionalProperties: true}", "{a: b, c: 1}", ""},
		{"{x-kubernetes-preserve-unknown-fields: true}", "[1, 2]", ""},
		{"{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^[0-9]+%$'}", "5", ""},
		{"{x-kubernetes-int-or-string: true, pattern: '^[0-9]+%$'}", "5x", `spec: "5x" does not match the pattern ^[0-9]+%$`},
		{"{type: string, pattern: '(?!a)b'}", "c", ""}, // not a valid RE2 regular expression
		{"{type: string, format: date}", "2020-02-30", `spec: "2020-02-30" is not a valid date`},
		{"{type: string, format: cidr}", "10.0.0.0/8", ""},
		{"{type: string, format: password}", "anything", ""},
		{"{type: object, minProperties: 1, properties: {a: {type: string}}}", "{}", "spec: has 0 fields, but needs at least 1"},
		{"{type: array, items: {type: string}, maxItems: 1}", "[a, b]", "spec: has 2 items, but may have at most 1"},
		{"{type: integer, enum: [1, 2]}", "3", "spec: 3 is not one of 1, 2"},
		{"{type: object, properties: {a: {type: string}}, not: {required: [a]}}", "{a: x}", "spec: is ruled out by its schema (not)"},
		{"{type: object, properties: {a: {type: string}}, anyOf: [{required: [a]}, {properties: {a: {enum: [z]}}, required: [a]}]}",
			"{}", "spec: matches none of the 2 allowed forms"},
		{"{type: object, properties: {a: {type: string}}, allOf: [{properties: {a: {minLength: 3}}}]}", "{a: x}",
			"spec.a: has 1 character, but needs at least 3"},
		{"{type: object, properties: {a: {type: object, properties: {b: {type: integer}}}}, allOf: [{properties: {a: {properties: {b: {maximum: 3}}}}}]}",
			"{a: {b: 5}}", "spec.a.b: 5 is too large: the maximum is 3"}, // types are not allowed within allOf
		{"{type: array, x-kubernetes-list-type: set, items: {x-kubernetes-int-or-string: true}}", "[1, '1', 1]",
			"spec[2]: is the same as item 0 of the list"},
		{"{type: array, minItems: 3, items: {type: string}}", "{}", "spec: must be a list, not a mapping"},
		{"{type: object, required: [a], properties: {a: {type: string, default: x}}}", "{}", ""},
		{"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object, properties: {a: {type: integer}}}}", "[{a: 1}, {a: 1}]", `spec[1]: item 0 of the list has the same a 1`},
	} {
		t.Run(c.schema, func(t *testing.T) {
			definitions := resources(t, crd(c.schema))
			shop := resources(t, "{apiVersion: example.org/v1, kind: Shop, metadata: {name: s}, spec: "+c.spec+"}")[0]
			findings, known := New(openapi.Newest).CheckWith(shop, []yaml.Value{definitions[0].Value()})
			if got := joined(findings); got != c.want || !known {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestOldDefinition checks that v1beta1 definitions preserve unknown fields and have one schema for
// all versions.
func TestOldDefinition(t *testing.T) {
	const text = "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: shops.example.org}, spec: {group: example.org, version: v1, names: {kind: Shop}, %s" +
		"validation: {openAPIV3Schema: {properties: {spec: {type: object, properties: {a: {type: string}}}}}}}}"
	shop := resources(t, "{apiVersion: example.org/v1, kind: Shop, metadata: {name: s}, spec: {a: 1, b: 2}}")[0]
	for extra, want := range map[string]string{
		"":                               "spec.a: must be a string, not the integer 1",
		"preserveUnknownFields: false, ": "spec.a: must be a string, not the integer 1; spec.b: unknown field",
	} {
		findings, _ := New(openapi.Newest).CheckWith(shop, []yaml.Value{resources(t, fmt.Sprintf(text, extra))[0].Value()})
		if got := joined(findings); got != want {
			t.Errorf("%q: got %s", extra, got)
		}
	}
}

// TestSeveralDefinitions checks that an object must match only one of several definitions of its
// kind.
func TestSeveralDefinitions(t *testing.T) {
	one, two := resources(t, crd("{type: string}"))[0].Value(), resources(t, crd("{type: integer}"))[0].Value()
	shop := resources(t, "{apiVersion: example.org/v1, kind: Shop, metadata: {name: s}, spec: 1}")[0]
	v := New(openapi.Newest)
	if findings, known := v.CheckWith(shop, []yaml.Value{one, two}); len(findings) > 0 || !known {
		t.Error(joined(findings))
	}
	if findings, _ := v.CheckWith(shop, []yaml.Value{one}); len(findings) != 1 {
		t.Error(joined(findings))
	}
	if _, known := v.CheckWith(shop, nil); known {
		t.Error("nobody defines it")
	}
}

// FuzzCheck searches for objects and definitions that crash the validation.
func FuzzCheck(f *testing.F) {
	f.Add(crd("{type: object, properties: {a: {type: integer, minimum: 1, enum: [2]}, b: {x-kubernetes-int-or-string: true}}}"),
		"{a: 1, b: x}")
	f.Add(crd("{type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}"), "[{a: 1}, {a: 1}]")
	f.Add(crd("{oneOf: [{required: [a]}, {not: {anyOf: [{}]}}], allOf: [null], not: {}}"), "null")
	f.Add("{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1beta1, spec: []}", "1")
	f.Fuzz(func(t *testing.T, definition, spec string) {
		v := New(openapi.Newest)
		docs, err := (&yaml.Source{File: "d", Data: []byte(definition)}).Documents()
		if err != nil {
			return
		}
		objects, err := (&yaml.Source{File: "o",
			Data: []byte("apiVersion: example.org/v1\nkind: Shop\nmetadata: {name: a}\nspec: " + spec)}).Documents()
		if err != nil {
			return
		}
		for _, d := range docs {
			v.Check(krm.NewResource(d.Value, nil))
			for _, o := range objects {
				v.CheckWith(krm.NewResource(o.Value, nil), []yaml.Value{d.Value})
				for _, kind := range []string{"Pod", "Secret", "Deployment"} {
					apiVersion := map[string]string{"Deployment": "apps/v1", "Pod": "v1", "Secret": "v1"}[kind]
					v.Check(krm.NewResource(o.Value.With("kind", yaml.Str(kind)).With("apiVersion", yaml.Str(apiVersion)), nil))
				}
			}
		}
	})
}
