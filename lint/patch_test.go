package lint

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

var deployment = krm.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}

func value(t *testing.T, text string) yaml.Value {
	t.Helper()
	v, err := (&yaml.Source{Data: []byte(text)}).Value()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// findings returns the messages for a patch of the object before.
func findings(t *testing.T, s *schema.Schema, apiVersion, kind, before, patch string) string {
	t.Helper()
	p := &Patch{Value: value(t, patch), Schema: s}
	if s != nil {
		p.SchemaAt = func() diag.Pos { return diag.Pos{File: "base/kustomization.yaml", Line: 2} }
	}
	var all []string
	report := func(f Finding) {
		all = append(all, string(f.Code)+" "+diag.FieldPath(f.Path)+": "+f.Msg)
		if f.Hints != nil {
			f.Hints()
		}
	}
	gvk := krm.ParseGVK(apiVersion, kind)
	object := value(t, before).With("apiVersion", yaml.Str(apiVersion)).With("kind", yaml.Str(kind))
	p.Check(gvk, object, object, report)
	n := len(all)
	p.CheckLosses(gvk, object, report)
	if !p.MayLose(gvk) && len(all) > n {
		t.Errorf("%s: the patch loses something, although MayLose is false", patch)
	}
	return strings.Join(all[:n], "\n")
}

func TestPatchReportsLosses(t *testing.T) {
	const no = ": no schema for Custom says how its lists merge"
	for _, tc := range []struct{ before, patch, want string }{
		// Nothing is lost.
		{"{}", "{l: [{name: a}]}", ""},
		{"{l: []}", "{l: [{name: a}]}", ""},
		{"{l: [{name: a, x: 1}]}", "{l: [{name: a, x: 2, y: 3}, {name: b}]}", ""},
		{"{l: [{name: a, x: 1}]}", "{l: null}", ""},
		{"{m: {l: [{name: a, x: 1}]}}", "{m: {$patch: replace, l: [{name: b}]}}", ""},
		{"{m: {l: [{name: a, x: 1}]}}", "{m: {$patch: delete}}", ""},
		// Scalars, and items without names or with the same name.
		{"{l: [a, b]}", "{l: [a]}", ""},
		{"{l: [{x: 1}, {x: 2}]}", "{l: [{x: 3}]}", ""},
		{"{l: [{name: a}, {name: a}]}", "{l: [{name: b}]}", ""},
		// Items and fields.
		{"{l: [{name: a}, {name: b}]}", "{l: [{name: a}]}", "KF0222 l: the patch replaces the list, so item b is lost" + no},
		{"{l: [{name: a, x: 1, v: {z: 1, w: 1}}]}", "{l: [{name: a, v: {z: 2}}]}",
			"KF0222 l: the patch replaces the list, so fields a.x, a.v.w are lost" + no},
		{"{l: [{name: a, m: [{containerPort: 1}, {containerPort: 2, x: 1}]}]}", "{l: [{name: a, m: [{containerPort: 2}]}]}",
			"KF0222 l: the patch replaces the list, so fields a.m[containerPort 1], a.m.2.x are lost" + no},
		{"{l: [{alert: a}, {record: b}]}", "{l: [{alert: a}]}", "KF0222 l: the patch replaces the list, so item record b is lost" + no},
		{"{l: [{metadata: {name: a}, x: 1}]}", "{l: [{metadata: {name: a}}]}",
			"KF0222 l: the patch replaces the list, so field a.x is lost" + no},
		// Directives.
		{"{}", "{l: [{name: a, $patch: delete}]}", "KF0223 l[0].$patch: $patch: delete ends up in the output as data" + no},
		{"{l: [{name: a}, {name: b}]}", "{l: [{name: a, $patch: delete}]}",
			"KF0223 l[0].$patch: $patch: delete ends up in the output as data, and the patch replaces the list, so item b is lost" + no},
		{"{l: [{name: a}]}", "{l: [{$patch: replace}, {name: b}]}",
			"KF0223 l[0].$patch: $patch: replace ends up in the output as data, and the patch replaces the list, so item a is lost" + no},
		{"{l: [{name: a}]}", "{l: [{name: a, x: {$patch: delete}}]}", "KF0223 l[0].x.$patch: $patch ends up in the output as data" + no},
		{"{}", "{$retainKeys: [a], a: 1}",
			"KF0223 $retainKeys: $retainKeys ends up in the output as data: kustomize does not have this directive of kubectl"},
		{"{}", "{$setElementOrder/l: [a]}", "KF0223 $setElementOrder/l: " +
			"$setElementOrder/l ends up in the output as data: kustomize does not have this directive of kubectl"},
		{"{data: {}}", "{data: {$patch: x}}", ""},
		// Objects in objects.
		{"{m: {apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}",
			"{m: {spec: {template: {spec: {containers: [{name: b, image: i}]}}}}}", ""},
	} {
		if got := findings(t, nil, "example.com/v1", "Custom", tc.before, tc.patch); got != tc.want {
			t.Errorf("%s on %s:\ngot  %q\nwant %q", tc.patch, tc.before, got, tc.want)
		}
	}
}

// TestAtomicListsAreNoFindings covers kinds with a schema: lists that are atomic on purpose, and
// lists that the schema does not know.
func TestAtomicListsAreNoFindings(t *testing.T) {
	for _, tc := range []struct{ apiVersion, kind, before, patch, want string }{
		{"apps/v1", "Deployment", "{spec: {template: {spec: {containers: [{name: a, image: i}, {name: b}]}}}}",
			"{spec: {template: {spec: {containers: [{name: a, env: [{name: x}]}]}}}}", ""},
		{"apps/v1", "Deployment", "{spec: {template: {spec: {tolerations: [{key: a}]}}}}",
			"{spec: {template: {spec: {tolerations: [{key: b}]}}}}", ""},
		{"rbac.authorization.k8s.io/v1", "RoleBinding", "{subjects: [{name: a}]}", "{subjects: [{name: b}]}", ""},
		{"autoscaling/v2", "HorizontalPodAutoscaler", "{spec: {metrics: [{name: a}]}}", "{spec: {metrics: [{name: b}]}}", ""},
		{"apps/v1", "Deployment", "{spec: {template: {spec: {resourceClaims: [{name: a}]}}}}",
			"{spec: {template: {spec: {resourceClaims: [{name: b}]}}}}", "KF0222 spec.template.spec.resourceClaims: " +
				"the patch replaces the list, so item a is lost: the schema of Deployment does not have this field"},
	} {
		if got := findings(t, nil, tc.apiVersion, tc.kind, tc.before, tc.patch); got != tc.want {
			t.Errorf("%s %s:\ngot  %q\nwant %q", tc.kind, tc.patch, got, tc.want)
		}
	}
}

func TestCustomSchemas(t *testing.T) {
	s, err := schema.Parse(value(t, `definitions:
  a:
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Custom}]
    properties:
      atomic: {type: array, items: {type: object}}
      map: {type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}
      merged: {type: array, items: {type: object}, x-kubernetes-patch-merge-key: name, x-kubernetes-patch-strategy: merge}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ apiVersion, kind, before, patch, want string }{
		{"example.com/v1", "Custom", "{atomic: [{name: a}]}", "{atomic: [{name: b}]}", ""},
		{"example.com/v1", "Custom", "{merged: [{name: a}]}", "{merged: [{name: b}]}", ""},
		{"example.com/v1", "Custom", "{map: [{name: a}]}", "{map: [{name: b}]}", "KF0222 map: " +
			"the patch replaces the list, so item a is lost: the schema of Custom in base/kustomization.yaml:2 has no patch strategy for it"},
		{"example.com/v1", "Other", "{l: [{name: a}]}", "{l: [{name: b}]}", "KF0222 l: the patch replaces the list, so item a is lost: " +
			"the schema in base/kustomization.yaml:2 applies to the whole build and lacks Other"},
		{"v1", "Service", "{metadata: {finalizers: [a]}, spec: {ports: [{port: 1}]}}",
			"{metadata: {finalizers: [b]}, spec: {ports: [{port: 2}]}}",
			"KF0225 metadata.finalizers: the patch replaces the list, so item a is lost: " +
				"the schema in base/kustomization.yaml:2 applies to the whole build and lacks Service\n" +
				"KF0225 spec.ports: the patch replaces the list, so item port 1 is lost: " +
				"the schema in base/kustomization.yaml:2 applies to the whole build and lacks Service"},
	} {
		if got := findings(t, s, tc.apiVersion, tc.kind, tc.before, tc.patch); got != tc.want {
			t.Errorf("%s %s:\ngot  %q\nwant %q", tc.kind, tc.patch, got, tc.want)
		}
	}
}

func TestOverwritten(t *testing.T) {
	for _, tc := range []struct{ pointer, old, now, want string }{
		{"/metadata/labels", "{a: x}", "{b: y}", "add replaces the existing mapping, so field a is lost"},
		{"/metadata/labels", "{a: x}", "{a: y, b: y}", ""},
		{"/spec/tags", "{team-a: x}", "{b: y}", `add replaces the existing mapping, so field team-a is lost`},
		{"/spec/resources", "{limits: {a: 1}, requests: {a: 1}}", "{limits: {a: 2}}",
			"add replaces the existing mapping, so field requests is lost"},
		{"/spec/storage", "{emptyDir: {}}", "{pvc: {claim: x}}", ""},
		{"/spec/storage", "{emptyDir: {}}", "null", ""},
		{"/spec/args", "[a, b]", "[c]", ""},
		{"/spec/env", "[{name: a}, {name: b}]", "[{name: b}, {name: c}]", "add replaces the existing list, so item a is lost"},
		{"/spec/env", "[{name: a, value: x}]", "[{name: a}]", ""},
		{"/spec/env", "[{name: a}]", "{name: c}", "add replaces the existing list by a mapping, so item a is lost"},
	} {
		got := ""
		now := value(t, tc.now)
		if f := Overwritten(value(t, tc.old), now, now, tc.pointer); f != nil {
			got = f.Msg
			f.Hints()
		}
		if got != tc.want {
			t.Errorf("%s: %s by %s:\ngot  %q\nwant %q", tc.pointer, tc.old, tc.now, got, tc.want)
		}
	}
}
