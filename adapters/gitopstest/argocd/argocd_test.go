// Package argocd_test compares package gitops/argocd with the code of Argo CD.
package argocd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsettemplate "github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/git"
	"github.com/argoproj/argo-cd/v3/util/glob"
	"github.com/argoproj/argo-cd/v3/util/kustomize"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"
)

// A secretsClient serves Secrets, and an AppProject of any name, to Argo CD's generators.
type secretsClient struct {
	client.Client
	secrets []corev1.Secret
}

func (c *secretsClient) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (c *secretsClient) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	out := list.(*corev1.SecretList)
	for _, s := range c.secrets {
		if o.LabelSelector == nil || o.LabelSelector.Matches(labelSet(s.Labels)) {
			out.Items = append(out.Items, *s.DeepCopy())
		}
	}
	return nil
}

// labelSet implements labels.Labels.
type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key]; return v, ok }

// A clientset serves Secrets to Argo CD's list of clusters.
type clientset struct {
	kubernetes.Interface
	secrets []corev1.Secret
}

type core struct {
	typedcorev1.CoreV1Interface
	secrets []corev1.Secret
}

type secretLister struct {
	typedcorev1.SecretInterface
	secrets []corev1.Secret
}

func (c *clientset) CoreV1() typedcorev1.CoreV1Interface { return core{secrets: c.secrets} }

func (c core) Secrets(string) typedcorev1.SecretInterface { return secretLister{secrets: c.secrets} }

func (l secretLister) List(context.Context, metav1.ListOptions) (*corev1.SecretList, error) {
	return &corev1.SecretList{Items: l.secrets}, nil
}

// A gitRepo is a repository for Argo CD's git generator. git itself matches the files.
type gitRepo struct{ dir string }

func (r gitRepo) GetFiles(_ context.Context, _, _, _, pattern string, _, _ bool) (map[string][]byte, error) {
	cmd := exec.Command("git", "ls-files", "--full-name", "-z", "--", pattern)
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" {
			if files[name], err = os.ReadFile(filepath.Join(r.dir, name)); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

func (r gitRepo) GetDirectories(context.Context, string, string, string, bool, bool) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.dir, path)
		switch {
		case err != nil || rel == "." || !entry.IsDir():
			return err
		case strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		dirs = append(dirs, rel)
		return nil
	})
	return dirs, err
}

// errPanic reports that Argo CD panics.
var errPanic = errors.New("panic")

// argo returns the Applications that Argo CD generates, or errPanic. Argo CD panics if a matrix
// generator with Go templates has values both of a list element and of a different generator.
func argo(set *v1alpha1.ApplicationSet, dir string, secrets []corev1.Secret) (apps []v1alpha1.Application, err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	c := &secretsClient{secrets: secrets}
	terminal := map[string]generators.Generator{
		"List": generators.NewListGenerator(), "Git": generators.NewGitGenerator(gitRepo{dir}, "argocd"),
		"Clusters": generators.NewClusterGenerator(context.Background(), c, &clientset{secrets: secrets}, "argocd"),
	}
	nested := map[string]generators.Generator{"Matrix": generators.NewMatrixGenerator(terminal),
		"Merge": generators.NewMergeGenerator(terminal)}
	top := map[string]generators.Generator{}
	for name, g := range terminal {
		nested[name], top[name] = g, g
	}
	top["Matrix"], top["Merge"] = generators.NewMatrixGenerator(nested), generators.NewMergeGenerator(nested)
	apps, _, err = appsettemplate.GenerateApplications(logrus.NewEntry(logger), *set, top, &utils.Render{}, c)
	return apps, err
}

// objects returns the objects in a text.
func objects(t testing.TB, text, tree string) []*gitops.Object {
	src := &yaml.Source{File: "objects.yaml", Data: []byte(text)}
	docs, err := src.Documents()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var list []*gitops.Object
	for i, d := range docs {
		gvk := krm.ParseGVK(d.Value.Get("apiVersion").Text(), d.Value.Get("kind").Text())
		meta := d.Value.Get("metadata")
		list = append(list, &gitops.Object{Group: gvk.Group, Kind: gvk.Kind, Namespace: meta.Get("namespace").Text(),
			Name: meta.Get("name").Text(), Value: d.Value, Source: src, Doc: i, Tree: tree})
	}
	return list
}

