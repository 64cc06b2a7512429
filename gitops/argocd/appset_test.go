package argocd

import (
	"fmt"
	"strings"
	"testing"
)

// set returns an ApplicationSet with the given spec, indented by two spaces.
func set(spec string) string {
	return `-- objects.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: all
  namespace: argocd
spec:
` + spec
}

// template and goTemplate are templates with one parameter in their names.
const (
	fastSpec = `  template:
    metadata:
      name: 'a-{{name}}'
    spec:
      project: default
      source: {repoURL: bad:x, path: 'p/{{x}}'}
      destination: {namespace: '{{ns}}'}
`
	goSpec = `  goTemplate: true
  goTemplateOptions: [missingkey=error]
  template:
    metadata:
      name: 'a-{{.name}}'
    spec:
      project: default
      source: {repoURL: bad:x, path: 'p/{{.x}}'}
`
)

// generated returns the name, path and namespace of each Application, and the errors of the set.
func generated(w *world) string {
	var b strings.Builder
	for _, r := range Roots(&w.env) {
		if r.Object.Kind == "Application" {
			spec := r.Object.Value.Get("spec")
			fmt.Fprintf(&b, "%s %s %s\n", r.Object.Name, spec.At("source", "path").Text(), spec.At("destination", "namespace").Text())
			continue
		}
		for _, err := range r.Errs {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

const secrets = `---
apiVersion: v1
kind: Secret
metadata:
  name: two
  labels: {argocd.argoproj.io/secret-type: cluster, env: prod}
  annotations: {region: eu}
data:
  name: VHdvLkI=
  server: aHR0cHM6Ly90d28=
  config: e30=
---
apiVersion: v1
kind: Secret
metadata:
  name: one
  labels: {argocd.argoproj.io/secret-type: cluster, env: dev}
stringData: {name: one, server: "https://one"}
`

func TestGenerators(t *testing.T) {
	for name, tc := range map[string]struct{ archive, want string }{
		"list": {set(fastSpec + `  generators:
  - list:
      elements:
      - {name: one, x: a, values: {v: b}}
      - {name: two, x: b, ns: n}
`), "a-one p/a {{ns}}\na-two p/b n\n"},
		"list of numbers": {set(fastSpec + "  generators:\n  - list:\n      elements: [{name: 1}]\n"),
			"error: objects.yaml:16: spec.generators[0].list.elements[0].name: must be a string, not an integer\n  put it in quotes, or set goTemplate: true\n"},
		"go template": {set(goSpec + `  generators:
  - list:
      elements:
      - {name: 1, x: a}
      - {name: two}
      elementsYaml: |
        - {name: three, x: '{{ 3 }}'}
`),
			"a-1 p/a\na-three p/{{ 3 }}\nerror: objects.yaml:14: spec.template.spec.source.path: cannot render the Go template: 1:4: executing \"\" at <.x>: map has no entry for key \"x\"\n"},
		"git directories": {set(strings.NewReplacer("{{name}}", "{{path.basenameNormalized}}", "{{x}}", "{{path[1]}}-{{values.v}}").Replace(fastSpec)+`  generators:
  - git:
      repoURL: `+own+`
      revision: main
      directories:
      - path: apps/*
      - path: apps/c
        exclude: true
      values: {v: '{{path.basename}}!'}
`) + "-- apps/A_b/x --\n-- apps/b/x --\n-- apps/c/x --\n-- apps/.d/x --\n-- apps/b/e/x --\n",
			"a-a-b p/A_b-A_b! {{ns}}\na-b p/b-b! {{ns}}\n"},
		"git files": {set(strings.NewReplacer("{{.name}}", "{{.g.path.basename}}", "{{.x}}", "{{.x.y}}-{{index .g.path.segments 1}}-{{.g.path.filename}}").Replace(goSpec)+`  generators:
  - git:
      repoURL: `+own+`
      revision: main
      pathParamPrefix: g
      files:
      - path: apps/**/config.json
      - path: apps/skip/*
        exclude: true
`) +
			"-- apps/one/config.json --\n{\"x\": {\"y\": 1}}\n-- apps/two/d/config.json --\n[{\"x\": {\"y\": 2}}, {\"x\": {\"y\": 3}}]\n-- apps/skip/config.json --\n{}\n",
			"a-one p/1-one-config.json\na-d p/2-two-config.json\na-d p/3-two-config.json\n"},
		"clusters": {set(strings.NewReplacer("{{x}}", "{{metadata.labels.env}}/{{server}}/{{nameNormalized}}", "{{ns}}", "{{values.r}}").Replace(fastSpec) + `  generators:
  - clusters:
      values: {r: '{{metadata.annotations.region}}'}
` + secrets), `a-in-cluster p/{{metadata.labels.env}}/https://kubernetes.default.svc/in-cluster {{metadata.annotations.region}}
a-one p/dev/https://one/one {{metadata.annotations.region}}
a-Two.B p/prod/https://two/two.b eu
`},
		"cluster selector": {set(strings.Replace(goSpec, "{{.x}}", "{{.metadata.labels.env}}", 1)+`  generators:
  - clusters:
      selector: {matchExpressions: [{key: env, operator: In, values: [prod, test]}]}
`+secrets) + "-- clusters.yaml --\n- {name: file, server: 'https://f', metadata: {labels: {env: test}}}\n", "a-Two.B p/prod\na-file p/test\n"},
		"flat list": {set(strings.NewReplacer("{{.name}}", "{{len .clusters}}", "{{.x}}", "{{range .clusters}}{{.name}},{{end}}").
			Replace(goSpec) +
			"  generators:\n  - clusters: {flatList: true}\n" + secrets), "a-3 p/in-cluster,one,Two.B,\n"},
		"matrix": {set(fastSpec+`  generators:
  - matrix:
      generators:
      - list: {elements: [{name: one, dir: apps}, {name: two, dir: more}]}
      - git:
          repoURL: `+own+`
          revision: main
          directories: [{path: '{{dir}}/*'}]
          values: {x: '{{path.basename}}'}
`) + "-- apps/a/x --\n-- apps/b/x --\n-- more/c/x --\n", "a-one p/{{x}} {{ns}}\na-one p/{{x}} {{ns}}\na-two p/{{x}} {{ns}}\n"},
		"matrix of go templates": {set(goSpec + `  generators:
  - matrix:
      generators:
      - list: {elements: [{name: one, n: {a: 1}}]}
      - list: {elements: [{x: '{{.n.a}}', n: {a: 2, b: 3}, name: other}]}
`), "a-one p/1\n"},
		"merge": {set(goSpec + `  generators:
  - merge:
      mergeKeys: [name]
      generators:
      - list: {elements: [{name: one, x: a}, {name: two, x: b}]}
      - list: {elements: [{name: two, x: c}, {name: three, x: d}]}
`), "a-one p/a\na-two p/c\n"},
		"nested too deeply": {set(goSpec + `  generators:
  - matrix:
      generators:
      - list: {elements: [{a: b}]}
      - matrix:
          generators:
          - list: {elements: [{c: d}]}
          - merge: {mergeKeys: [name], generators: []}
`),
			"error: objects.yaml:22: spec.generators[0].matrix.generators[1].matrix.generators[1]: generators are nested too deeply: at most two levels of matrix and merge are allowed\n"},
		"selector": {set(goSpec + `  generators:
  - list: {elements: [{name: one, x: a, n: {m: 1}}, {name: two, x: b}]}
    selector: {matchLabels: {n.m: "1"}}
`), "a-one p/a\n"},
		"template of a generator": {set(goSpec + `  generators:
  - list:
      elements: [{name: one, x: a}]
      template:
        metadata: {name: ''}
        spec: {source: {path: 'q/{{.x}}'}, destination: {namespace: own}}
`), "a-one q/a own\n"},
		"templatePatch": {set(goSpec + `  templatePatch: |
    spec:
      project: other
      destination: {namespace: '{{.name}}'}
  generators:
  - list: {elements: [{name: one, x: a}]}
`), "a-one p/a one\n"},
		"duplicate name": {set(goSpec + "  generators:\n  - list: {elements: [{name: one, x: a}, {name: one, x: b}]}\n"),
			"a-one p/a\na-one p/b\n"},
		"refused": {set(goSpec + "  generators:\n  - pullRequest: {}\n  - list: {elements: [{name: one, x: a}]}\n"),
			"a-one p/a\nerror: objects.yaml:16: spec.generators[0].pullRequest: the generator pullRequest is not run: it asks a hosting service for pull requests\n"},
		"bad option": {set(strings.Replace(goSpec, "missingkey=error", "missingkey=eror", 1) + "  generators: []\n"),
			"error: objects.yaml:8: spec.goTemplateOptions[0]: \"missingkey=eror\" is not an option of Go templates\n  did you mean \"missingkey=error\"?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.archive)
			if got := generated(w); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestGeneratedFieldsHavePlaces(t *testing.T) {
	w := newWorld(t, set(goSpec+`  generators:
  - matrix:
      generators:
      - git:
          repoURL: `+own+`
          revision: main
          files: [{path: c.yaml}]
      - list:
          elements:
          - x: '{{.dir}}'
`)+`-- c.yaml --
name: one
dir: d
`)
	roots := Roots(&w.env)
	if len(roots) != 1 || len(roots[0].Files) != 1 || len(roots[0].Uses) != 1 {
		t.Fatalf("%+v", roots)
	}
	o := roots[0].Object
	for field, want := range map[string]string{"metadata.name": "/own/c.yaml:1", "spec.source.path": "/own/c.yaml:2",
		"spec.project": "objects.yaml:13"} {
		var path []any
		for _, key := range strings.Split(field, ".") {
			path = append(path, key)
		}
		if got := o.Place(path...).Pos().String(); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

func TestClusterSecretsStayPrivate(t *testing.T) {
	w := newWorld(t, set(goSpec+`  generators:
  - clusters: {}
    selector: {matchLabels: {config: '{}'}}
`+secrets))
	if got := generated(w); got != "" {
		t.Errorf("got %s", got)
	}
}
