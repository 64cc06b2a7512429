package argocd

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/rogpeppe/go-internal/txtar"
)

// own is the address of the repository on this machine.
const own = "https://git.example/own.git"

// A world is the environment of a test. In its archive, the file objects.yaml contains the objects,
// and all other files are the repository.
type world struct {
	env      gitops.Env
	files    fstest.MapFS
	warnings []string
}

func newWorld(t testing.TB, archive string) *world {
	t.Helper()
	w := &world{files: fstest.MapFS{}}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		src := &yaml.Source{File: f.Name, Data: f.Data}
		switch f.Name {
		case "objects.yaml":
			docs, err := src.Documents()
			if err != nil {
				t.Fatal(err)
			}
			for i, d := range docs {
				gvk := krm.ParseGVK(d.Value.Get("apiVersion").Text(), d.Value.Get("kind").Text())
				meta := d.Value.Get("metadata")
				w.env.Objects = append(w.env.Objects, &gitops.Object{Group: gvk.Group, Kind: gvk.Kind,
					Namespace: meta.Get("namespace").Text(), Name: meta.Get("name").Text(), Value: d.Value, Source: src,
					Doc: i, Tree: "/own"})
			}
		case "clusters.yaml":
			w.env.Clusters = src
		default:
			w.files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	w.env.Repo = func(at yaml.Place, url, revision string) (gitops.Repo, error) {
		switch {
		case url == own:
			return gitops.Repo{Dir: "/own"}, nil
		case strings.HasPrefix(url, "bad:"):
			return gitops.Repo{}, discovery.ErrorAt(at, "refused")
		}
		return gitops.Repo{Ref: func(p string) string { return url + "//" + p + "?ref=" + revision }}, nil
	}
	w.env.Open = func(gitops.Repo) (fs.FS, error) { return w.files, nil }
	w.env.Warn = func(e *diag.Error) { w.warnings = append(w.warnings, e.Error()) }
	return w
}

// dir is the directory of a part.
type dir struct {
	files fstest.MapFS
	path  string
}

func (d dir) Files() ([]string, error) {
	var names []string
	for name := range d.files {
		if rest, ok := strings.CutPrefix(name, d.path+"/"); ok || d.path == "." {
			names = append(names, strings.TrimPrefix(rest, "./"))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (d dir) Read(name string) (*yaml.Source, error) {
	f := d.files[path.Join(d.path, name)]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return &yaml.Source{File: path.Join(d.path, name), Data: f.Data}, nil
}

// edit returns the edited file of a part.
func (w *world) edit(p gitops.Part) (*yaml.Source, error) {
	rel := strings.TrimPrefix(strings.TrimPrefix(p.Dir, "/own"), "/")
	if strings.Contains(p.Dir, "//") { // remote
		_, rel, _ = strings.Cut(strings.TrimPrefix(p.Dir, "https://"), "//")
		rel, _, _ = strings.Cut(rel, "?")
	}
	if rel == "" {
		rel = "."
	}
	d := dir{w.files, rel}
	old, err := d.Read("kustomization.yaml")
	if err != nil {
		old = nil
	}
	return p.Edit(d, old)
}

// appWith returns an Application with the given source, indented by four spaces.
func appWith(source string) string {
	return `-- objects.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
  namespace: argocd
spec:
  project: default
  destination:
    namespace: shop
    server: https://kubernetes.default.svc
  source:
    repoURL: ` + own + "\n" + source
}

// rendered returns the edited files of the parts of the only root, and its errors.
func rendered(t *testing.T, w *world) string {
	t.Helper()
	roots := Roots(&w.env)
	if len(roots) != 1 {
		t.Fatalf("%d roots", len(roots))
	}
	var b strings.Builder
	for _, p := range roots[0].Parts {
		fmt.Fprintf(&b, "# %s\n", p.Dir)
		src, err := w.edit(p)
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
			continue
		}
		v, err := src.Value()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(yaml.AppendYAML(nil, v))
	}
	for _, err := range roots[0].Errs {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	for _, warning := range w.warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	return b.String()
}

func TestApplications(t *testing.T) {
	for name, tc := range map[string]struct{ archive, want string }{
		"kustomize": {appWith(`    path: web
    targetRevision: v1
    kustomize:
      namePrefix: a-
      nameSuffix: -z
      namespace: other
      images:
      - nginx=registry.example/nginx:1.2
      - redis:${ARGOCD_APP_SOURCE_TARGET_REVISION}
      replicas:
      - name: web
        count: "3"
      commonLabels:
        app: $ARGOCD_APP_NAME
      commonAnnotations:
        owner: $ARGOCD_APP_NAME
      patches:
      - target: {kind: Deployment}
        patch: "[]"
      components: [../c]
`) + `-- web/kustomization.yaml --
namePrefix: old-
resources: [web.yaml]
images:
- name: nginx
  newTag: "1"
- name: alpine
  newTag: "3"
components: [../b]
`, `# /own/web
commonAnnotations:
  owner: $ARGOCD_APP_NAME
commonLabels:
  app: web
components:
- ../b
- ../c
images:
- name: alpine
  newTag: "3"
- name: nginx
  newName: registry.example/nginx
  newTag: "1.2"
- name: redis
  newTag: v1
namePrefix: a-
nameSuffix: -z
namespace: other
patches:
- patch: '[]'
  target:
    kind: Deployment
replicas:
- count: 3
  name: web
resources:
- web.yaml
`},
		"labels without selector": {appWith(`    path: web
    kustomize:
      labelWithoutSelector: true
      labelIncludeTemplates: true
      commonLabels: {a: "1"}
      ignoreMissingComponents: true
      components: [../none, ../c]
      commonAnnotationsEnvsubst: true
      commonAnnotations: {owner: "$ARGOCD_APP_NAMESPACE"}
      version: v4
`) + `-- web/kustomization.yaml --
labels:
- includeTemplates: true
  pairs:
    b: "2"
-- c/kustomization.yaml --
kind: Component
`, `# /own/web
commonAnnotations:
  owner: shop
components:
- ../c
labels:
- includeTemplates: true
  pairs:
    a: "1"
    b: "2"
warning: objects.yaml:22: spec.source.kustomize.version: the version "v4" of kustomize is not used
  krmflow renders as kustomize 5.8 does
`},
		"label exists": {appWith("    path: web\n    kustomize: {commonLabels: {a: b}}\n") + `-- web/kustomization.yaml --
commonLabels: {a: c}
`, `# /own/web
error: objects.yaml:14: spec.source.kustomize.commonLabels.a: the kustomization file already has a
  set forceCommonLabels to replace its value
`},
		"no kustomization": {appWith("    path: web\n    kustomize: {}\n") + "-- web/a.yaml --\n",
			"# /own/web\nerror: objects.yaml:13: spec.source.path: no kustomization file in the directory\n"},
		"directory": {appWith(`    path: web
    directory:
      recurse: true
      exclude: '{sub/skip*,config.json}'
`) + `-- web/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
-- web/values.yaml --
replicas: 1
-- web/a.yml --
# +argocd:skip-file-rendering
apiVersion: v1
kind: ConfigMap
-- web/sub/a.yaml --
kind: Secret
-- web/sub/skip/x.yaml --
kind: Secret
-- web/config.json --
{}
-- web/README.md --
`, `# /own/web
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- b.yaml
- sub/a.yaml
`},
		"jsonnet": {appWith("    path: web\n") + "-- web/a.jsonnet --\n{}\n", `# /own/web
error: web/a.jsonnet: jsonnet is not evaluated
  exclude the file with directory.exclude, or commit its result
`},
		"plugin": {appWith("    path: web\n    plugin: {name: x}\n") + "-- web/a.yaml --\n", `error: objects.yaml:14: spec.source.plugin: config management plugins are not run
  render the source with a function of a catalog instead
`},
		"several types": {appWith("    path: web\n    helm: {}\n    kustomize: {}\n") + "-- web/a.yaml --\n",
			"error: objects.yaml:11: spec.source: kustomize and helm are mutually exclusive\n"},
		"outside":      {appWith("    path: ../x\n"), "error: objects.yaml:13: spec.source.path: \"../x\" is outside of the repository\n"},
		"no directory": {appWith("    path: x\n"), "error: objects.yaml:13: spec.source.path: no directory \"x\" in " + own + "\n"},
		"unknown field": {appWith("    path: web\n    kustomise: {}\n") + "-- web/a.yaml --\nkind: Secret\n", `# /own/web
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- a.yaml
warning: objects.yaml:14: spec.source.kustomise: unknown field "kustomise" is ignored
  did you mean "kustomize"?
`},
		"override": {appWith("    path: web\n    kustomize: {namePrefix: a-}\n") + `-- web/kustomization.yaml --
resources: []
-- web/.argocd-source.yaml --
path: elsewhere
kustomize: {namePrefix: b-, nameSuffix: -b}
-- web/.argocd-source-web.yaml --
kustomize: {nameSuffix: null}
`, "# /own/web\nnamePrefix: b-\nresources: []\n"},
		"chart in a repository": {strings.Replace(appWith(`    chart: nginx
    targetRevision: 1.2.3
    helm:
      parameters:
      - {name: a.b, value: "1"}
      - {name: "list[1].x", value: "a,b"}
      - {name: a.b, value: "2", forceString: true}
      values: |
        a: {c: 3}
      skipCrds: true
`), own, "registry.example/charts", 1), `# 
apiVersion: kustomize.config.k8s.io/v1beta1
helmCharts:
- name: nginx
  namespace: shop
  releaseName: web
  repo: oci://registry.example/charts
  valuesInline:
    a:
      b: "2"
      c: 3
    list:
    - null
    - x: a,b
  valuesMerge: replace
  version: 1.2.3
helmGlobals:
  chartHome: .
kind: Kustomization
`},
		"chart in a directory": {appWith(`    path: charts/web
    helm:
      releaseName: w
      valueFiles: [values-*.yaml, /common.yaml, none.yaml]
      ignoreMissingValueFiles: true
      valuesObject: {a: {from: object}}
      values: "a: ignored"
      fileParameters:
      - {name: file, path: text}
`) + `-- charts/web/Chart.yaml --
name: web
-- charts/web/values-a.yaml --
a: {from: a, keep: a, gone: a}
b: 1
-- charts/web/values-b.yaml --
a: {from: b, gone: null}
-- common.yaml --
b: yes
-- charts/web/text --
a,b
`, `# /own/charts
apiVersion: kustomize.config.k8s.io/v1beta1
helmCharts:
- includeCRDs: true
  name: web
  namespace: shop
  releaseName: w
  valuesInline:
    a:
      from: object
      gone: null
      keep: a
    b: true
    file: |
      a,b
  valuesMerge: replace
helmGlobals:
  chartHome: .
kind: Kustomization
`},
		"remote": {strings.Replace(appWith("    path: web\n    targetRevision: v1\n    kustomize: {namePrefix: a-}\n"), own, "https://other.example/x", 1) +
			"-- web/kustomization.yaml --\nresources: []\n", "# https://other.example/x//web?ref=v1\nnamePrefix: a-\nresources: []\n"},
		"remote directory": {strings.Replace(appWith("    path: web\n    targetRevision: v1\n"), own, "https://other.example/x", 1) +
			"-- web/a.yaml --\nkind: Secret\n", "# https://other.example/x//web?ref=v1\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- a.yaml\n"},
		"revision": {appWith(
			"    path: web\n    targetRevision: main\n    helm:\n      parameters: [{name: tag, value: $ARGOCD_APP_REVISION}]\n") +
			"-- web/Chart.yaml --\n",
			"error: objects.yaml:16: spec.source.helm.parameters[0].value: the variable ARGOCD_APP_REVISION is unknown: the revision is not a commit\n  set targetRevision to a commit\n"},
		"no ref": {appWith("    path: web\n    helm: {valueFiles: [$values/a.yaml]}\n") + "-- web/Chart.yaml --\n",
			"error: objects.yaml:14: spec.source.helm.valueFiles[0]: no source has the ref \"values\"\n"},
		"refused repository": {strings.Replace(appWith("    path: web\n"), own, "bad:x", 1),
			"error: objects.yaml:12: spec.source.repoURL: refused\n"},
		"wrong type": {appWith("    path: web\n    targetRevision: 1.2\n"),
			"error: objects.yaml:14: spec.source.targetRevision: must be a string, not a number\n  put it in quotes: \"1.2\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rendered(t, newWorld(t, tc.archive)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestSourcesShareValueFiles(t *testing.T) {
	w := newWorld(t, `-- objects.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  sources:
  - repoURL: https://charts.example
    chart: nginx
    targetRevision: "1"
    helm:
      valueFiles: [$values/env/prod.yaml]
  - repoURL: `+own+`
    targetRevision: main
    ref: values
-- env/prod.yaml --
a: 1
b:
  c: 2
`)
	roots := Roots(&w.env)
	if len(roots) != 1 || len(roots[0].Errs) > 0 || len(roots[0].Parts) != 1 || len(roots[0].Files) != 1 {
		t.Fatalf("%+v", roots)
	}
	src, err := roots[0].Parts[0].Edit(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"b":       "/own/env/prod.yaml:2",
		"version": "objects.yaml:8",
	} {
		at := []any{"helmCharts", 0, "valuesInline", path}
		if path == "version" {
			at = []any{"helmCharts", 0, path}
		}
		if got := src.Locate(0, at...).String(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestEditedFieldsHavePlaces(t *testing.T) {
	w := newWorld(t, appWith(`    path: web
    kustomize:
      namePrefix: a-
      images: [nginx:2, redis:1]
      commonLabels:
        b: c
`)+`-- web/kustomization.yaml --
resources: [a.yaml]
images:
- {name: alpine, newTag: "3"}
- {name: nginx, newTag: "1"}
- {name: php, newTag: "1"}
`)
	src, err := w.edit(Roots(&w.env)[0].Parts[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path []any
		want string
	}{
		{[]any{"resources", 0}, "web/kustomization.yaml:1"},
		{[]any{"namePrefix"}, "objects.yaml:15"},
		{[]any{"images", 0, "newTag"}, "web/kustomization.yaml:3"},
		{[]any{"images", 1, "newTag"}, "objects.yaml:16"},
		{[]any{"images", 2, "newTag"}, "web/kustomization.yaml:5"},
		{[]any{"images", 3}, "objects.yaml:16"},
		{[]any{"commonLabels", "b"}, "objects.yaml:18"},
	} {
		if got := src.Locate(0, tc.path...).String(); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.path, got, tc.want)
		}
	}
}

func TestDestinationNamespace(t *testing.T) {
	src := &yaml.Source{File: "in.yaml", Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: other}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: c, namespace: other}
---
apiVersion: x.example/v1
kind: Thing
metadata: {name: d}
---
apiVersion: x.example/v1
kind: Wide
metadata: {name: e}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wides.x.example}
spec: {group: x.example, scope: Cluster, names: {kind: Wide}}
`)}
	rs, err := krm.Resources(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := krm.NewList(rs...)
	step := &gitops.DestinationTransformer{Namespace: "shop", KeepLast: true}
	if err := errors.Join(step.Configure(builtins.Env{}), step.Transform(list, func(diag.Code, string, ...any) {})); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list.All() {
		got = append(got, r.ID().Name+"="+r.Value().At("metadata", "namespace").Text())
	}
	if want := "a=shop b=other c= d=shop e= wides.x.example="; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
