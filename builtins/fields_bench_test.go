package builtins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

// manyResources returns a list as in a large tree: workloads, services and configuration.
func manyResources(tb testing.TB, n int) *krm.List {
	var b strings.Builder
	for i := range n {
		b.WriteString("---\n")
		switch i % 4 {
		case 0, 1:
			fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web%d, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry/team/app%d:1.2
        env: [{name: A, value: b}, {name: C, value: d}]
        resources: {limits: {cpu: 100m, memory: 1Gi}, requests: {cpu: 10m}}
        volumeMounts: [{name: v, mountPath: /v}]
      volumes: [{name: v, configMap: {name: c}}]
`, i, i%50)
		case 2:
			fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata: {name: web%d}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n",
				i)
		case 3:
			fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {a: b, c: d}\n", i)
		}
	}
	return parsed(tb, []byte(b.String()))
}

func BenchmarkTransformers(b *testing.B) {
	c := DefaultConfig()
	ns := &NamespaceTransformer{FieldSpecs: c.Namespace}
	ns.Metadata.Namespace = "ns"
	for _, bm := range []struct {
		name string
		t    Transformer
	}{
		{"labels", &LabelTransformer{Labels: map[string]string{"team": "a", "env": "prod"}, FieldSpecs: c.CommonLabels}},
		{"annotations", &AnnotationsTransformer{Annotations: map[string]string{"a": "b"}, FieldSpecs: c.CommonAnnotations}},
		{"prefix", &PrefixTransformer{Prefix: "p-", FieldSpecs: c.NamePrefix}},
		{"namespace", ns},
		{"image", &ImageTagTransformer{ImageTag: Image{Name: "registry/team/app7", NewTag: "2"}, FieldSpecs: c.Images}},
		{"replicas", &ReplicaCountTransformer{Replica: Replica{"web8", 3}, FieldSpecs: c.Replicas}},
	} {
		if err := bm.t.Configure(Env{}); err != nil {
			b.Fatal(err)
		}
		b.Run(bm.name, func(b *testing.B) {
			list := manyResources(b, 4000)
			b.ReportAllocs()
			for b.Loop() {
				if err := bm.t.Transform(list.Clone(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