// environment returns an environment in which all repositories are in dir.
func environment(dir string, list []*gitops.Object) *gitops.Env {
	return &gitops.Env{
		Objects: list,
		Repo:    func(yaml.Place, string, string) (gitops.Repo, error) { return gitops.Repo{Dir: dir}, nil },
		Open:    func(gitops.Repo) (fs.FS, error) { return os.DirFS(dir), nil },
		Warn:    func(*diag.Error) {},
	}
}

// summary formats the relevant fields of an Application.
func summary(t testing.TB, app *v1alpha1.Application) string {
	data, err := json.Marshal(struct {
		Name, Namespace     string
		Labels, Annotations map[string]string `json:",omitempty"`
		Spec                v1alpha1.ApplicationSpec
	}{app.Name, app.Namespace, app.Labels, app.Annotations, app.Spec})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// failures counts the ApplicationSets that Argo CD refuses.
var failures int

// compare compares the Applications of the ApplicationSets in a text, and returns their number.
func compare(t testing.TB, text, dir string) (n int) {
	list := objects(t, text, dir)
	var secrets []corev1.Secret
	for _, o := range list {
		if o.Kind != "Secret" {
			continue
		}
		var s corev1.Secret
		if err := json.Unmarshal(yaml.AppendJSON(nil, o.Value), &s); err != nil {
			t.Fatal(err)
		}
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		for key, v := range s.StringData {
			s.Data[key] = []byte(v)
		}
		secrets = append(secrets, s)
	}
	slices.SortFunc(secrets, func(a, b corev1.Secret) int { return strings.Compare(a.Name, b.Name) })
	for _, o := range list {
		if o.Kind != "ApplicationSet" {
			continue
		}
		var set v1alpha1.ApplicationSet
		if err := json.Unmarshal(yaml.AppendJSON(nil, o.Value), &set); err != nil {
			continue // the API server refuses the object
		}
		apps, argoErr := argo(&set, dir, secrets)
		if argoErr == errPanic {
			continue
		}
		if argoErr != nil {
			failures++
		}
		var want, got []string
		for i := range apps {
			want = append(want, summary(t, &apps[i]))
		}
		others := func(x *gitops.Object) bool { return x != o && x.Kind == "ApplicationSet" }
		env := environment(dir, slices.DeleteFunc(slices.Clone(list), others))
		var ownErr error
		for _, r := range argocd.Roots(env) {
			if r.Object.Kind == "ApplicationSet" {
				ownErr = errors.Join(r.Errs...)
				continue
			}
			var app v1alpha1.Application
			if err := json.Unmarshal(yaml.AppendJSON(nil, r.Object.Value), &app); err != nil {
				t.Errorf("%v\n%s", err, text)
				continue
			}
			got = append(got, summary(t, &app))
		}
		if strings.Contains(text, "merge:") { // Argo CD has no fixed order here
			slices.Sort(want)
			slices.Sort(got)
		}
		if (argoErr != nil) != (ownErr != nil) {
			t.Errorf("Argo CD: %v\nkrmflow: %v\n%s", argoErr, ownErr, text)
		} else if !slices.Equal(got, want) && argoErr == nil {
			t.Errorf("got\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
		}
		n += len(want)
	}
	return n
}

// repository returns a git repository with files for generators.
func repository(t testing.TB) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"apps/one/config.json": `{"name": "one", "n": 3, "m": {"a": "b", "l": ["x", "y"]}, "empty": ""}`,
		"apps/two/config.json": `[{"name": "two", "n": 4000000}, {"name": "three", "m": {"c": true}}]`,
		"apps/two/sub/x.yaml":  "name: x\nflag: yes\nnumber: 0.5\n",
		"more/A_b/x.yaml":      "name: more\nm: {a: null}\n",
		".hidden/x.yaml":       "name: hidden\n",
		"top.yaml":             "name: top\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v: %s", err, out)
		}
	}
	return dir
}

const clusterSecrets = `---
apiVersion: v1
kind: Secret
metadata:
  name: a
  labels: {argocd.argoproj.io/secret-type: cluster, env: prod, tier: "1"}
  annotations: {region: eu, x: "7"}
stringData: {name: Big_One, server: "https://one/", project: p}
---
apiVersion: v1
kind: Secret
metadata:
  name: b
  labels: {argocd.argoproj.io/secret-type: cluster, env: dev}
stringData: {name: two, server: "https://two"}
`

// A picker makes random ApplicationSets.
type picker struct {
	*rand.Rand
	golang bool
	repo   int // number of repositories
}

func (p *picker) of(list ...string) string { return list[p.Intn(len(list))] }

