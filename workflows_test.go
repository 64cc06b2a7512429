package krmflow_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors/executortest"
)

// The workflows in deploy/argocd and deploy/flux run in a clone of a bare repository with the files
// of testdata/gitops. git takes this repository for the one at fleetURL.
const fleetURL = "https://github.com/example/fleet"

// A fleet is a job in a clone.
type fleet struct {
	*job
	controller string
	origin     string // the bare repository
	temp       string // RUNNER_TEMP of the last run
	last       ran    // the last run of the action
}

func newFleet(t *testing.T, controller string) *fleet {
	onPath(t)
	for _, name := range []string{"bash", "git", "curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			executortest.Missing(t, name)
		}
	}
	t.Setenv("no_proxy", "127.0.0.1")
	f := &fleet{job: &job{t: t, tree: filepath.Join(t.TempDir(), "fleet"), github: newGitHub(t)}, controller: controller,
		origin: filepath.Join(t.TempDir(), "fleet.git")}
	for i, pair := range [][2]string{{"url." + f.origin + ".insteadOf", fleetURL}, {"user.name", "a"}, {"user.email", "a@example.com"}} {
		t.Setenv(fmt.Sprint("GIT_CONFIG_KEY_", i), pair[0])
		t.Setenv(fmt.Sprint("GIT_CONFIG_VALUE_", i), pair[1])
		t.Setenv("GIT_CONFIG_COUNT", fmt.Sprint(i+1))
	}
	if err := os.CopyFS(f.tree, os.DirFS("testdata/gitops/"+controller)); err != nil {
		t.Fatal(err)
	}
	f.git("init", "-q", "--bare", "-b", "main", f.origin)
	f.git("init", "-q", "-b", "main", ".")
	f.git("remote", "add", "origin", fleetURL)
	f.commit()
	f.git("push", "-q", "origin", "main")
	return f
}

// edit replaces text in a file of the tree.
func (f *fleet) edit(name, old, text string) {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.tree, name))
	if err != nil || !bytes.Contains(data, []byte(old)) {
		f.t.Fatalf("%s has no %s: %v", name, old, err)
	}
	f.write(name, strings.Replace(string(data), old, text, 1))
}

// run runs the steps of a workflow as GitHub does, except for those of other actions. env replaces
// variables of the workflow. It returns the first error, with the output.
func (f *fleet) run(workflow string, env ...string) error {
	f.t.Helper()
	var w struct {
		Name string
		Env  map[string]string
		Jobs map[string]struct{ Steps []step }
	}
	decode(f.t, filepath.Join("deploy", f.controller, workflow+".yaml"), &w)
	if w.Name != workflow || len(w.Jobs) != 1 {
		f.t.Fatalf("%s.yaml has the name %s and %d jobs", workflow, w.Name, len(w.Jobs))
	}
	f.temp = f.t.TempDir()
	vars := []string{"CI=true", "RUNNER_TEMP=" + f.temp, "GITHUB_SHA=" + f.git("rev-parse", "HEAD")}
	for name, value := range w.Env {
		vars = append(vars, name+"="+strings.ReplaceAll(value, "${{ github.repository }}", "example/fleet"))
	}
	vars = append(vars, env...)
	for _, s := range w.Jobs[workflow].Steps {
		switch {
		case strings.HasPrefix(s.Uses, "krmflow/krmflow@"):
			if f.last = f.job.run(s.With); f.last.err != nil {
				return fmt.Errorf("%w\n%s", f.last.err, f.last.printed)
			}
		case s.Run != "":
			out, errs, err := run(f.t, f.tree, vars, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
			if err != nil {
				return fmt.Errorf("%s: %w\n%s%s", s.Name, err, out, errs)
			}
		}
	}
	return nil
}

// must runs a workflow that succeeds.
func (f *fleet) must(workflow string, env ...string) {
	f.t.Helper()
	if err := f.run(workflow, env...); err != nil {
		f.t.Fatal(err)
	}
}

// preview commits all changes to a branch and runs the preview of a pull request. It returns the
// comment.
func (f *fleet) preview() string {
	f.t.Helper()
	f.git("checkout", "-q", "-b", "change")
	f.commit()
	f.pullRequest()
	f.must("preview")
	if len(f.github.comments) != 1 {
		f.t.Fatalf("%d comments\n%s", len(f.github.comments), f.last.printed)
	}
	return f.github.comments[0].Body
}

// krmflow runs krmflow in the tree and returns its output.
func (f *fleet) krmflow(args ...string) string {
	f.t.Helper()
	out, errs, err := run(f.t, f.tree, nil, "krmflow", args...)
	if err != nil {
		f.t.Fatal(args, err, errs)
	}
	return out
}

// manifests returns the content of the YAML files in a directory.
func manifests(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no manifests in %s: %v", dir, err)
	}
	var all string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all += filepath.Base(name) + "\n" + string(data)
	}
	return all
}

// deployed renders the objects in a file of deploy, as the controller does for the content of a
// source in dir, and returns the folder.
func (f *fleet) deployed(file, url, dir string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join("deploy", f.controller, file))
	if err != nil {
		f.t.Fatal(err)
	}
	tree, out := f.t.TempDir(), f.t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, file), text, 0o666); err != nil {
		f.t.Fatal(err)
	}
	f.krmflow("apply-render", "-R", tree, "--gitops="+f.controller, "--source="+url+"="+dir, "-o", out+"/", "--force")
	return out
}

