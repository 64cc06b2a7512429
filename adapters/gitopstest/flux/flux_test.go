package flux

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/sourceignore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/flux"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const source = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: https://example.com/fleet, ref: {branch: main}}
`

// objects reads the objects of a cluster from texts.
func objects(t *testing.T, texts ...string) (list []*gitops.Object) {
	t.Helper()
	for i, text := range texts {
		src := &yaml.Source{File: fmt.Sprintf("object%d.yaml", i), Data: []byte(text)}
		docs, err := src.Documents()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for n, d := range docs {
			gvk := krm.ParseGVK(d.Value.Get("apiVersion").Text(), d.Value.Get("kind").Text())
			list = append(list, &gitops.Object{Group: gvk.Group, Kind: gvk.Kind, Namespace: d.Value.At("metadata", "namespace").Text(),
				Name: d.Value.At("metadata", "name").Text(), Value: d.Value, Source: src, Doc: n})
		}
	}
	return list
}

// rootOf returns the only root of the objects in texts. The repository is dir.
func rootOf(t *testing.T, dir string, files fs.FS, texts ...string) *gitops.Root {
	t.Helper()
	roots := flux.Roots(&gitops.Env{Objects: objects(t, texts...),
		Repo: func(yaml.Place, string, string) (gitops.Repo, error) { return gitops.Repo{Dir: dir}, nil },
		Open: func(gitops.Repo) (fs.FS, error) { return files, nil },
		Warn: func(e *diag.Error) {
			if !strings.Contains(e.Msg, "leads out of") {
				t.Errorf("warning: %v", e)
			}
		}})
	if len(roots) != 1 {
		t.Fatalf("%d roots", len(roots))
	}
	return roots[0]
}

func unstructuredOf(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	if err := sigsyaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
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

// seen has the files of an artifact and the .sourceignore files of its repository.
type seen struct{ repo, artifact fs.FS }

func (s seen) Open(name string) (fs.File, error) {
	if path.Base(name) == ".sourceignore" {
		return s.repo.Open(name)
	}
	return s.artifact.Open(name)
}

// random makes trees and objects.
type random struct{ *rand.Rand }

func (r random) oneOf(list ...string) string { return list[r.IntN(len(list))] }
func (r random) sometimes() bool             { return r.IntN(3) == 0 }

// file returns the content of a file, which depends on its name.
func (r random) file(name string) string {
	switch base := path.Base(name); {
	case base == ".sourceignore":
		var b strings.Builder
		for range r.IntN(4) {
			b.WriteString(r.oneOf("*.yml", "/app/", "sub/", "!b.yaml", "a.yaml", "/app/sub/*.yaml", "**/x", "# note", "",
				"sub", "!/app/sub") + "\n")
		}
		return b.String()
	case strings.HasPrefix(strings.ToLower(base), "kustomization"):
		return r.kustomization()
	case strings.HasSuffix(base, "ml") && !r.sometimes():
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + r.oneOf("a", "b", "c") + "}\n"
	}
	return r.oneOf("", "# nothing\n")
}

// kustomization returns a kustomization file.
func (r random) kustomization() string {
	var b strings.Builder
	add := func(text string) {
		if r.sometimes() {
			b.WriteString(text)
		}
	}
	add("apiVersion: kustomize.config.k8s.io/v1beta1\n")
	add("kind: Kustomization\n")
	add("resources:\n- a.yaml\n- b\n")
	add("namespace: old\n")
	add("NamePrefix: old-\n")
	add("nameSuffix: -old\n")
	add("components: [c]\n")
	add("patches:\n- path: p.yaml\n")
	add("patchesStrategicMerge: [x.yaml]\n")
	add("buildMetadata: [managedByLabel]\n")
	add("configMapGenerator:\n- name: g\n  literals: [a=b]\n")
	add("images:\n- name: nginx\n  newName: mirror\n- name: redis\n  newTag: '1'\n- name: nginx\n  digest: sha256:1\n")
	add("generatorOptions: {disableNameSuffixHash: true}\n")
	if b.Len() == 0 {
		return r.oneOf("", "{}\n", "resources:\n", "resources: []\n")
	}
	return b.String()
}

// object returns a Kustomization of Flux.
func (r random) object() string {
	version := r.oneOf("v1", "v1beta2")
	var b strings.Builder
	b.WriteString("apiVersion: kustomize.toolkit.fluxcd.io/" + version + `
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: fleet}
  path: ` + r.oneOf("./app", "app", "/app/", "./app/sub/..", "../app", "./app/sub") + "\n")
	add := func(text string) {
		if r.sometimes() {
			b.WriteString(text)
		}
	}
	add("  targetNamespace: new\n")
	add("  namePrefix: new-\n")
	add("  nameSuffix: -new\n")
	add("  components: [c, ../parts/x, ../../none]\n")
	add("  ignoreMissingComponents: true\n")
	if r.sometimes() {
		b.WriteString("  patches:\n")
		for range 1 + r.IntN(3) {
			b.WriteString("  - patch: |\n      " + r.oneOf("kind: X", "- {op: remove, path: /x}", "") + "\n")
			add("    target: {kind: Deployment, name: x, group: apps, labelSelector: 'a=b'}\n")
		}
	}
	if r.sometimes() {
		b.WriteString("  images:\n")
		for range 1 + r.IntN(3) {
			b.WriteString("  - name: " + r.oneOf("nginx", "redis", "other") + "\n")
			add("    newName: nn\n")
			add("    newTag: '2'\n")
			add("    digest: sha256:2\n")
		}
	}
	if version == "v1beta2" {
		add("  patchesStrategicMerge:\n  - {kind: X, spec: {a: 1, b: [x, null]}}\n")
		add(
			"  patchesJson6902:\n  - target: {kind: X, version: v1}\n    patch: [{op: add, path: /a, value: {b: 1}}, {op: move, path: /a, from: /b}]\n")
	}
	return b.String()
}

// artifact copies the files of a tree that source-controller puts into an artifact.
func artifact(t *testing.T, from, to, ignore string) {
	t.Helper()
	domain := strings.Split(from, "/")
	patterns, err := sourceignore.LoadIgnorePatterns(from, domain)
	if err != nil {
		t.Fatal(err)
	}
	if ignore != "" {
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(ignore), domain)...)
	}
	matcher := sourceignore.NewDefaultMatcher(patterns, domain)
	err = filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil || matcher.Match(strings.Split(p, "/"), e.IsDir()) {
			return err
		}
		rel, _ := filepath.Rel(from, p)
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// comparable returns a kustomization file as data. It parses patches in JSON.
func comparable(t *testing.T, text []byte) any {
	t.Helper()
	k := types.Kustomization{TypeMeta: types.TypeMeta{}}
	if err := sigsyaml.Unmarshal(text, &k); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var parsed []any
	parse := func(text string) {
		var x any
		if json.Unmarshal([]byte(text), &x) != nil {
			x = text
		}
		parsed = append(parsed, x)
	}
	for i, p := range k.PatchesJson6902 {
		parse(p.Patch)
		k.PatchesJson6902[i].Patch = ""
	}
	for _, p := range k.PatchesStrategicMerge {
		parse(string(p))
	}
	k.PatchesStrategicMerge = nil
	out, err := sigsyaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return []any{string(out), parsed}
}

// TestKustomizationFile compares the edited kustomization file with the output of Flux's generator,
// in random trees without files that the controllers refuse.
func TestKustomizationFile(t *testing.T) {
	names := []string{"app/a.yaml", "app/b.yml", "app/c.json", "app/x", "app/kustomization.yaml", "app/sub/kustomization.yml",
		"app/sub/a.yaml",
		"app/sub/b.yaml", "app/sub-x.yaml", "app/sub/deep/Kustomization", "app/sub/deep/x.yaml", "app/.github/x.yaml", "app/.sops.yaml",
		"app/c/kustomization.yaml", "parts/x/kustomization.yaml", ".sourceignore", "app/.sourceignore", "app/sub/.sourceignore",
		"app/z.yaml/x.yaml"}
	generated, edited, failed := 0, 0, 0
	for seed := range uint64(3000) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		dir, copied := t.TempDir(), t.TempDir()
		for _, name := range names {
			if r.IntN(2) == 0 {
				continue
			}
			full := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(r.file(name)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		text := r.object()
		ignore := ""
		src := source
		if r.sometimes() {
			ignore = r.oneOf("/app/a.yaml", "!.sops.yaml", "*\n!/app", "sub")
			src = strings.Replace(src, "spec: {", "spec: {ignore: "+fmt.Sprintf("%q", ignore)+", ", 1)
		}
		artifact(t, dir, copied, ignore)
		root := rootOf(t, dir, seen{os.DirFS(dir), os.DirFS(copied)}, text, src)
		if len(root.Errs) > 0 {
			t.Fatalf("%v\n%s", root.Errs, text)
		}
		part := root.Parts[0]
		rel, _ := filepath.Rel(dir, part.Dir)
		if info, err := os.Stat(filepath.Join(copied, rel)); err != nil || !info.IsDir() {
			continue
		}
		// Ignored kustomization files are not in the artifact, but the planner finds them.
		var old *yaml.Source
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			if found, err := localDir(filepath.Join(copied, rel)).Read(name); err == nil {
				old = found
				break
			}
			if _, err := localDir(part.Dir).Read(name); err == nil {
				break
			}
		}
		want, _, action, wantErr := kustomize.NewGenerator(copied, unstructuredOf(t, text)).GenerateManifest(filepath.Join(copied, rel))
		got, gotErr := part.Edit(localDir(part.Dir), old)
		if (wantErr != nil) != (gotErr != nil) {
			t.Fatalf("seed %d: flux: %v, krmflow: %v\n%s", seed, wantErr, gotErr, text)
		}
		if wantErr != nil {
			failed++
			continue
		}
		if action == kustomize.CreatedAction {
			generated++
		} else {
			edited++
		}
		v, err := got.Value()
		if err != nil {
			t.Fatal(err)
		}
		mine := yaml.AppendFile(nil, v)
		// For an empty directory, Flux writes an invalid namespace, and krmflow a valid one.
		valid := func(file []byte) []byte {
			return bytes.Replace(file, []byte("namespace: _placeholder"), []byte("namespace: placeholder"), 1)
		}
		mine, want = valid(mine), valid(want)
		if !reflect.DeepEqual(comparable(t, mine), comparable(t, want)) {
			t.Fatalf("seed %d: object:\n%s\nold: %v\nignore: %q\nkrmflow:\n%s\nflux:\n%s", seed, text, old, ignore, mine, want)
		}
	}
	t.Logf("%d generated, %d edited, %d refused by both", generated, edited, failed)
}

// cluster serves ConfigMaps and Secrets.
type cluster struct {
	client.Client
	objects map[string]unstructured.Unstructured
}

func (c cluster) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	kind := reflect.TypeOf(obj).Elem().Name()
	u, ok := c.objects[kind+"/"+key.Name]
	if !ok || key.Namespace != "flux-system" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	data, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, obj); err != nil {
		return err
	}
	if s, ok := obj.(*corev1.Secret); ok { // as the API server does
		for k, v := range s.StringData {
			if s.Data == nil {
				s.Data = map[string][]byte{}
			}
			s.Data[k] = []byte(v)
		}
	}
	return nil
}

// text returns a text with variables.
func (r random) text(depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(3) {
		switch r.IntN(7) {
		case 0:
			b.WriteString(r.oneOf("a", " ", "x y", "1", "0x1F", "true", ":", "#", "/", "$", "$$", "$$$", "\\", "\\/", "{", "}", "\n",
				"é", "'", "\"", "-", "~", "2020-01-01",
				"1e3", "0777", "12345678901234567890", "9007199254740993", "1.10", "null", "yes", "y", ".5", "=", "on:", "- a", "|",
				"%", "*", "&", "\t"))
		case 1:
			b.WriteString(r.oneOf("plain", "$VAR", "$${a}", "$$$${a}", "word", "/", "x"))
		case 2:
			if r.IntN(10) == 0 {
				b.WriteString(r.oneOf("${", "${}", "${a", "${1}", "${a-b}", "${.x}", "${a-}"))
			}
		default:
			b.WriteString(r.expression(depth))
		}
	}
	return b.String()
}

// expression returns a use of a variable.
func (r random) expression(depth int) string {
	name := r.oneOf("a", "b", "num", "word", "empty", "long", "secret", "none", "path", "yaml", "_x1")
	arg := func() string {
		if depth > 0 && r.sometimes() {
			return r.expression(depth - 1)
		}
		return r.oneOf("", "x", "1", "2", "-1", "-3", "o", "*", "?", "/", "a b", "[a-o]", "$$", "\\/", "true", "${a}", "=", ":")
	}
	switch r.IntN(13) {
	case 0:
		return "${" + name + r.oneOf(":-", ":=", ":-", "=", ":?", ":+", ":=") + arg() + "}"
	case 1:
		return "${" + name + ":" + arg() + "}"
	case 2:
		return "${" + name + ":" + arg() + ":" + arg() + "}"
	case 3:
		return "${" + name + r.oneOf("/", "//", "/#", "/%") + arg() + "/" + arg() + "}"
	case 4:
		return "${" + name + r.oneOf("#", "##", "%", "%%") + arg() + "}"
	case 5:
		return "${" + name + r.oneOf(",", ",,", "^", "^^") + "}"
	case 6:
		return "${#" + name + "}"
	}
	return "${" + name + "}"
}

const variables = `apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data:
  a: from-config
  b: bee
  num: "42"
  word: hello/world.txt
  empty: ""
  long: |
    several words
    in lines
  yaml: "{x: 1, y: [2]}"
