package builtins

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestReplacementSlots compares chained replacements, which write in place, with single ones, for
// random replacements: results, recorded names and texts, errors and warnings. It also checks that
// lists that share resources in between do not change.
func TestReplacementSlots(t *testing.T) {
	written := 0
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		pick := func(options ...string) string { return options[rnd.IntN(len(options))] }
		text := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: secret-value, b: main}\n---\n" +
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {l: x}}\ndata: {a: one, b: \"8080\", n: 7, m: {x: y}, e: main-two}\n"
		for i := range 5 {
			text += fmt.Sprintf("---\napiVersion: apps/v1\nkind: Deployment\n"+
				"metadata: {name: d%d, labels: {l: %s}, annotations: {t: 'a-b'}}\n"+
				"spec: {replicas: %s, template: {spec: {containers: [{name: main, image: x, env: [{name: A, value: a}, {name: AB, value: \"%s\"}]},"+
				" {name: main-two, env: [{name: A, value: b}%s]}]}}, doc: '{\"a\": {\"b\": 1}}'}\n",
				i, pick("x", "y"), pick("1", "two"), pick("1", "p/q/r"), pick("", ", {name: A, value: [c]}", ", {value: d}", ", {name: B}"))
		}
		config := ""
		for range 2 + rnd.IntN(5) {
			source := "source: {kind: ConfigMap, name: c, fieldPath: data." + pick("a", "a", "a", "b", "b", "e", "n", "m", "zz") + "}"
			switch rnd.IntN(8) {
			case 0:
				source = "source: {kind: Deployment, name: d0" +
					pick("", ", fieldPath: spec.replicas", ", fieldPath: 'metadata.annotations.t'") + "}"
			case 1:
				source = "source: {kind: Secret, name: s, fieldPath: stringData." + pick("a", "b") + "}"
			case 2:
				source = "source: {kind: ConfigMap, name: c}"
			case 3:
				source = "sourceValue: " + pick("x", "'9'", "main")
			}
			config += "- " + source + "\n  targets:\n"
			for range 1 + rnd.IntN(2) {
				config += "  - select: {" + pick("kind: Deployment", "kind: Deployment", "kind: Deployment, name: d1",
					"name: 'd[23]'", "kind: Foo", "labelSelector: l=x", "{}", "kind: ConfigMap")
				config = strings.ReplaceAll(config, "{{}", "{") + "}\n"
				if rnd.IntN(3) == 0 {
					config += "    reject: [{name: " + pick("d1", "s", "c", "'.*'") + "}]\n"
				}
				config += "    fieldPaths:\n"
				for range 1 + rnd.IntN(2) {
					config += "    - '" + pick("spec.template.spec.containers.[name=main].env.[name=A].value",
						"spec.template.spec.containers.[name=main].env.[name=A].value",
						"spec.template.spec.containers.[name=main].env.[name=AB].value", "spec.template.spec.containers.[name=main-two].image",
						"spec.template.spec.containers.[name=main].env.[name=A].name", "spec.template.spec.containers.[name=main].name",
						"spec.template.spec.containers.*.env.0.value", "spec.template.spec.containers.[name=main]", "spec.replicas",
						"spec.new.field",
						"metadata.annotations.t", "metadata.annotations.new", "metadata.labels.l", "metadata.name",
						"metadata.annotations", "kind", "spec.doc.a.b", "spec.template.spec.containers.[name=ma.n].image") + "'\n"
				}
				config += "    options: {create: " + pick("true", "false") +
					pick("", "", ", delimiter: '/', index: "+pick("0", "1", "-1")) + "}\n"
			}
		}
		whole := rnd.IntN(4) == 0
		compile := func() (ts []*ReplacementTransformer) {
			var all ReplacementTransformer
			if errs := yaml.Decode(yamlValue(t, "replacements:\n"+config), &all); errs != nil {
				t.Fatal(errs, config)
			}
			for _, r := range all.Replacements {
				ts = append(ts, &ReplacementTransformer{Replacements: []Replacement{r}})
			}
			if whole {
				ts = []*ReplacementTransformer{&all}
			}
			for _, tr := range ts {
				if err := tr.Configure(fileEnv(nil)); err != nil {
					t.Fatal(err)
				}
			}
			return ts
		}
		prepare := func() *krm.List {
			list := resourceList(t, text)
			if seed%4 == 0 { // strings that are linked, and resources with state
				add := &AnnotationsTransformer{Annotations: map[string]string{"link": "v"}, FieldSpecs: DefaultConfig().CommonAnnotations}
				prefix := &PrefixTransformer{Prefix: "", FieldSpecs: DefaultConfig().NamePrefix}
				for _, b := range []Transformer{add, prefix} {
					if err := b.Configure(Env{}); err != nil {
						t.Fatal(err)
					}
					if err := b.Transform(list, noWarn); err != nil {
						t.Fatal(err)
					}
				}
			}
			return list
		}
		list, want := prepare(), prepare()
		var said, wantSaid []string
		var err, wantErr error
		ts := compile()
		ChainReplacements(ts)
		var before []*krm.List
		var texts []string
		for i := 0; i < len(ts) && err == nil; i++ {
			err = ts[i].Transform(list, told(&said))
			if ts[i].after != nil && err == nil {
				for _, r := range ts[i].after.slots.Load().resources {
					written += len(r.found)
				}
			}
			if rnd.IntN(4) == 0 {
				before, texts = append(before, list.Clone()), append(texts, string(list.AppendYAML(nil)))
				list = list.Take(krm.HandedOver)
			}
		}
		for _, tr := range compile() {
			for i := 0; i < len(tr.compiled) && wantErr == nil; i++ {
				if err := tr.compiled[i].apply(want, tr.place, nil, told(&wantSaid)); err != nil {
					wantErr = tr.compiled[i].placed(err)
				}
			}
		}
		for i, list := range before {
			if string(list.AppendYAML(nil)) != texts[i] {
				t.Fatalf("seed %d: clone %d has changed for\n%s", seed, i, config)
			}
		}
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || !cmp.Equal(said, wantSaid) {
			t.Fatalf("seed %d: got %v %q, want %v %q for\n%s", seed, err, said, wantErr, wantSaid, config)
		}
		if err != nil {
			continue
		}
		if got, want := string(list.AppendYAML(nil)), string(want.AppendYAML(nil)); got != want {
			t.Fatalf("seed %d: got\n%s\nwant\n%s\nfor\n%s\n%s", seed, got, want, text, config)
		}
		for i, r := range list.All() {
			if got, want := recorded(r), recorded(want.At(i)); got != want {
				t.Fatalf("seed %d, resource %d: got %s, want %s", seed, i, got, want)
			}
		}
		if list.Size() != want.Size() {
			t.Fatalf("seed %d: got size %d, want %d", seed, list.Size(), want.Size())
		}
	}
	if written < 400 {
		t.Errorf("only %d fields were passed on", written)
	}
}

// recorded returns what replacements record in a resource.
func recorded(r *krm.Resource) string {
	text := fmt.Sprintf("%q %d", r.Taken, r.Room())
	for _, n := range r.NameCopies {
		text += fmt.Sprintf(" %s/%s at %s: %s", n.Kind, n.Name, n.Field, n.Text(r.Value()))
	}
	return text
}
