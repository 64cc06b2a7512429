package flux

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// write writes files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// deployment returns a Deployment and a ConfigMap that it refers to.
func (r random) deployment(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {app: %s}}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      containers:
      - {name: main, image: "%s", args: ["${a}", "%s"], envFrom: [{configMapRef: {name: %s}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {one: "${num}", two: "%s", three: '$${b}'}
`, name, name, r.IntN(5), name, name, r.oneOf("nginx:1", "redis", "ghcr.io/a/b@sha256:1"), r.oneOf("x", "${b:=d}", "${word/world/x}"), name,
		name, r.oneOf("plain", "${empty}", "${a}-${b}"))
}

// tree returns the files of a directory app and of a component.
func (r random) tree() map[string]string {
	files := map[string]string{"app/web.yaml": r.deployment("web"), "app/db/db.yaml": r.deployment("db"),
		"parts/x/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- patch: |\n    - {op: add, path: /metadata/annotations, value: {part: x}}\n  target: {kind: ConfigMap}\n",
		"app/.sops.yaml":             "creation_rules: []\n"}
	if r.sometimes() {
		files["app/db/kustomization.yaml"] = "resources: [db.yaml]\nnamePrefix: " + r.oneOf("x-", "y-") + "\n"
	}
	if r.sometimes() {
		resources := "resources: [web.yaml]\n"
		if _, ok := files["app/db/kustomization.yaml"]; ok {
			resources = "resources: [web.yaml, db]\n"
		}
		files["app/kustomization.yaml"] = r.oneOf("", "namespace: old\n", "images:\n- {name: nginx, newTag: '7'}\n") +
			r.oneOf("", "configMapGenerator:\n- {name: gen, literals: ['k=${a}']}\n") + resources
	}
	return files
}

// build returns a random Kustomization for such a tree.
func (r random) build() string {
	var b strings.Builder
	b.WriteString(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: fleet}
  path: ./app
`)
	add := func(text string) {
		if r.sometimes() {
			b.WriteString(text)
		}
	}
	add("  targetNamespace: new\n")
	add("  namePrefix: new-\n")
	add("  nameSuffix: -new\n")
	add("  components: [../parts/x]\n")
	add(
		"  patches:\n  - patch: |\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {name: any}\n      spec: {replicas: 9}\n    target: {kind: Deployment}\n")
	add("  images:\n  - {name: nginx, newName: mirror/nginx}\n  - {name: redis, newTag: '9'}\n")
	add("  commonMetadata:\n    labels: {team: a, app: other}\n    annotations: {note: \"1\"}\n")
	if r.sometimes() {
		b.WriteString("  postBuild:\n    substitute: {a: \"5\", _x1: yy}\n")
		add("    substituteFrom:\n    - {kind: ConfigMap, name: vars}\n    - {kind: Secret, name: secret}\n")
	}
	return b.String()
}

// apply returns the objects that kustomize-controller applies, as documents.
func apply(t *testing.T, dir, object string) (docs []string, err error) {
	t.Helper()
	u := unstructuredOf(t, object)
	app := filepath.Join(dir, "app")
	if _, err := kustomize.NewGenerator(dir, u).WriteFile(app); err != nil {
		return nil, err
	}
	list, err := kustomize.SecureBuild(dir, app, false)
	if err != nil {
		return nil, err
	}
	api := cluster{objects: map[string]unstructured.Unstructured{}}
	for i, kind := range []string{"ConfigMap/vars", "Secret/secret"} {
		api.objects[kind] = unstructuredOf(t, strings.Split(variables, "---\n")[i])
	}
	labels, _, _ := unstructured.NestedStringMap(u.Object, "spec", "commonMetadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(u.Object, "spec", "commonMetadata", "annotations")
	_, postBuild, _ := unstructured.NestedMap(u.Object, "spec", "postBuild")
	for _, res := range list.Resources() {
		if postBuild {
			out, err := kustomize.SubstituteVariables(t.Context(), api, u, res)
			if err != nil {
				return nil, err
			}
			if out != nil {
				if _, err := list.Replace(out); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, res := range list.Resources() {
		set := func(have, more map[string]string, to func(map[string]string) error) {
			for k, v := range more {
				have[k] = v
			}
			if len(more) > 0 {
				if err := to(have); err != nil {
					t.Fatal(err)
				}
			}
		}
		set(res.GetLabels(), labels, func(m map[string]string) error { return res.SetLabels(m) })
		set(res.GetAnnotations(), annotations, func(m map[string]string) error { return res.SetAnnotations(m) })
		text, err := res.AsYAML()
		if err != nil {
			return nil, err
		}
		docs = append(docs, string(text))
	}
	return docs, nil
}

// TestBuild compares whole builds of random trees with the objects that kustomize-controller
// applies.
func TestBuild(t *testing.T) {
	same, failed := 0, 0
	for seed := range uint64(400) {
		r := random{rand.New(rand.NewPCG(seed, 3))}
		files, object := r.tree(), r.build()
		dir, copied := t.TempDir(), t.TempDir()
		write(t, dir, files)
		delete(files, "app/.sops.yaml") // source-controller leaves it out
		write(t, copied, files)
		want, wantErr := apply(t, copied, object)

		root := rootOf(t, dir, fs.FS(os.DirFS(dir)), object, source, variables)
		if len(root.Errs) > 0 {
			t.Fatal(root.Errs)
		}
		result, gotErr := render.Render(t.Context(), render.Options{Dirs: []string{"object"},
			Plan: planner.Options{Cwd: dir, Objects: map[string]*gitops.Root{"object": root}}})
		if (wantErr != nil) != (gotErr != nil) {
			t.Fatalf("seed %d: flux: %v, krmflow: %v\n%s\n%v", seed, wantErr, gotErr, object, files)
		}
		if wantErr != nil {
			failed++
			continue
		}
		got := strings.Split(string(result.Lists[0].AppendYAML(nil)), "---\n")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d:\n%s\n%v\nkrmflow:\n%s\nflux:\n%s", seed, object, files, strings.Join(got, "---\n"),
				strings.Join(want, "---\n"))
		}
		same++
	}
	t.Logf("%d same, %d refused by both", same, failed)
}
