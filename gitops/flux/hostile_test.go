package flux

import (
	"math/rand/v2"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestHostileObjects replaces random parts of valid objects and checks that nothing panics.
func TestHostileObjects(t *testing.T) {
	junk := []yaml.Value{yaml.NullValue, yaml.Str(""), yaml.Str("../../x"), yaml.Str("${"),
		yaml.Number(yaml.Int, "-1"), yaml.BoolValue(true), yaml.SeqOf(), yaml.SeqOf(yaml.NullValue),
		yaml.MapOf(), yaml.MapOf(yaml.Field{Key: "", Value: yaml.NullValue}), yaml.SeqOf(yaml.Str("x")), {}}
	files := map[string]string{
		"clusters/app.yaml": app(`targetNamespace: x
components: [../c]
patches: [{patch: "kind: X", target: {kind: X}}]
images: [{name: nginx, newTag: "2"}]
decryption: {provider: sops}
postBuild: {substitute: {a: b}, substituteFrom: [{kind: ConfigMap, name: values}, {kind: Secret, name: private}]}
commonMetadata: {labels: {a: b}}
dependsOn: [{name: app}]
`),
		"clusters/release.yaml": helmRelease(fromCharts + `valuesFrom:
- {kind: ConfigMap, name: values}
- {kind: Secret, name: private, valuesKey: token, targetPath: "a[1].b"}
values: {a: {b: c}}
postRenderers: [{kustomize: {patches: [{patch: "kind: X"}], images: [{name: x}]}}]
`),
		"app/kustomization.yaml": "resources: [a.yaml]\nimages: [{name: nginx}]\n", "app/a.yaml": "kind: X\n",
	}
	kinds := map[string]int{}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := newFixture(t, files)
		for range 1 + r.IntN(2) {
			o := x.Objects[r.IntN(len(x.Objects))]
			o.Value = mutate(r, o.Value, junk)
		}
		for _, root := range Roots(x.Env) {
			kinds[root.Object.Kind]++
			for _, p := range root.Parts {
				old := &yaml.Source{File: "kustomization.yaml", Data: []byte(files["app/kustomization.yaml"])}
				if r.IntN(2) == 0 {
					old = nil
				}
				if src, err := p.Edit(localDir(x.dir+"/app"), old); err == nil {
					v, _ := src.Value()
					yaml.AppendYAML(nil, v)
				}
			}
			for _, s := range root.Steps {
				src := &yaml.Source{File: "in.yaml", Data: []byte("apiVersion: v1\nkind: X\nmetadata: {name: '${a}'}\n")}
				rs, err := krm.Resources(src, nil)
				if err != nil {
					t.Fatal(err)
				}
				_ = s.Transform(krm.NewList(rs...), func(diag.Code, string, ...any) {})
			}
		}
	}
	if kinds["Kustomization"] < 250 || kinds["HelmRelease"] < 250 {
		t.Errorf("roots: %v", kinds)
	}
}

// mutate replaces a random part of v.
func mutate(r *rand.Rand, v yaml.Value, junk []yaml.Value) yaml.Value {
	if v.Len() == 0 || v.IsScalar() || r.IntN(6) == 0 {
		return junk[r.IntN(len(junk))]
	}
	i := r.IntN(v.Len())
	if v.Type() == yaml.Seq {
		return v.WithItem(i, mutate(r, v.Items()[i], junk))
	}
	f := v.Fields()[i]
	if x := mutate(r, f.Value, junk); x.Exists() {
		return v.With(f.Key, x)
	}
	return v.Without(f.Key)
}
