package builtins

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLabelsOfLayersAreLinked expects kustomize's result for a base with
//
//	labels: [{pairs: {app: a, x: "1"}, includeSelectors: true}, {pairs: {app: b}}]
//
// and a layer on top of it with
//
//	labels: [{pairs: {app: c, y: "2"}}]
//
// The app of the layer also replaces the app in the selector and in the template.
func TestLabelsOfLayersAreLinked(t *testing.T) {
	list := parsed(t, []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, labels: {own: a}}\n"))
	own := NewFieldSpecs(FieldSpec{Path: "metadata/labels", CreateIfNotPresent: true})
	for _, tr := range []*LabelTransformer{
		{Labels: map[string]string{"app": "a", "x": "1"}, FieldSpecs: DefaultConfig().CommonLabels},
		{Labels: map[string]string{"app": "b"}, FieldSpecs: own},
		{Labels: map[string]string{"app": "c", "y": "2"}, FieldSpecs: own},
	} {
		if err := tr.Configure(Env{}); err != nil {
			t.Fatal(err)
		}
		if err := tr.Transform(list, nil); err != nil {
			t.Fatal(err)
		}
	}
	const want = `apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: c
    own: a
    x: "1"
    "y": "2"
  name: d
spec:
  selector:
    matchLabels:
      app: c
      x: "1"
  template:
    metadata:
      labels:
        app: c
        x: "1"
`
	if diff := cmp.Diff(want, string(list.AppendYAML(nil))); diff != "" {
		t.Error(diff)
	}
}
