package krmflow_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"go.yaml.in/yaml/v3"
)

// run runs a program in dir and returns its output. env is added to the environment of the test.
func run(t *testing.T, dir string, env []string, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// program returns a folder with links to krmflow, also as kustomize.
func program(t *testing.T) string {
	t.Helper()
	dir, path := t.TempDir(), testbinary.Program(t, "cmd/krmflow")
	for _, name := range []string{"krmflow", "kustomize"} {
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// onPath puts krmflow on PATH, gives it a separate cache, and returns a copy of the test tree.
func onPath(t *testing.T) (tree string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("these tools are for Unix")
	}
	bin := program(t)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("CI", "") // the tests set the variables of these tools
	tree = t.TempDir()
	if err := os.CopyFS(tree, os.DirFS("testdata/kustomize/shop")); err != nil {
		t.Fatal(err)
	}
	return tree
}

// decode reads a YAML file of one or more documents. Each document is decoded into one element of
// into.
func decode(t *testing.T, file string, into ...any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	for _, x := range into {
		if err := d.Decode(x); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/kustomize/shop/golden/overlays/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHelmPlugin runs the command of the plugin for helm 4 as helm does: the arguments of
// --post-renderer-args follow the plugin's own.
func TestHelmPlugin(t *testing.T) {
	dir := onPath(t)
	var plugin struct {
		APIVersion, Type, Name, Version, Runtime string
		RuntimeConfig                            struct {
			PlatformCommand []struct {
				Command string
				Args    []string
			} `yaml:"platformCommand"`
		} `yaml:"runtimeConfig"`
	}
	decode(t, "deploy/helm/plugin.yaml", &plugin)
	if plugin.Type != "postrenderer/v1" || plugin.Name != "krmflow" || plugin.Runtime != "subprocess" {
		t.Errorf("%+v", plugin)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources: [all.yaml]\nnamePrefix: p-\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	c := plugin.RuntimeConfig.PlatformCommand[0]
	cmd := exec.Command(c.Command, append(c.Args, dir)...)
	cmd.Stdin = strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\n")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "name: p-made\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

type command struct{ Command, Args []string }

// TestArgoPlugin runs the commands of the plugin for Argo CD as its sidecar does: in the directory
// of the application, with the application's variables.
func TestArgoPlugin(t *testing.T) {
	tree := onPath(t)
	var plugin struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Init, Generate command
			Discover       struct {
				FileName string `yaml:"fileName"`
			}
		}
	}
	decode(t, "deploy/argocd/plugin/plugin.yaml", &plugin)
	if plugin.Kind != "ConfigManagementPlugin" || plugin.Metadata.Name != "krmflow" {
		t.Errorf("%+v", plugin)
	}
	app := filepath.Join(tree, "app")
	if err := os.Mkdir(app, 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(app, "composition.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("kind: Composition\ntransformers:\n- {apiVersion: builtin, kind: ResourceAccumulator, paths: [../overlays/prod]}\n")
	for dir, want := range map[string]bool{app: true, filepath.Join(tree, "overlays/prod"): false} {
		if found, err := filepath.Glob(filepath.Join(dir, plugin.Spec.Discover.FileName)); err != nil || len(found) > 0 != want {
			t.Errorf("discovered in %s: %q, %v", dir, found, err)
		}
	}
	env := []string{"ARGOCD_APP_NAME=shop", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_ENV_XDG_CACHE_HOME=/nowhere", "KUBE_VERSION=1.34",
		"ARGOCD_APP_PARAMETERS=[]"}
	inApp := func(c command) (string, string, error) {
		return run(t, app, env, c.Command[0], append(c.Command[1:], c.Args...)...)
	}
	if _, errs, err := inApp(plugin.Spec.Init); err != nil {
		t.Fatal(err, errs)
	}
	if out, errs, err := inApp(plugin.Spec.Generate); err != nil || out != golden(t, "prod") {
		t.Errorf("it renders %d bytes: %v\n%s", len(out), err, errs)
	}
	// Argo CD removes resources that are missing from the output, so an error must not look like an
	// application without resources.
	write("kind: Composition\ntransformers:\n- {apiVersion: builtin, kind: ResourceAccumulator, paths: [../overlays/pord]}\n")
	for _, c := range []command{plugin.Spec.Init, plugin.Spec.Generate} {
		if out, errs, err := inApp(c); err == nil || out != "" || !strings.Contains(errs, "composition.yaml:3") {
			t.Errorf("%q: %v\n%s%s", c, err, out, errs)
		}
	}
}

// argo is a Kustomization with the parts of Argo CD that the components patch.
const argo = `resources: [argo.yaml]
components: [component]
images: [{name: registry.example.com/krmflow, newTag: v1.2.3}]
`
const argoParts = `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec:
  template:
    spec:
      initContainers: [{name: copyutil, image: argocd}]
      containers: [{name: argocd-repo-server, image: argocd, volumeMounts: [{name: plugins, mountPath: /plugins}]}]
      volumes: [{name: plugins, emptyDir: {}}, {name: var-files, emptyDir: {}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
`

// argoDeployment applies a component of this repository to Argo CD and returns the Deployment and
// the other objects.
func argoDeployment(t *testing.T, component string) (deployment, other map[string]any) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "component"), os.DirFS("deploy/argocd/"+component)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"kustomization.yaml": argo, "argo.yaml": argoParts} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, err := run(t, dir, nil, "krmflow", "build", "-q")
	if err != nil {
		t.Fatal(err, errs)
	}
	other = map[string]any{}
	for d := yaml.NewDecoder(strings.NewReader(out)); ; {
		var x map[string]any
		if err := d.Decode(&x); err != nil {
			return deployment, other
		}
		if x["kind"] == "Deployment" {
			deployment = x
		} else {
			other[x["metadata"].(map[string]any)["name"].(string)] = x
		}
	}
}

// at returns the value at a path of keys and indexes.
func at(t *testing.T, x any, path ...any) any {
	t.Helper()
	for _, key := range path {
		switch k := key.(type) {
		case string:
			x = x.(map[string]any)[k]
		case int:
			list, _ := x.([]any)
			if k >= len(list) {
				t.Fatalf("nothing at %v", path)
			}
			x = list[k]
		}
	}
	return x
}

// TestArgoSidecar renders Argo CD with the plugin: a sidecar with the plugin file, in a ConfigMap
// whose name depends on its content.
func TestArgoSidecar(t *testing.T) {
	onPath(t)
	deployment, other := argoDeployment(t, "plugin")
	pod := at(t, deployment, "spec", "template", "spec")
	var sidecar any
	for _, c := range at(t, pod, "containers").([]any) {
		if at(t, c, "name") == "krmflow" {
			sidecar = c
		}
	}
	if sidecar == nil || at(t, sidecar, "image") != "registry.example.com/krmflow:v1.2.3" ||
		at(t, sidecar, "command", 0) != "/var/run/argocd/argocd-cmp-server" ||
		at(t, sidecar, "securityContext", "runAsUser") != 999 {
		t.Errorf("the sidecar is %v", sidecar)
	}
	for _, v := range at(t, pod, "volumes").([]any) {
		if at(t, v, "name") == "krmflow-plugin" {
			name := at(t, v, "configMap", "name").(string)
			if config, ok := other[name]; !ok || at(t, config, "data", "plugin.yaml") == nil || name == "krmflow-plugin" {
				t.Errorf("the plugin file is in %s", name)
			}
			return
		}
	}
	t.Error("there is no plugin file")
}

// TestArgoBinary runs the script that installs krmflow in Argo CD, then the kustomize commands that
// Argo CD uses, with its arguments.
func TestArgoBinary(t *testing.T) {
	tree := onPath(t)
	for _, name := range []string{"wget", "tar", "sha256sum"} {
		if _, err := exec.LookPath(name); err != nil {
			executortest.Missing(t, name)
		}
	}
	deployment, other := argoDeployment(t, "binary")
	if at(t, other["argocd-cm"], "data", "kustomize.path.krmflow") != "/krmflow/kustomize" {
		t.Errorf("%v", other)
	}
	var install []any
	for _, c := range at(t, deployment, "spec", "template", "spec", "initContainers").([]any) {
		if at(t, c, "name") == "krmflow" {
			install = append(at(t, c, "command").([]any), at(t, c, "args").([]any)...)
		}
	}
	var words []string
	for _, w := range install {
		words = append(words, w.(string))
	}
	bin := program(t)
	served, packed := t.TempDir(), t.TempDir()
	// tar fails if another test builds the shared program meanwhile, which changes its times.
	if out, errs, err := run(t, bin, nil, "cp", "-L", "krmflow", packed); err != nil {
		t.Fatal(out, errs, err)
	}
	if out, errs, err := run(t, packed, nil, "tar", "-czf", filepath.Join(served, "a.tar.gz"), "krmflow"); err != nil {
		t.Fatal(out, errs, err)
	}
	data, err := os.ReadFile(filepath.Join(served, "a.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(served)))
	defer server.Close()
	dir := t.TempDir()
	env := []string{"DIR=" + dir, "URL=" + server.URL + "/a.tar.gz", "no_proxy=127.0.0.1", "SHA256=" + strings.Repeat("0", 64)}
	if _, _, err := run(t, dir, env, words[0], words[1:]...); err == nil {
		t.Error("an archive with another checksum is taken")
	}
	env[3] = fmt.Sprintf("SHA256=%x", sha256.Sum256(data))
	if out, errs, err := run(t, dir, env, words[0], words[1:]...); err != nil {
		t.Fatal(out, errs, err)
	}
	kustomize := filepath.Join(dir, "kustomize")
	app := filepath.Join(tree, "overlays/prod")
	for _, args := range []string{"version --short", "edit set nameprefix -- argo-", "edit set image cart=cart:v9",
		"edit add label --force app:shop", "edit set namespace -- shop"} {
		if out, errs, err := run(t, app, nil, kustomize, strings.Fields(args)...); err != nil {
			t.Errorf("%s: %v\n%s%s", args, err, out, errs)
		}
	}
	out, errs, err := run(t, tree, nil, kustomize, "build", app)
	if err != nil || !strings.Contains(out, "name: argo-") || !strings.Contains(out, "namespace: shop") {
		t.Errorf("%v\n%s", err, errs)
	}
}

// TestPreCommit runs the hooks as pre-commit does: the entry, then args, then files.
func TestPreCommit(t *testing.T) {
	tree := onPath(t)
	var hooks []struct {
		ID, Entry, Language string
		PassFilenames       *bool `yaml:"pass_filenames"`
		Files               string
	}
	decode(t, ".pre-commit-hooks.yaml", &hooks)
	hook := func(id string, args ...string) error {
		t.Helper()
		for _, h := range hooks {
			if h.ID == id && h.Language == "golang" {
				words := append(strings.Fields(h.Entry), args...)
				_, _, err := run(t, tree, nil, words[0], words[1:]...)
				return err
			}
		}
		t.Fatalf("there is no hook %s", id)
		return nil
	}
	where := []string{"-R", "overlays", "-o", "rendered/"}
	if hook("krmflow-check", where...) == nil || hook("krmflow-render", where...) != nil || hook("krmflow-check", where...) != nil {
		t.Error("check does not find what render does")
	}
	catalog, err := filepath.Abs("testdata/examples/webapp/catalog.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := hook("krmflow-lint-catalog", catalog); err != nil {
		t.Error(err)
	}
}

// TestDocumentedSwitch runs the commands in docs/from-kustomize.md and compares their output.
func TestDocumentedSwitch(t *testing.T) {
	if n := documented(t, "from-kustomize", onPath(t)); n == 0 {
		t.Error("no commands")
	}
}

// documented runs the console blocks of a page in a tree, compares their output, and returns the
// number of commands.
func documented(t *testing.T, page, tree string) (commands int) {
	t.Helper()
	text, err := os.ReadFile("docs/" + page + ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllSubmatch(text, -1) {
		for _, c := range strings.Split("\n"+string(block[1]), "\n$ ")[1:] {
			commands++
			command, want, _ := strings.Cut(strings.TrimSuffix(c, "\n"), "\n")
			out, errs, err := run(t, tree, nil, "sh", "-c", command)
			if err != nil || strings.TrimSuffix(out+errs, "\n") != strings.TrimSuffix(want, "\n") {
				t.Errorf("%s: %v\n%s%s", command, err, out, errs)
			}
		}
	}
	return commands
}

// TestImageRendersReadOnlyTree builds the image and uses it to render a tree that is mounted
// read-only.
func TestImageRendersReadOnlyTree(t *testing.T) {
	longtest.OnlyAll(t)
	if _, err := exec.LookPath("podman"); err != nil {
		executortest.Missing(t, "podman")
	}
	dir, err := os.MkdirTemp("", "image-") // podman is slow if the path of its storage is long
	if err != nil {
		t.Fatal(err)
	}
	vars, err := executortest.PodmanConfig(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	t.Cleanup(func() {
		run(t, dir, env, "podman", "rm", "-f", "-a")
		os.RemoveAll(dir)
	})
	if _, errs, err := run(t, ".", env, "make", "image", "IMAGE=localhost/krmflow:test", "VERSION=v1.2.3",
		"GOBUILD=env CGO_ENABLED=0 go build"); err != nil {
		t.Fatal(err, errs)
	}
	tree, err := filepath.Abs("testdata/kustomize/shop")
	if err != nil {
		t.Fatal(err)
	}
	podman := func(args ...string) string {
		out, errs, err := run(t, dir, env, "podman",
			append([]string{"run", "--rm", "--read-only", "--network=none", "--volume=" + tree + ":/work:ro"}, args...)...)
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, errs)
		}
		return out
	}
	if got := podman("localhost/krmflow:test", "build", "overlays/prod"); got != golden(t, "prod") {
		t.Errorf("it renders %d bytes", len(got))
	}
	if got := podman("localhost/krmflow:test", "version", "--short"); got != "v1.2.3\n" {
		t.Errorf("version %q", got)
	}
	if got := podman("--entrypoint=kustomize", "localhost/krmflow:test", "version"); got != "v5.8.2\n" {
		t.Errorf("as kustomize, version %q", got)
	}
	// A function without stdin refuses its input, so it can start.
	out, errs, err := run(t, dir, env, "podman", "run", "--rm", "--network=none", "--entrypoint=/usr/lib/krmflow/functions/krmflow-sops",
		"localhost/krmflow:test")
	if err == nil || out != "" || !strings.HasPrefix(errs, "stdin: not a ResourceList") {
		t.Errorf("krmflow-sops: %v, %q, %q", err, out, errs)
	}
	config, _, _ := run(t, dir, env, "podman", "image", "inspect", "--format", "{{.User}} {{.Created}} {{.Config.Entrypoint}}",
		"localhost/krmflow:test")
	if !strings.HasPrefix(config, "65532:65532 1970-01-01 ") {
		t.Errorf("the image is %s", config)
	}
}
