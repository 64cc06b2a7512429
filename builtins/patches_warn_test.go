package builtins

import (
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// transform configures a step, runs it on the resources in text, and returns the list and the
// warnings.
func transform(t *testing.T, step Transformer, text string) (*krm.List, []string, error) {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "r.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := step.Configure(Env{}); err != nil {
		return nil, nil, err
	}
	list := krm.NewList(rs...)
	var warnings []string
	err = step.Transform(list, told(&warnings))
	return list, warnings, err
}

const twoMaps = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: prod}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {a: b}
`

func TestPatchWarnings(t *testing.T) {
	for _, tc := range []struct {
		step Transformer
		want string
	}{
		{&PatchTransformer{Patch: "{kind: x, metadata: {name: x}}", Target: &Selector{Kind: "Secret"}},
			"the target (kind=Secret) matches no resource"},
		{&PatchTransformer{Patch: "{kind: x, metadata: {name: x}, data: {a: b}}", Target: &Selector{Name: "other"}},
			"the patch changes nothing"},
		{&PatchTransformer{Patch: "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: b, c: null}}"},
			"the patch for v1 ConfigMap other changes nothing"},
		{&PatchTransformer{Patch: "- {op: add, path: /data/a, value: b}", Target: &Selector{}}, "the patch changes nothing"},
		{&PatchTransformer{Patch: "- {op: add, path: /data/a, value: c}", Target: &Selector{Name: "x.*"}},
			"the target (name=x.*) matches no resource"},
		{&PatchJson6902Transformer{JsonOp: "- {op: test, path: /data/a, value: b}", Target: &Selector{Name: "other"}},
			"the patch changes nothing"},
		{&PatchStrategicMergeTransformer{Patches: "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}"},
			"the patch for v1 ConfigMap other changes nothing"},
		{&PatchTransformer{Patch: "- {op: add, path: /data/a, value: c}", Target: &Selector{Name: "other"}}, ""},
		{&PatchTransformer{Patch: "{kind: x, metadata: {name: x}, data: {a: c}}", Target: &Selector{}}, ""},
	} {
		_, warnings, err := transform(t, tc.step, twoMaps)
		if err != nil || strings.Join(warnings, "\n") != tc.want {
			t.Errorf("%+v: got %q, %v, want %q", tc.step, warnings, err, tc.want)
		}
	}
}

func TestPatchErrors(t *testing.T) {
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	for _, tc := range []struct {
		step Transformer
		want string
	}{
		{&PatchTransformer{}, "one of path and patch must be given"},
		{&PatchTransformer{Patch: object, Path: "p"}, "path and patch cannot both be given"},
		{&PatchTransformer{Patch: object, Target: &Selector{Name: "("}}, "target.name: no regular expression: missing closing ): `(`"},
		{&PatchTransformer{Patch: object, Target: &Selector{LabelSelector: "("}}, "target: labelSelector \"(\": found '(', expected a key"},
		{&PatchTransformer{Patch: "{kind: A}"}, "neither a strategic merge patch nor a JSON patch: the A has no metadata.name"},
		{&PatchTransformer{Patch: "- {op: 1}"}, "a JSON patch needs a target"},
		{&PatchTransformer{Patch: "[1]"},
			"neither a strategic merge patch nor a JSON patch: operation 1 must be a mapping, and is of type integer"},
		{&PatchTransformer{Patch: object}, "no resource matches the patch for v1 ConfigMap a"},
		{&PatchTransformer{Patch: strings.Replace(object, "name: a", "name: settings", 1)},
			"no resource matches the patch for v1 ConfigMap settings\n  did you mean v1 ConfigMap prod/settings?"},
		{&PatchTransformer{Patch: strings.Replace(object, "name: a", "name: otter", 1)},
			"no resource matches the patch for v1 ConfigMap otter\n  did you mean \"other\"?"},
		{&PatchTransformer{Patch: strings.Replace(object, "a}", "a}, data: [x]", 1), Target: &Selector{Name: "other"}},
			"v1 ConfigMap other (r.yaml:6): data: a list cannot replace a mapping"},
		{&PatchTransformer{Patch: strings.Replace(object, "a}", "a}, data: {$patch: no}", 1), Target: &Selector{Name: "other"}},
			"v1 ConfigMap other (r.yaml:6): data: unknown value \"no\" of $patch: must be delete, replace or merge"},
		{&PatchTransformer{Patch: object, Target: &Selector{}, Options: &PatchOptions{AllowNameChange: true}}, ""},
		{&PatchStrategicMergeTransformer{}, "one of paths and patches must be given"},
		{&PatchStrategicMergeTransformer{Patches: "# nothing"}, "the patches are empty"},
		{&PatchJson6902Transformer{JsonOp: "[]"}, "the target must have a name\nthe patch is empty"},
		{&PatchJson6902Transformer{JsonOp: "[]", Target: &Selector{Name: "a"}}, "the patch is empty"},
		{&PatchJson6902Transformer{Target: &Selector{Name: "a"}}, "one of path and jsonOp must be given"},
	} {
		_, _, err := transform(t, tc.step, twoMaps)
		if !says(err, tc.want) && (tc.want != "" || err != nil) {
			t.Errorf("%+v:\ngot  %v\nwant %s", tc.step, err, tc.want)
		}
	}
}

// TestPatchLeavesOtherListsAlone applies one patch to two lists that share their resources.
func TestPatchLeavesOtherListsAlone(t *testing.T) {
	for _, step := range []Transformer{
		&PatchTransformer{Patch: "{kind: x, metadata: {name: x, annotations: {x: y}}, data: {a: c}}", Target: &Selector{}},
		&PatchTransformer{Patch: "- {op: add, path: /data/a, value: c}", Target: &Selector{}},
		&PatchTransformer{Patch: "{$patch: delete, apiVersion: v1, kind: ConfigMap, metadata: {name: other}}"},
	} {
		rs, err := krm.Resources(&yaml.Source{File: "r.yaml", Data: []byte(twoMaps)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := step.Configure(Env{}); err != nil {
			t.Fatal(err)
		}
		shared := krm.NewList(rs...)
		before := string(shared.AppendYAML(nil))
		var after []string
		for range 2 {
			list := shared.Clone()
			if err := step.Transform(list, func(diag.Code, string, ...any) {}); err != nil {
				t.Fatal(err)
			}
			after = append(after, string(list.AppendYAML(nil)))
		}
		if string(shared.AppendYAML(nil)) != before || slices.ContainsFunc(rs, func(r *krm.Resource) bool { return len(r.Prev) > 0 }) {
			t.Errorf("%+v changed a shared resource", step)
		}
		if after[0] != after[1] || after[0] == before {
			t.Errorf("%+v: got\n%s\nthen\n%s", step, after[0], after[1])
		}
	}
}
