package flux

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A fixture is a directory that serves as the repository https://example.com/fleet.
type fixture struct {
	*gitops.Env
	dir      string
	warnings []string
}

// newFixture writes files, and reads objects from the files below the directory clusters.
func newFixture(t *testing.T, files map[string]string) *fixture {
	t.Helper()
	x := &fixture{dir: t.TempDir()}
	x.Env = &gitops.Env{
		Repo: func(_ yaml.Place, url, revision string) (gitops.Repo, error) {
			if url == "https://example.com/fleet" && revision == "main" {
				return gitops.Repo{Dir: x.dir}, nil
			}
			return gitops.Repo{Ref: func(p string) string { return url + "//" + p + "?ref=" + revision }}, nil
		},
		Open: func(r gitops.Repo) (fs.FS, error) { return os.DirFS(r.Dir), nil },
		Warn: func(e *diag.Error) { x.warnings = append(x.warnings, e.Error()) },
	}
	var names []string
	for name, text := range files {
		full := filepath.Join(x.dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "clusters/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		src := &yaml.Source{File: name, Data: []byte(files[name])}
		docs, err := src.Documents()
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range docs {
			gvk := krm.ParseGVK(d.Value.Get("apiVersion").Text(), d.Value.Get("kind").Text())
			x.Objects = append(x.Objects, &gitops.Object{Group: gvk.Group, Kind: gvk.Kind,
				Namespace: d.Value.At("metadata", "namespace").Text(), Name: d.Value.At("metadata", "name").Text(),
				Value: d.Value, Source: src, Doc: i, Tree: x.dir, Near: filepath.Dir(name)})
		}
	}
	return x
}

// localDir is a [gitops.Dir] in a file system.
type localDir string

func (d localDir) Files() (names []string, err error) {
	err = fs.WalkDir(os.DirFS(string(d)), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, p)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

func (d localDir) Read(name string) (*yaml.Source, error) {
	data, err := os.ReadFile(filepath.Join(string(d), name))
	return &yaml.Source{File: name, Data: data}, err
}

// edit returns the edited kustomization file of a part.
func edit(t *testing.T, p gitops.Part) (*yaml.Source, yaml.Value) {
	t.Helper()
	var old *yaml.Source
	for _, name := range kustomizationFiles {
		if src, err := localDir(p.Dir).Read(name); err == nil {
			old = src
			break
		}
	}
	src, err := p.Edit(localDir(p.Dir), old)
	if err != nil {
		t.Fatal(err)
	}
	v, err := src.Value()
	if err != nil {
		t.Fatal(err)
	}
	return src, v
}

// only returns the only root.
func only(t *testing.T, x *fixture) *gitops.Root {
	t.Helper()
	roots := Roots(x.Env)
	if len(roots) != 1 {
		t.Fatalf("%d roots, want 1", len(roots))
	}
	return roots[0]
}

// errsOf returns the messages of the errors of a root.
func errsOf(r *gitops.Root) (list []string) {
	for _, err := range r.Errs {
		list = append(list, err.Error())
	}
	return list
}

const gitRepository = `
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: https://example.com/fleet, interval: 1m, ref: {branch: main}}
`

// app returns a Kustomization with additional fields in spec, and its source.
func app(spec string) string {
	return `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: fleet}
  path: ./app
  interval: 10m
  prune: true
` + indent(spec) + gitRepository
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func TestEdit(t *testing.T) {
	tests := []struct {
		name, spec string
		files      map[string]string
		want       string
	}{
		{"generated", "", map[string]string{
			"app/b.yaml": "", "app/a/x.yml": "", "app/a.yaml": "", "app/note.txt": "", "app/a-b.yaml": "", "app/.sops.yaml": "",
			"app/base/kustomization.yml": "", "app/base/more.yaml": "", "app/base/deep/Kustomization": "", "app/.github/ci.yaml": "",
		}, `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ./a/x.yml
- ./a-b.yaml
- ./a.yaml
- ./b.yaml
- ./base
`},
		{"ignored", "", map[string]string{
			".sourceignore": "/app/x.yaml\n*.tmp.yaml\n", "app/x.yaml": "", "app/y.yaml": "", "app/z.tmp.yaml": "", "app/keep.tmp.yaml": "",
			"app/.sourceignore": "!keep.tmp.yaml\nold/\n", "app/old/a.yaml": "",
		}, `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ./keep.tmp.yaml
- ./y.yaml
`},
		{"empty", "", map[string]string{"app/note.txt": ""},
			"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: placeholder\n"},
		{"all fields", `targetNamespace: shop
namePrefix: a-
nameSuffix: -b
components: [../parts/x, ../parts/missing]
ignoreMissingComponents: true
patches:
- patch: |
    kind: Deployment
  target: {kind: Deployment, labelSelector: a=b}
images:
- {name: nginx, newTag: "2"}
- {name: redis, newName: valkey}
- {name: new, digest: sha256:1}
`, map[string]string{"parts/x/kustomization.yaml": "kind: Component\n", "app/kustomization.yaml": `resources: [a.yaml]
namespace: other
images:
- {name: nginx, newName: mirror, digest: sha256:0}
- {name: redis, newTag: "7"}
patches:
- path: p.yaml
`}, `apiVersion: kustomize.config.k8s.io/v1beta1
components:
- ../parts/x
images:
- name: nginx
  newName: mirror
  newTag: "2"
- name: redis
  newName: valkey
  newTag: "7"
- digest: sha256:1
  name: new
kind: Kustomization
namePrefix: a-
nameSuffix: -b
namespace: shop
patches:
- path: p.yaml
- patch: |
    kind: Deployment
  target:
    kind: Deployment
    labelSelector: a=b
resources:
- a.yaml
`},
		{"no resources", "", map[string]string{"app/kustomization.yaml": "components: [../x]\n"},
			"apiVersion: kustomize.config.k8s.io/v1beta1\nbuildMetadata:\n- originAnnotations\ncomponents:\n- ../x\nkind: Kustomization\n"},
		{"encrypted", "decryption: {provider: sops, secretRef: {name: age}}\n", map[string]string{
			"app/a.yaml": "kind: A\n", "app/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nsops: {mac: x, lastmodified: y}\n",
		}, `apiVersion: kustomize.config.k8s.io/v1beta1
generators:
- |
  apiVersion: krmflow.dev/v1alpha1
  kind: SopsSecretGenerator
  manifests:
  - ./s.yaml
  metadata:
    name: flux-decryption
kind: Kustomization
resources:
- ./a.yaml
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.files["clusters/app.yaml"] = app(test.spec)
			x := newFixture(t, test.files)
			r := only(t, x)
			if len(r.Errs) > 0 || len(x.warnings) > 0 {
				t.Fatal(r.Errs, x.warnings)
			}
			if _, v := edit(t, r.Parts[0]); string(yaml.AppendYAML(nil, v)) != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", yaml.AppendYAML(nil, v), test.want)
			}
		})
	}
}

func TestEditPlaces(t *testing.T) {
	x := newFixture(t, map[string]string{
		"clusters/app.yaml": app("images:\n- name: nginx\n  newTag: \"2\"\npatches:\n- patch: |\n    kind: X\n"),
		"app/kustomization.yaml": `resources:
- a.yaml
images:
- name: nginx
  newName: mirror
patches:
- path: p.yaml
`})
	src, _ := edit(t, only(t, x).Parts[0])
	for _, test := range []struct {
		path []any
		want string
	}{
		{[]any{"resources", 0}, "kustomization.yaml:2"},
		{[]any{"images", 0, "newName"}, "kustomization.yaml:5"},
		{[]any{"images", 0, "newTag"}, "clusters/app.yaml:11"},
		{[]any{"patches", 0}, "kustomization.yaml:7"},
		{[]any{"patches", 1, "patch", diag.TextLine(1)}, "clusters/app.yaml:14"},
	} {
		if got := src.Locate(0, test.path...).String(); got != test.want {
			t.Errorf("%s: %s, want %s", diag.FieldPath(test.path), got, test.want)
		}
	}
}

func TestEncryptedValues(t *testing.T) {
	x := newFixture(t, map[string]string{"clusters/app.yaml": app("decryption: {provider: sops}\n"),
		"app/kustomization.yaml": "secretGenerator:\n- name: s\n  envs: [a.env]\n",
		"app/a.env":              "a=ENC[AES256_GCM,data:x]\nsops_lastmodified=2024\n"})
	old, err := localDir(filepath.Join(x.dir, "app")).Read("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = only(t, x).Parts[0].Edit(localDir(filepath.Join(x.dir, "app")), old)
	const want = `kustomization.yaml:3: secretGenerator[0].envs[0]: "a.env" is encrypted by sops`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestMistakes(t *testing.T) {
	tests := []struct {
		name, objects string
		errs, warns   []string
	}{
		{"unknown field", app("targetNamspace: x\npostBuild: {substitutes: {}}\n"), nil, []string{
			`clusters/app.yaml:9: spec.targetNamspace: unknown field "targetNamspace"` + "\n" + `  did you mean "targetNamespace"?`,
			`clusters/app.yaml:10: spec.postBuild.substitutes: unknown field "substitutes"` + "\n" + `  did you mean "substitute"?`}},
		{"wrong type", app("targetNamespace: [x]\n"), []string{"clusters/app.yaml:9: spec.targetNamespace: must be a string, not a list\n" +
			"  write a single string; quote a text that looks like key: value"}, nil},
		{"no source", strings.Replace(app(""), "name: fleet}", "name: flet}", 1), []string{
			"clusters/app.yaml:5: spec.sourceRef: GitRepository flux-system/flet is not in the searched directories\n" +
				"  search the directory that declares it as well, or correct name and namespace"}, nil},
		{"bucket", strings.Replace(app(""), "kind: GitRepository, name", "kind: Bucket, name", 1), []string{
			"clusters/app.yaml:5: spec.sourceRef: Bucket flux-system/fleet cannot be read: its content is not in a repository, " +
				"and krmflow reads no buckets\n  copy its content to a directory and refer to a GitRepository"}, nil},
		{"variables", app("postBuild: {substitute: {a-b: x}, substituteFrom: [{kind: ConfigMap, name: no}]}\n"), []string{
			"clusters/app.yaml:9: spec.postBuild.substituteFrom[0]: ConfigMap flux-system/no is not in the searched directories\n" +
				"  search the directory that declares it as well, or set optional: true",
			"clusters/app.yaml:9: spec.postBuild: \"a-b\" is not a name of a variable\n" +
				"  use letters, digits and _, and no digit at the start"}, nil},
		{"outside", strings.Replace(app(""), "./app", "../app", 1), nil, []string{
			`clusters/app.yaml:6: spec.path: "../app" leads out of the repository: Flux starts at its root`}},
		{"old patches", app("patchesStrategicMerge: [{kind: X}]\n"), nil, []string{
			"clusters/app.yaml:9: spec.patchesStrategicMerge: unknown field in kustomize.toolkit.fluxcd.io/v1, ignored by Flux\n" +
				"  use patches instead"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := newFixture(t, map[string]string{"clusters/app.yaml": test.objects})
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

func TestSuspendedIsLeftOut(t *testing.T) {
	x := newFixture(t, map[string]string{"clusters/app.yaml": app("suspend: true\n")})
	if roots := Roots(x.Env); len(roots) > 0 || len(x.warnings) != 1 {
		t.Errorf("%d roots, warnings %q", len(roots), x.warnings)
	}
}

func TestNearestSource(t *testing.T) {
	other := strings.Replace(app(""), "branch: main", "branch: other", 1)
	x := newFixture(t, map[string]string{"clusters/a/app.yaml": other, "clusters/b/app.yaml": app("")})
	roots := Roots(x.Env)
	if len(roots) != 2 || roots[0].Parts[0].Dir != "https://example.com/fleet//app?ref=other" ||
		roots[1].Parts[0].Dir != filepath.Join(x.dir, "app") {
		t.Errorf("%v %v", roots[0].Parts, roots[1].Parts)
	}
}

func TestExternalArtifact(t *testing.T) {
	const generator = `
---
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: parts, namespace: flux-system}
spec:
  sources: [{alias: repo, kind: GitRepository, name: fleet}]
  artifacts:
  - name: whole
    copy: [{from: "@repo/**", to: "@artifact/"}]
  - name: some
    originRevision: "@repo"
    copy:
    - {from: "@repo/apps/base/**", to: "@artifact/base/"}
    - {from: "@repo/apps/prod/**", to: "@artifact/prod"}
  - name: mixed
    copy:
    - {from: "@repo/apps/base/**", to: "@artifact/base/"}
    - {from: "@repo/parts/x/**", to: "@artifact/x/"}
`
	for _, test := range []struct{ name, path, dir, err string }{
		{"whole", "./a/b", "a/b", ""},
		{"some", "./prod", "apps/prod", ""},
		{"some", "./prod/x", "apps/prod/x", ""},
		{"some", "./other", "", `clusters/app.yaml:6: spec.path: the artifact has no directory "other"`},
		{"mixed", "./x", "", "clusters/app.yaml:33: spec.artifacts[2].copy[1]: this copy is not supported"},
		{"none", ".", "", "clusters/app.yaml:5: spec.sourceRef: ExternalArtifact flux-system/none is made by no ArtifactGenerator"},
	} {
		text := strings.NewReplacer("kind: GitRepository, name: fleet}\n", "kind: ExternalArtifact, name: "+test.name+"}\n",
			"./app", test.path).Replace(app(""))
		x := newFixture(t, map[string]string{"clusters/app.yaml": text + generator})
		r := only(t, x)
		if errs := strings.Join(errsOf(r), "\n"); !strings.HasPrefix(errs, test.err) || (errs == "") != (test.err == "") {
			t.Errorf("%s %s: %s", test.name, test.path, errs)
		}
		if test.err == "" && (len(r.Parts) != 1 || r.Parts[0].Dir != filepath.Join(x.dir, test.dir)) {
			t.Errorf("%s %s: %v", test.name, test.path, r.Parts)
		}
	}
}

// render runs the steps of a root on resources and returns the list and the warnings.
func render(t *testing.T, r *gitops.Root, text string) (*krm.List, []string, error) {
	t.Helper()
	if len(r.Errs) > 0 {
		t.Fatal(r.Errs)
	}
	rs, err := krm.Resources(&yaml.Source{File: "in.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := krm.NewList(rs...)
	var warnings []string
	for _, s := range r.Steps {
		err := s.Transform(list, func(_ diag.Code, format string, args ...any) {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		})
		if err != nil {
			return nil, warnings, err
		}
	}
	return list, warnings, nil
}

func TestSubstitution(t *testing.T) {
	const vars = `postBuild:
  substitute: {replicas: "3", host: example.com, empty: "", lines: "a\nb"}
  substituteFrom:
  - {kind: ConfigMap, name: vars}
  - {kind: Secret, name: token}
  - {kind: Secret, name: none, optional: true}
commonMetadata:
  labels: {team: a}
  annotations: {n: "1"}
`
	objects := map[string]string{"clusters/app.yaml": app(vars), "clusters/vars.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {host: overridden, region: eu}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: flux-system}
data: {token: aHVudGVyMg==}
stringData: {password: correct-horse}
`}
	x := newFixture(t, objects)
	r := only(t, x)
	list, warnings, err := render(t, r, `apiVersion: apps/v1
kind: Deployment
metadata: {name: "web-${region}", annotations: {a: "${empty}", b: '$${region}', c: "${none:=d}", d: "${host:0:7}"}}
spec: {replicas: "${replicas}", text: "${lines}", big: 12345678901234567890, date: 2020-01-01}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: off, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}
data: {a: "${region}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: private}
data: {a: "x ${token} y", b: "${password^^}", c: "${region}", d: "${unknown}"}
`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    a: null
    b: ${region}
    c: d
    d: example
    "n": "1"
  labels:
    team: a
  name: web-eu
spec:
  big: 12345678901234567000
  date: "2020-01-01T00:00:00Z"
  replicas: 3
  text: ab
---
apiVersion: v1
data:
  a: ${region}
kind: ConfigMap
metadata:
  annotations:
    "n": "1"
  labels:
    kustomize.toolkit.fluxcd.io/substitute: disabled
    team: a
  name: "off"
---
apiVersion: v1
data:
  a: x hunter2 y
  b: CORRECT-HORSE
  c: eu
  d: null
kind: ConfigMap
metadata:
  annotations:
    "n": "1"
  labels:
    team: a
  name: private
`
	if got := string(list.AppendYAML(nil)); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "variable unknown is not defined") {
		t.Errorf("warnings %q", warnings)
	}
	if list.At(0).HoldsSecret() || list.At(1).HoldsSecret() || !list.At(2).HoldsSecret() {
		t.Error("the wrong resources are private")
	}
	set := &secret.Set{}
	list.AddSecrets(set)
	shown := string(yaml.AppendYAML(nil, set.HideValue(list.At(2).Value())))
	if strings.Contains(shown, "hunter2") || strings.Contains(shown, "HORSE") || !strings.Contains(shown, "c: eu") {
		t.Errorf("shown:\n%s", shown)
	}
	for _, s := range r.Steps {
		if strings.Contains(s.Summary, "hunter2") {
			t.Error(s.Summary)
		}
	}
}

func TestSubstitutionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"${a":       "in.yaml:1: the substitution of variables in v1 ConfigMap x failed: missing closing brace",
		"${secret}": "in.yaml:1: the substitution of variables in v1 ConfigMap x failed: line 3 of the result is not YAML",
	} {
		x := newFixture(t, map[string]string{"clusters/app.yaml": app("postBuild: {substituteFrom: [{kind: Secret, name: s}]}\n"),
			"clusters/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\n" +
				"stringData: {secret: 'hunter: 2 # [}'}\n"})
		_, _, err := render(t, only(t, x), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {v: '"+text+"'}\n")
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