func (p *picker) ref(names ...string) string {
	name := p.of(names...)
	if !p.golang {
		return "{{" + p.of("", " ") + name + "}}"
	}
	if p.Intn(5) == 0 {
		return "{{ " + p.of("", "default \"d\" ", "printf \"%v\" ") + "." + name + p.of("", " | toYaml", " | toJson") + " }}"
	}
	return "{{." + name + "}}"
}

// param returns a reference to some parameter.
func (p *picker) param() string {
	if p.golang {
		return p.ref("name", "name", "name", "n", "m.a", "values.v", "path.path", "path.basename", "path.basenameNormalized", "server",
			"metadata.labels.env", "nameNormalized", "path.filename", "m", "flag", "number", "project", "metadata.labels")
	}
	return p.ref("name", "name", "name", "n", "m.a", "m.l.0", "values.v", "path", "path.basename", "path[0]", "path[1]", "server",
		"metadata.labels.env", "nameNormalized", "path.filenameNormalized", "flag", "number",
		"metadata.annotations.region", "g.path", "none")
}

func (p *picker) values() any {
	return map[string]any{"v": p.of("v", p.param(), "a-"+p.param()+"-z")}
}

// terminal returns a generator without children.
func (p *picker) terminal() map[string]any {
	switch p.Intn(4) {
	case 0:
		git := map[string]any{"repoURL": "https://git.example/x", "revision": "HEAD"}
		item := map[string]any{"path": p.of("apps/*", "*", "*/*", "apps/two", "more/*", "{{path}}/*")}
		git["directories"] = []any{item}
		if p.Intn(2) == 0 {
			git["directories"] = []any{item, map[string]any{"path": p.of("apps/o*", "*/A*"), "exclude": true}}
		}
		if p.Intn(2) == 0 {
			git["values"] = p.values()
		}
		if p.Intn(6) == 0 {
			git["pathParamPrefix"] = "g"
		}
		return map[string]any{"git": git}
	case 1:
		git := map[string]any{"repoURL": "https://git.example/x", "revision": "HEAD"}
		item := map[string]any{"path": p.of("apps/**/config.json", "**/*.yaml", "apps/*", "*.yaml", "apps/two", "m?re/*/x.yaml",
			"[ab]pps/one/*", "top.yaml")}
		git["files"] = []any{item}
		if p.Intn(2) == 0 {
			git["files"] = []any{map[string]any{"path": p.of("apps/o*", "*.json"), "exclude": true}, item}
		}
		if p.Intn(2) == 0 {
			git["values"] = p.values()
		}
		if p.Intn(6) == 0 {
			git["pathParamPrefix"] = "g"
		}
		return map[string]any{"git": git}
	case 2:
		c := map[string]any{}
		switch p.Intn(4) {
		case 0:
			c["selector"] = map[string]any{"matchLabels": map[string]any{"env": p.of("prod", "dev", "none")}}
		case 1:
			c["selector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": "tier",
				"operator": p.of("Exists", "DoesNotExist")}}}
		}
		if p.Intn(2) == 0 {
			c["values"] = p.values()
		}
		if p.golang && p.Intn(10) == 0 {
			c["flatList"] = true
		}
		return map[string]any{"clusters": c}
	}
	var elements []any
	for i := range 1 + p.Intn(3) {
		e := map[string]any{"name": p.of("one", "two", "three") + fmt.Sprint(i)}
		if p.Intn(2) == 0 {
			e["values"] = map[string]any{"v": p.of("x", "y")}
		}
		if p.golang && p.Intn(2) == 0 {
			e["n"] = p.Intn(3000000)
			e["m"] = map[string]any{"a": p.of("", "1"), "deep": map[string]any{"x": []any{1, "2", true, nil}}}
		}
		if p.Intn(3) == 0 {
			e["path"] = p.of("apps", "more")
		}
		elements = append(elements, e)
	}
	list := map[string]any{"elements": elements}
	if p.Intn(5) == 0 {
		list["elementsYaml"] = "- {name: text, n: 5}\n"
	}
	return map[string]any{"list": list}
}

func (p *picker) generator(depth int) map[string]any {
	g := p.terminal()
	if depth < 2 && p.Intn(3) == 0 {
		children := []any{p.generator(depth + 1), p.generator(depth + 1)}
		if p.Intn(2) == 0 {
			g = map[string]any{"matrix": map[string]any{"generators": children}}
		} else {
			g = map[string]any{"merge": map[string]any{"generators": children, "mergeKeys": []any{p.of("name", "server", "path", "n")}}}
		}
	}
	if p.Intn(6) == 0 {
		g["selector"] = map[string]any{"matchExpressions": []any{map[string]any{
			"key": p.of("name", "m.a", "values.v", "n", "metadata.labels.env"), "operator": p.of("In", "NotIn"),
			"values": []any{p.of("one0", "prod", "1"), "two"}}}}
	}
	return g
}

