package flux

import (
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

const helmRepository = `
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: apps}
spec: {url: https://charts.example.com, interval: 1h}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web, namespace: apps}
spec: {url: oci://ghcr.io/team/charts/web, interval: 1h, ref: {semver: 1.x}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: db, namespace: apps}
spec: {chart: db, version: 2.0.0, interval: 1h, sourceRef: {kind: HelmRepository, name: charts}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: apps}
data:
  values.yaml: |
    image: {name: a, tag: "1"}
    list: [1, 2]
    other: true
  replicas: "5"
  args: x,b.c=y
---
apiVersion: v1
kind: Secret
metadata: {name: private, namespace: apps}
stringData:
  values.yaml: |
    image: {tag: "2"}
    password: correct-horse
  token: hunter222
`

func helmRelease(spec string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec:\n" + indent(spec) +
		helmRepository + gitRepository
}

const fromCharts = "chart: {spec: {chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: charts}}}\n"

func TestRelease(t *testing.T) {
	const top = "apiVersion: kustomize.config.k8s.io/v1beta1\n"
	tests := []struct{ name, spec, want string }{
		{"repository", fromCharts, top + `helmCharts:
- includeCRDs: true
  name: web
  namespace: apps
  releaseName: web
  repo: https://charts.example.com
  skipTests: true
  version: 1.2.3
kind: Kustomization
`},
		{"values", fromCharts + `targetNamespace: prod
install: {crds: Skip, disableHooks: true}
test: {enable: true}
valuesFrom:
- {kind: ConfigMap, name: values}
- {kind: Secret, name: private}
- {kind: ConfigMap, name: values, valuesKey: replicas, targetPath: "scale.items[1].n"}
- {kind: ConfigMap, name: values, valuesKey: args, targetPath: "a\\.b"}
- {kind: ConfigMap, name: none, optional: true}
- {kind: ConfigMap, name: values, valuesKey: none, optional: true}
values: {list: [3], image: {pull: null}}
`, top + `helmCharts:
- name: web
  namespace: prod
  releaseName: prod-web
  repo: https://charts.example.com
  skipHooks: true
  valuesInline:
    a.b: x
    b:
      c: "y"
    image:
      name: a
      pull: null
      tag: "2"
    list:
    - 3
    other: true
    password: correct-horse
    scale:
      items:
      - null
      - "n": 5
  valuesMerge: replace
  version: 1.2.3
kind: Kustomization
`},
		{"registry", "chartRef: {kind: OCIRepository, name: web}\nreleaseName: " + strings.Repeat("long-", 11) + "\n", top + `helmCharts:
- includeCRDs: true
  name: web
  namespace: apps
  releaseName: long-long-long-long-long-long-long-long--f04ef9c9b929
  repo: oci://ghcr.io/team/charts
  skipTests: true
  version: 1.x
kind: Kustomization
`},
		{"HelmChart", "chartRef: {kind: HelmChart, name: db}\n", top + `helmCharts:
- includeCRDs: true
  name: db
  namespace: apps
  releaseName: web
  repo: https://charts.example.com
  skipTests: true
  version: 2.0.0
kind: Kustomization
`},
		{"directory", `chart:
  spec:
    chart: ./charts/web
    sourceRef: {kind: GitRepository, name: fleet, namespace: flux-system}
    valuesFiles: [charts/web/prod.yaml]
values: {a: 1}
postRenderers:
- kustomize:
    patches: [{patch: "kind: X"}]
    images: [{name: nginx, newTag: "2"}]
`, top + `helmCharts:
- includeCRDs: true
  name: web
  namespace: apps
  releaseName: web
  skipTests: true
  valuesInline:
    a: 1
    b:
      x: 2
      z: null
    c: null
  valuesMerge: replace
helmGlobals:
  chartHome: .
images:
- name: nginx
  newTag: "2"
kind: Kustomization
patches:
- patch: 'kind: X'
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := newFixture(t, map[string]string{"clusters/a.yaml": helmRelease(test.spec), "charts/web/Chart.yaml": "name: web\n",
				"charts/web/values.yaml": "b: {x: 1, z: 2}\nc: 3\n", "charts/web/prod.yaml": "b: {x: 2}\n"})
			r := only(t, x)
			if len(r.Errs) > 0 || len(x.warnings) > 0 {
				t.Fatal(r.Errs, x.warnings)
			}
			src, err := r.Parts[0].Edit(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			v, _ := src.Value()
			if got := string(yaml.AppendYAML(nil, v)); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
			if (r.Parts[0].Dir == "") != (test.name != "directory") {
				t.Errorf("directory %q", r.Parts[0].Dir)
			}
		})
	}
}

func TestReleaseHidesSecrets(t *testing.T) {
	x := newFixture(t, map[string]string{"clusters/a.yaml": helmRelease(fromCharts + `valuesFrom:
- {kind: Secret, name: private}
- {kind: Secret, name: private, valuesKey: token, targetPath: token}
`)})
	list, _, err := render(t, only(t, x), `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {token: the hunter222}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {n: "2"}
`)
	if err != nil {
		t.Fatal(err)
	}
	if !list.At(0).HoldsSecret() || list.At(1).HoldsSecret() {
		t.Error("the wrong resources are private")
	}
}

func TestReleaseMistakes(t *testing.T) {
	tests := []struct {
		name, spec  string
		errs, warns []string
	}{
		{"no chart", "interval: 1m\n", []string{"clusters/a.yaml:4: spec: the HelmRelease has neither chart nor chartRef"}, nil},
		{"no such key", fromCharts + "valuesFrom: [{kind: Secret, name: private, valuesKey: tokn}]\n", []string{
			"clusters/a.yaml:6: spec.valuesFrom[0]: Secret apps/private has no key \"tokn\"\n  did you mean \"token\"?"}, nil},
		{"not values", fromCharts + "valuesFrom: [{kind: Secret, name: private, valuesKey: token}]\n", []string{
			"clusters/a.yaml:6: spec.valuesFrom[0]: the key token of Secret apps/private is not a file of values (line 1)"}, nil},
		{"target path", fromCharts + "valuesFrom: [{kind: Secret, name: private, valuesKey: token, targetPath: 'a[x]'}]\n", []string{
			"clusters/a.yaml:6: spec.valuesFrom[0].targetPath: " + errSet.Error()}, nil},
		{"files of values", strings.Replace(fromCharts, "chart: web", "chart: web, valuesFiles: [values-prod.yaml]", 1), []string{
			"clusters/a.yaml:5: spec.chart.spec.valuesFiles: files of values in a chart from a HelmRepository are not supported\n" +
				"  copy their content to spec.values"}, nil},
		{"unknown field", fromCharts + "install: {crd: Skip}\n", nil, []string{
			"clusters/a.yaml:6: spec.install.crd: unknown field \"crd\"\n  did you mean \"crds\"?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := newFixture(t, map[string]string{"clusters/a.yaml": helmRelease(test.spec)})
			r := only(t, x)
			if got := errsOf(r); !slices.Equal(got, test.errs) {
				t.Errorf("errors %q, want %q", got, test.errs)
			}
			if !slices.Equal(x.warnings, test.warns) {
				t.Errorf("warnings %q, want %q", x.warnings, test.warns)
			}
		})
	}
}

func TestReleaseDuplicates(t *testing.T) {
	x := newFixture(t, map[string]string{"clusters/web.yaml": helmRelease(fromCharts + "targetNamespace: shop\n")})
	_, _, err := render(t, only(t, x), `apiVersion: v1
kind: ConfigMap
metadata: {name: m}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: shop}
`)
	if err == nil || diag.CodeOf(err) != diag.SameID || !strings.Contains(err.Error(), "ConfigMap shop/m (already at in.yaml:1)") {
		t.Errorf("got %v", err)
	} else if hints := diag.AsError(err).Hints; len(hints) != 2 || hints[0] != "the other one is at in.yaml:5" {
		t.Errorf("got hints %q", hints)
	}
}

func TestParseSet(t *testing.T) {
	for _, test := range []struct {
		target, value string
		literal       bool
		want          string
	}{
		{"a", "1", false, "a: 1\n"},
		{"a", "01", false, "a: \"01\"\n"},
		{"a", "TRUE", false, "a: true\n"},
		{"a", "null", false, "a: null\n"},
		{"a", `"1"`, false, "a: \"1\"\n"},
		{"a", "{x,2}", false, "a:\n- x\n- 2\n"},
		{"a", "{}", false, "a:\n- \"\"\n"},
		{"a", `x\,y`, false, "a: x,y\n"},
		{"a", "x,b=2", false, "a: x\nb: 2\n"},
		{"a", "x,b=2", true, "a: x,b=2\n"},
		{"a.b[1].c", "x", false, "a:\n  b:\n  - null\n  - c: x\n"},
		{"a[0][1]", "x", false, "a:\n- - null\n  - x\n"},
		{"a", "x,b", false, errSet.Error()},
		{"a.", "x", false, errSet.Error()},
		{"a", "{x", false, errSet.Error()},
	} {
		list, err := parseSet(test.target, test.value, test.literal)
		v := yaml.MapOf()
		for _, a := range list {
			if err == nil {
				v, err = a.Set(v)
			}
		}
		got := string(yaml.AppendYAML(nil, v))
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s=%s: %q, want %q", test.target, test.value, got, test.want)
		}
	}
}
