package builtins

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestLongLists changes a list that is long enough for several goroutines, and compares the result
// with a run on one core.
func TestLongLists(t *testing.T) {
	var text bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, annotations: {a: 1}}\n", i)
		fmt.Fprintf(&text,
			"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}\nspec:\n  template:\n    spec:\n      volumes:\n", i)
		fmt.Fprintf(&text,
			"      - {name: v, configMap: {name: c%d}}\n      serviceAccountName: s%d\n      containers:\n      - {name: c, image: 'image%d:1'}\n", i/3, i%7, i%5)
	}
	docs, err := krm.Resources(&yaml.Source{File: "f.yaml", Data: text.Bytes()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	namespace := &NamespaceTransformer{FieldSpecs: c.Namespace}
	namespace.Metadata.Namespace = "shop"
	images := []*ImageTagTransformer{
		{ImageTag: Image{Name: "image2", NewTag: "2"}, FieldSpecs: c.Images},
		{ImageTag: Image{Name: "image4", NewTag: "4"}, FieldSpecs: c.Images},
		{ImageTag: Image{Name: "image.", NewName: "other"}, FieldSpecs: c.Images},
	}
	ChainImages(images)
	steps := []graph.Transformer{
		images[0], images[1], images[2],
		namespace,
		&PrefixTransformer{Prefix: "a-", FieldSpecs: c.NamePrefix},
		&SuffixTransformer{Suffix: "-z", FieldSpecs: c.NameSuffix},
		&LabelTransformer{Labels: map[string]string{"app": "x"}, FieldSpecs: c.CommonLabels},
		&AnnotationsTransformer{Annotations: map[string]string{"b": "2"}, FieldSpecs: c.CommonAnnotations},
		&Finish{NameReference: c.NameReference, VarReference: c.VarReference, ManagedBy: "krmflow"},
	}
	run := func(cores int) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		list := krm.NewList(docs...).Clone()
		for _, step := range steps {
			if b, ok := step.(Builtin); ok {
				if err := b.Configure(Env{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := step.Transform(list, noWarn); err != nil {
				t.Fatal(err)
			}
		}
		return list.AppendYAML(nil)
	}
	if one, four := run(1), run(4); !bytes.Equal(one, four) || !bytes.Contains(one, []byte("name: a-c665-z")) ||
		bytes.Count(one, []byte("image: other:4")) != 400 {
		t.Error("a list that is changed in parts is another one")
	}
}