// template returns a template. The name has a fixed text, because it must not be empty.
func (p *picker) template() map[string]any {
	spec := map[string]any{"project": "default", "destination": map[string]any{"namespace": p.param(), "server": p.param()}}
	source := map[string]any{"repoURL": "https://git.example/" + p.param(), "path": p.param() + "/" + p.param()}
	switch p.Intn(4) {
	case 0:
		source["helm"] = map[string]any{"valuesObject": map[string]any{"a": p.param(), p.param(): 1, "l": []any{p.param(), 2}},
			"parameters": []any{map[string]any{"name": "x", "value": p.param()}}}
	case 1:
		source["kustomize"] = map[string]any{"images": []any{p.param()}, "commonLabels": map[string]any{p.param(): p.param()}}
	}
	spec["source"] = source
	return map[string]any{"metadata": map[string]any{"name": "app-" + p.param(), "labels": map[string]any{"l": p.param()},
		"annotations": map[string]any{p.param(): "x"}}, "spec": spec}
}

func (p *picker) set() string {
	spec := map[string]any{"template": p.template()}
	if p.golang {
		spec["goTemplate"] = true
		if p.Intn(3) == 0 {
			spec["goTemplateOptions"] = []any{p.of("missingkey=error", "missingkey=zero", "missingkey=default")}
		}
	}
	var list []any
	for range 1 + p.Intn(2) {
		g := p.generator(0)
		if p.Intn(4) == 0 {
			for _, key := range []string{"list", "git", "clusters", "matrix", "merge"} {
				if x, ok := g[key].(map[string]any); ok {
					x["template"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"own": p.param()}},
						"spec": map[string]any{"project": "", "source": map[string]any{"repoURL": "", "path": p.param()},
							"destination": map[string]any{}}}
				}
			}
		}
		list = append(list, g)
	}
	spec["generators"] = list
	if p.Intn(4) == 0 {
		spec["templatePatch"] = "metadata: {labels: {patched: '" + p.of("x", "{{name}}") +
			"', l: null}}\nspec: {project: other, source: {path: p, kustomize: {images: [a]}}}\n"
	}
	data, err := sigsyaml.Marshal(map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": "all", "namespace": "argocd"}, "spec": spec})
	if err != nil {
		panic(err)
	}
	return string(data) + clusterSecrets
}

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func TestRandomApplicationSets(t *testing.T) {
	dir := repository(t)
	n, failed := 0, 0
	for seed := range 1000 {
		p := &picker{Rand: rand.New(rand.NewSource(int64(seed))), golang: seed%2 == 1}
		text := p.set()
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) { n += compare(t, text, dir) })
		if !ok {
			if failed++; failed > 5 {
				t.Fatal("too many differences")
			}
		}
	}
	t.Logf("%d Applications; Argo CD refuses %d of 1,000 sets", n, failures)
}

// TestPublicApplicationSets compares the ApplicationSets below the directories in KRMFLOW_TREES, a
// list separated by colons.
func TestPublicApplicationSets(t *testing.T) {
	trees := os.Getenv("KRMFLOW_TREES")
	if trees == "" {
		t.Skip("KRMFLOW_TREES is not set")
	}
	sets, n := 0, 0
	for _, dir := range filepath.SplitList(trees) {
		repo := repository(t)
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
				return err
			}
			data, err := os.ReadFile(path)
			src := &yaml.Source{File: path, Data: data}
			if _, bad := src.Documents(); err != nil || bad != nil || !bytes.Contains(data, []byte("kind: ApplicationSet")) {
				return err
			}
			for _, refused := range []string{"scmProvider:", "pullRequest:", "clusterDecisionResource:", "plugin:"} {
				if bytes.Contains(data, []byte(refused)) {
					return nil
				}
			}
			sets++
			text := string(data) + "\n" + clusterSecrets + clusterFor(data)
			t.Run(filepath.Base(path), func(t *testing.T) { n += compare(t, text, repo) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files with ApplicationSets, %d Applications", sets, n)
}

// named matches the names of cluster labels and annotations in an ApplicationSet.
var named = regexp.MustCompile(`(?:metadata\.(?:labels|annotations)\.|key: )(\w+)|(enable_\w+): `)

// clusterFor returns a Secret of a cluster with all labels and annotations that a text mentions.
func clusterFor(text []byte) string {
	fields := map[string]string{}
	for _, m := range named.FindAllSubmatch(text, -1) {
		fields[string(m[1])+string(m[2])] = "true"
	}
	annotations, _ := json.Marshal(fields)
	fields["argocd.argoproj.io/secret-type"] = "cluster"
	labels, _ := json.Marshal(fields)
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: c, labels: %s, annotations: %s}\n"+
		"stringData: {name: three, server: https://three}\n", labels, annotations)
}