func TestArgoWorkflows(t *testing.T) {
	t.Run("preview", func(t *testing.T) {
		f := newFleet(t, "argocd")
		f.edit("apps/web.yaml", `replicas: "3"`, `replicas: "4"`)
		comment := f.preview()
		if !strings.Contains(comment, "+ spec.replicas: 4  # apps/web.yaml:") || strings.Contains(comment, "web-us") ||
			f.last.outputs["affected"] != `["Application/argocd/web-eu"]` {
			t.Errorf("%v\n%s", f.last.outputs, comment)
		}
	})
	t.Run("validate", func(t *testing.T) {
		f := newFleet(t, "argocd")
		f.must("validate")
		f.edit("web/base/deployment.yaml", "replicas: 1", "replica: 1")
		if err := f.run("validate"); err == nil || !strings.Contains(err.Error(), "spec.replica: unknown field") {
			t.Error(err)
		}
		f.edit("apps/redis.yaml", "path: redis", "path: radis")
		if err := f.run("validate"); err == nil || !strings.Contains(err.Error(), `no directory "radis"`) {
			t.Error(err)
		}
	})
	t.Run("render", func(t *testing.T) {
		f := newFleet(t, "argocd")
		commits := func() string { return f.git("-C", f.origin, "rev-list", "--count", "rendered") }
		for range 2 {
			f.must("render")
			f.git("worktree", "remove", "--force", filepath.Join(f.temp, "branch"))
			f.git("branch", "-D", "rendered")
			if n := commits(); n != "1" {
				t.Errorf("%s commits for equal output", n)
			}
		}
		f.edit("apps/web.yaml", `replicas: "3"`, `replicas: "4"`)
		f.must("render")
		if n := commits(); n != "2" {
			t.Errorf("%s commits for two outputs", n)
		}
		branch := t.TempDir()
		f.git("clone", "-q", "-b", "rendered", f.origin, branch)
		out := f.deployed("rendered.yaml", fleetURL, branch)
		for _, name := range []string{"redis", "web-eu", "web-us"} {
			app := filepath.Join("Application/argocd", name)
			got := manifests(t, filepath.Join(out, app))
			if got != manifests(t, filepath.Join(branch, "manifests", app)) {
				t.Errorf("%s is deployed as\n%s", name, got)
			}
		}
		if text := manifests(t, filepath.Join(branch, "manifests/Application/argocd/web-eu")); !strings.Contains(text, "replicas: 4") {
			t.Error(text)
		}
		f.write("web/base/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n")
		f.edit("web/base/kustomization.yaml", "[", "[secret.yaml, ")
		f.git("worktree", "remove", "--force", filepath.Join(f.temp, "branch"))
		f.git("branch", "-D", "rendered")
		if err := f.run("render"); err == nil || commits() != "2" {
			t.Errorf("a Secret is committed: %v", err)
		}
	})
}

func TestFluxWorkflows(t *testing.T) {
	t.Run("preview", func(t *testing.T) {
		f := newFleet(t, "flux")
		f.edit("clusters/cluster.yaml", "eu-1", "eu-2")
		comment := f.preview()
		if !strings.Contains(comment, "eu-2") || f.last.outputs["affected"] != `["Kustomization/flux-system/apps"]` {
			t.Errorf("%v\n%s", f.last.outputs, comment)
		}
	})
	t.Run("validate", func(t *testing.T) {
		f := newFleet(t, "flux")
		f.must("validate")
		f.edit("clusters/apps.yaml", "value: 3", "value: x")
		if err := f.run("validate"); err == nil || !strings.Contains(err.Error(), "must be an integer") {
			t.Error(err)
		}
		f.edit("clusters/apps.yaml", "name: fleet", "name: flit")
		if err := f.run("validate"); err == nil || !strings.Contains(err.Error(), "is not in the searched directories") {
			t.Error(err)
		}
	})
	t.Run("render", func(t *testing.T) {
		f := newFleet(t, "flux")
		address := registry(t)
		f.must("render", "ARTIFACT=oci://"+address+"/fleet/rendered:main")
		get, err := http.NewRequest(http.MethodGet, "http://"+address+"/v2/fleet/rendered/manifests/main", nil)
		if err != nil {
			t.Fatal(err)
		}
		get.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
		resp, err := http.DefaultClient.Do(get)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
		folder := filepath.Join(f.temp, "rendered")
		out := f.deployed("app.yaml", "oci://ghcr.io/example/fleet/rendered", folder)
		got := manifests(t, filepath.Join(out, "Kustomization/flux-system/apps"))
		if got != manifests(t, filepath.Join(folder, "Kustomization/flux-system/apps")) || !strings.Contains(got, "value: eu-1") {
			t.Error(got)
		}
	})
}

// registry starts a registry and returns its address.
func registry(t *testing.T) string {
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		executortest.Missing(t, "docker-registry")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	config := fmt.Sprintf(
		"version: 0.1\nlog: {accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n",
		dir, address)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 100 {
		if resp, err := http.Get("http://" + address + "/v2/"); err == nil {
			resp.Body.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the registry does not start")
	return ""
}

// TestDocumentedGitOps runs the commands in docs/argocd.md and docs/flux.md and compares their
// output.
func TestDocumentedGitOps(t *testing.T) {
	for _, controller := range []string{"argocd", "flux"} {
		if n := documented(t, controller, newFleet(t, controller).tree); n < 3 {
			t.Errorf("docs/%s.md has %d commands", controller, n)
		}
	}
}