---
apiVersion: v1
kind: Secret
metadata: {name: secret, namespace: flux-system}
data: {secret: aHVudGVyMg==, num: MDEw}
stringData: {path: "/usr/lib"}
`

// TestSubstitution compares the substitution of variables in random resources.
func TestSubstitution(t *testing.T) {
	factory := provider.NewDefaultDepProvider().GetResourceFactory()
	api := cluster{objects: map[string]unstructured.Unstructured{}}
	for i, kind := range []string{"ConfigMap/vars", "Secret/secret"} {
		api.objects[kind] = unstructuredOf(t, strings.Split(variables, "---\n")[i])
	}
	changed, failed := 0, 0
	for seed := range uint64(40000) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		text := `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec:
  sourceRef: {kind: GitRepository, name: fleet}
  postBuild:
    substitute: {a: "A b", _x1: "` + r.oneOf("x", "5", "true", "a: b", "l1\\nl2", "", "null", "~", "1.0", "[", "'") + `"}
`
		if !r.sometimes() {
			text += "    substituteFrom:\n    - {kind: ConfigMap, name: vars}\n    - {kind: Secret, name: secret}\n    - {kind: Secret, name: nosuch, optional: true}\n"
		}
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": r.oneOf("x", "x-${b}", "${num}"),
				"annotations": map[string]any{"note": r.text(1)}},
			"data": map[string]any{"one": r.text(2), "two": r.text(1), "n": r.IntN(1000),
				r.oneOf("three", "${b}"): []any{r.text(1), true, nil, 1.5}}}
		if r.IntN(20) == 0 {
			object["metadata"].(map[string]any)["labels"] = map[string]any{"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
		}
		in, err := sigsyaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		res, err := factory.FromBytes(in)
		if err != nil {
			continue
		}
		mine, err := krm.Resources(&yaml.Source{File: "in.yaml", Data: in}, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, in)
		}
		before, _ := res.AsYAML()

		var want []byte
		wantErr := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			out, err := kustomize.SubstituteVariables(t.Context(), api, unstructuredOf(t, text), res)
			if err != nil {
				return err
			}
			if out == nil {
				out = res
			}
			if out.GetName() == "" || out.GetKind() == "" || out.GetApiVersion() == "" {
				return fmt.Errorf("no identity")
			}
			want, err = out.AsYAML()
			return err
		}()

		root := rootOf(t, "/repo", nil, text, source, variables)
		if len(root.Errs) > 0 {
			t.Fatal(root.Errs)
		}
		list := krm.NewList(mine...)
		gotErr := root.Steps[0].Transform(list, func(diag.Code, string, ...any) {})
		if (wantErr != nil) != (gotErr != nil) {
			t.Fatalf("seed %d: flux: %v, krmflow: %v\n%s", seed, wantErr, gotErr, in)
		}
		if wantErr != nil {
			failed++
			continue
		}
		got := list.AppendYAML(nil)
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d:\n%s\nkrmflow:\n%s\nflux:\n%s", seed, in, got, want)
		}
		if !bytes.Equal(before, want) {
			changed++
		}
		if bytes.Contains(got, []byte("hunter2")) && !list.HoldsSecrets() {
			t.Fatalf("seed %d: a Secret is not hidden:\n%s", seed, got)
		}
	}
	t.Logf("%d changed, %d refused by both", changed, failed)
}