// A diskDir is the directory of a part.
type diskDir string

func (d diskDir) Files() ([]string, error) {
	var names []string
	err := filepath.WalkDir(string(d), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(string(d), path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	return names, err
}

func (d diskDir) Read(name string) (*yaml.Source, error) {
	data, err := os.ReadFile(filepath.Join(string(d), name))
	return &yaml.Source{File: name, Data: data}, err
}

func TestKustomizeEdits(t *testing.T) {
	if _, err := exec.LookPath("kustomize"); err != nil {
		t.Skip("no kustomize")
	}
	rendered := 0
	for seed := range 60 {
		p := &picker{Rand: rand.New(rand.NewSource(int64(seed)))}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if p.kustomize(t) {
				rendered++
			}
		})
	}
	t.Logf("%d of 60 rendered", rendered)
}

// kustomize compares one random source. It reports whether Argo CD renders it.
func (p *picker) kustomize(t *testing.T) bool {
	dir := t.TempDir()
	file := map[string]any{"resources": []any{"web.yaml"}}
	if p.Intn(2) == 0 {
		file["images"] = []any{map[string]any{"name": "nginx", "newTag": "1"},
			map[string]any{"name": "busybox", "newName": "b", "digest": "sha256:1"}}
	}
	if p.Intn(2) == 0 {
		file["commonLabels"] = map[string]any{"a": "old"}
	}
	if p.Intn(2) == 0 {
		file["labels"] = []any{map[string]any{"pairs": map[string]any{"x": "old"},
			"includeSelectors": p.Intn(2) == 0, "includeTemplates": p.Intn(2) == 0}}
	}
	if p.Intn(3) == 0 {
		file["replicas"] = []any{map[string]any{"name": "web", "count": 2}}
	}
	if p.Intn(3) == 0 {
		file["patches"] = []any{map[string]any{"patch": "- op: add\n  path: /metadata/labels/p1\n  value: x\n",
			"target": map[string]any{"kind": "Deployment"}}}
	}
	if p.Intn(2) == 0 {
		file["commonAnnotations"] = map[string]any{"n": "old"}
	}
	if p.Intn(3) == 0 {
		file["namePrefix"] = "old-"
	}
	text, err := sigsyaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	k := v1alpha1.ApplicationSourceKustomize{}
	maybe := func(set func()) {
		if p.Intn(2) == 0 {
			set()
		}
	}
	maybe(func() { k.NamePrefix = "a-" })
	maybe(func() { k.NameSuffix = "-z" })
	maybe(func() { k.Namespace = "ns" })
	maybe(func() {
		for range 1 + p.Intn(3) {
			k.Images = append(k.Images, v1alpha1.KustomizeImage(p.of("nginx:2", "nginx=r.example:5000/n", "nginx=*:3", "busybox@sha256:2",
				"busybox=x:1@sha256:3", "php:$ARGOCD_APP_NAME", "nginx=n:*")))
		}
	})
	maybe(func() {
		k.CommonLabels = map[string]string{p.of("a", "b", "x"): p.of("new", "\"q\"", "$ARGOCD_APP_NAME", "a:b")}
		k.ForceCommonLabels = p.Intn(2) == 0
		k.LabelWithoutSelector = p.Intn(2) == 0
		k.LabelIncludeTemplates = p.Intn(3) == 0
	})
	maybe(func() {
		k.CommonAnnotations = map[string]string{p.of("n", "m"): p.of("new", "${ARGOCD_APP_NAME}")}
		k.ForceCommonAnnotations = p.Intn(2) == 0
		k.CommonAnnotationsEnvsubst = p.Intn(2) == 0
	})
	maybe(func() {
		k.Replicas = v1alpha1.KustomizeReplicas{{Name: p.of("web", "other")}}
		k.Replicas[0].Count.IntVal = int32(p.Intn(5))
	})
	maybe(func() {
		k.Patches = v1alpha1.KustomizePatches{{Patch: "- op: add\n  path: /metadata/labels/p2\n  value: y\n",
			Target: &v1alpha1.KustomizeSelector{KustomizeResId: v1alpha1.KustomizeResId{
				KustomizeGvk: v1alpha1.KustomizeGvk{Kind: "Deployment"}}}}}
	})
	maybe(func() {
		k.Components = []string{p.of("../c", "../d", "../none")}
		k.IgnoreMissingComponents = p.Intn(2) == 0
	})
	for _, side := range []string{"argo", "own"} {
		for name, content := range map[string]string{
			"web/kustomization.yaml": string(text),
			"web/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\n" +
				"spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, " +
				"spec: {containers: [{name: a, image: 'nginx:0'}, {name: b, image: busybox}, {name: c, image: php}]}}}\n",
			"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -c\n",
			"d/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {d: d}\n",
		} {
			file := filepath.Join(dir, side, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, own := filepath.Join(dir, "argo"), filepath.Join(dir, "own")
	env := &v1alpha1.Env{{Name: "ARGOCD_APP_NAME", Value: "app"}}
	tool := kustomize.NewKustomizeApp(root, filepath.Join(root, "web"), git.NopCreds{}, "", "", "", "")
	built, _, _, argoErr := tool.Build(&k, nil, env, nil)

	options, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	list := objects(t, fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\nspec:\n  source:\n"+
		"    repoURL: https://git.example/x\n    path: web\n    kustomize: %s\n", options), own)
	r := argocd.Roots(environment(own, list))[0]
	ownErr := errors.Join(r.Errs...)
	var got []string
	if ownErr == nil {
		var src *yaml.Source
		old := &yaml.Source{File: "kustomization.yaml", Data: text}
		if src, ownErr = r.Parts[0].Edit(diskDir(r.Parts[0].Dir), old); ownErr == nil {
			v, _ := src.Value()
			if err := os.WriteFile(filepath.Join(own, "web", "kustomization.yaml"), yaml.AppendYAML(nil, v), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("kustomize", "build", filepath.Join(own, "web")).Output()
			if ownErr = err; err == nil {
				for doc := range strings.SplitSeq(string(out), "\n---\n") {
					data, err := sigsyaml.YAMLToJSON([]byte(doc))
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(data))
				}
			}
		}
	}
	if (argoErr != nil) != (ownErr != nil) {
		t.Errorf("Argo CD: %v\nkrmflow: %v\n%s\n%s", argoErr, ownErr, text, options)
		return false
	}
	var want []string
	for _, o := range built {
		data, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(data))
	}
	if argoErr == nil && !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text, options)
	}
	return argoErr == nil
}

