package lint

import (
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const benchObject = `
spec:
  template:
    spec:
      containers:
      - name: main
        image: a:1
        env: [{name: A, value: a}, {name: B, value: b}]
        ports: [{containerPort: 80, name: http}]
        volumeMounts: [{name: config, mountPath: /c}]
      volumes: [{name: config}]
`

// BenchmarkCheck examines a patch of a kind with a schema and of a kind without.
func BenchmarkCheck(b *testing.B) {
	for _, header := range []string{"apiVersion: apps/v1\nkind: Deployment", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout"} {
		v, err := (&yaml.Source{Data: []byte(header + benchObject)}).Value()
		if err != nil {
			b.Fatal(err)
		}
		p := &Patch{Value: v}
		gvk := krm.ParseGVK(v.Get("apiVersion").Text(), v.Get("kind").Text())
		b.Run(gvk.Kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Check(gvk, v, v, func(f Finding) { b.Fatal(f.Msg) })
			}
		})
	}
}