func TestDirectoryGlobs(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a.yaml", "b.yml", "sub/a.yaml", "sub/c-d.yaml", "[x].yaml"}
	for _, name := range names {
		file := filepath.Join(dir, "d", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("kind: Secret\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p := &picker{Rand: rand.New(rand.NewSource(1))}
	for range 2000 {
		pattern := ""
		for range 1 + p.Intn(5) {
			pattern += p.of("*", "**", "a", ".yaml", "sub/", "?", "[a-c]", "[!a]", "{a,b}", "{*.yaml,sub/*}", "\\[",
				"{", "}", ",", "[", "]", "-")
		}
		if strings.Count(pattern, "{") != strings.Count(pattern, "}") {
			continue
		}
		quoted, _ := json.Marshal(pattern)
		list := objects(t, fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app}\nspec:\n  source:\n"+
			"    repoURL: https://git.example/x\n    path: d\n    directory: {recurse: true, include: %s}\n", quoted), dir)
		r := argocd.Roots(environment(dir, list))[0]
		src, err := r.Parts[0].Edit(diskDir(r.Parts[0].Dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := src.Value()
		for _, name := range names {
			got := slices.ContainsFunc(v.Get("resources").Items(), func(x yaml.Value) bool { return x.Text() == name })
			want, ok := match(pattern, name)
			if !ok {
				continue
			}
			if got != want {
				t.Errorf("pattern %q, file %q: %t, want %t", pattern, name, got, want)
			}
		}
	}
}

// match matches as Argo CD does. ok is false if Argo CD panics.
func match(pattern, name string) (matches, ok bool) {
	defer func() { _ = recover() }()
	return glob.Match(pattern, name), true
}
