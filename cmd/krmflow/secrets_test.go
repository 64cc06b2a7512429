package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A secretShape is a form in which output can contain a value of a Secret.
type secretShape struct {
	name string
	// resource is the resource to explain: KIND/NAME of a resource with the value.
	resource string
	// tree is an archive with the files of a root. VALUE is replaced by the value, and BASE64 by
	// the value in base64.
	tree string
}

// secretShapes are the rows of the matrix.
var secretShapes = []secretShape{
	{"plain", "Secret/s", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: BASE64}
stringData: {b: VALUE}
`},
	{"list", "Secret/s", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: s}
  stringData: {b: VALUE}
`},
	{"list of lists", "Holder/h", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: example.com/v1
kind: Holder
metadata: {name: h}
lists:
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: SecretList
    items:
    - metadata: {name: s}
      data: {a: BASE64}
`},
	{"template", "Template/t", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: t}
objects:
- apiVersion: v1
  kind: Secret
  metadata: {name: s}
  data: {a: BASE64}
  stringData: {b: VALUE}
`},
	{"custom resource", "Object/o", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: kubernetes.crossplane.io/v1alpha2
kind: Object
metadata: {name: o}
spec:
  forProvider:
    manifest:
      apiVersion: v1
      kind: Secret
      metadata: {name: s}
      stringData: {b: VALUE}
`},
	{"text", "ConfigMap/c", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  yaml: |
    kind: Something
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: s}
    stringData: {b: VALUE}
  json: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"BASE64"}}'
  script: |
    kubectl apply -f- <<E
    kind: Secret
    metadata: {name: s}
    stringData: {b: VALUE}
    E
`},
	{"file in a text", "ConfigMap/c", `
-- kustomization.yaml --
configMapGenerator:
- name: c
  files: [r.yaml]
  options: {disableNameSuffixHash: true}
-- r.yaml --
apiVersion: v1
kind: SecretList
items:
- metadata: {name: s}
  stringData: {b: VALUE}
`},
	{"annotation", "Secret/s", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"b":"VALUE"}}'
`},
	{"argument", "Pod/p", `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    args:
    - |
      apiVersion: v1
      kind: Secret
      metadata: {name: s}
      stringData: {b: VALUE}
`},
}

// A secretOutput is a command whose output others may see. Its directory has the roots old and new
// with different values, the output of old in out and old.yaml, and dir, in which a function
// changes old to new.
type secretOutput struct {
	args string // RESOURCE is the resource of the shape
	code int
	// has matches the output, to prove that the output concerns the root or the resource.
	has string
	// file is an output file or folder of the command that is searched as well.
	file string
}

// secretOutputs are the columns of the matrix.
var secretOutputs = []secretOutput{
	{args: "diff new --against old", has: `changed`},
	{args: "diff new --against old -o unified", has: `(?m)^@@`},
	{args: "diff new --against old -o markdown", has: `changed`},
	{args: "diff new --against old -o json", has: `"edits"`},
	{args: "diff new --against old -o html", has: `<html`},
	{args: "diff new --against old.yaml", has: `changed`},
	{args: "explain new RESOURCE", has: `new/.*\.yaml:\d`},
	{args: "explain new RESOURCE -o json", has: `new/.*\.yaml"`},
	{args: "plan new", has: `new`},
	{args: "plan new -o json", has: `"new`},
	{args: "plan new -o html", has: `<html`},
	{args: "plan new -o dot", has: `digraph`},
	{args: "plan new --against out", has: `changed|will`},
	{args: "graph new -o svg", has: `<svg`},
	{args: "graph new -o svg --detail steps", has: `<svg`},
	{args: "graph new -o mermaid --detail steps", has: `flowchart`},
	{args: "graph new -o dot --detail steps", has: `digraph`},
	{args: "test new", code: 1, has: `FAIL`},
	{args: "test new -o json", code: 1, has: `"failed"`},
	{args: "test new -o junit", code: 1, has: `<failure`},
	{args: "apply-render new -o out/ --check --report sarif=report,github", code: 10, has: `output would be changed`, file: "report"},
	{args: "apply-render new -o out/ --check --report junit=report", code: 10, has: `output would be changed`, file: "report"},
	{args: "apply-render new -o out/ --check --report json=report --log-format json --log-level debug", code: 10,
		has: `output would be changed`, file: "report"},
	{args: "apply-render new -o fresh/ --profile profile --log-level debug", has: `r\.yaml|traceEvents`, file: "profile"},
	{args: "bench -n 1 new --html page", has: `<html`, file: "page"},
	{args: "apply-render new --fail-on-secrets -o failed/", code: 1, has: `--fail-on-secrets`},
	{args: "apply-render new --fail-on-secrets", code: 1, has: `--fail-on-secrets`},
	{args: "apply-render new --redact-secrets", has: `REDACTED|UkVEQUNURUQ=`},
	{args: "apply-render new --redact-secrets -o redacted/", has: `REDACTED|UkVEQUNURUQ=`, file: "redacted"},
	{args: "run dir --dry-run --enable-alpha-plugins --enable-exec --allow-unsandboxed", has: `dir`},
	{args: "run dir --dry-run -o json --enable-alpha-plugins --enable-exec --allow-unsandboxed", has: `"dir`},
	{args: "run dir --enable-alpha-plugins --enable-exec --allow-unsandboxed", has: `dir`},
}

// TestSecretsAreHidden checks for each shape that values of Secrets occur only in rendered output,
// and that only the owner can read files with values.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the function is a shell script")
	}
	for _, shape := range secretShapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			dir := shape.write(t, s)
			shape.checkOutputs(t, s, dir)
			shape.checkModes(t, s, dir)
		})
	}
}

// checkOutputs runs all commands in the directory.
func (shape secretShape) checkOutputs(t *testing.T, s *session, dir string) {
	for _, out := range secretOutputs {
		args := strings.ReplaceAll(out.args, "RESOURCE", shape.resource)
		if strings.HasPrefix(args, "run ") && strings.Contains(shape.tree, "secretGenerator") {
			continue // without the Kustomization no file shows which values belong to a Secret
		}
		text, code := krmflowIn(s, dir, strings.Fields(args)...)
		if out.file != "" {
			text = append(text, textsIn(t, filepath.Join(dir, out.file))...)
		}
		if code != out.code || !regexp.MustCompile(out.has).Match(text) {
			t.Errorf("krmflow %s: exit code %d, want %d and output that matches %s:\n%s", args, code, out.code, out.has, text)
		}
		if hasCanary(text) {
			t.Errorf("krmflow %s has a value:\n%s", args, text)
		}
	}
}

// TestOutputWithoutSecrets checks that output without values is neither refused nor changed.
func TestOutputWithoutSecrets(t *testing.T) {
	s := newSession(t)
	dir := secretShape{tree: `
-- kustomization.yaml --
resources: [r.yaml]
-- r.yaml --
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: s}
spec:
  encryptedData: {a: VALUE}
  template: {metadata: {name: s}, type: Opaque, data: {b: VALUE}}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: e}
spec: {target: {template: {data: {a: 'VALUE {{ .b }}'}}}}
---
apiVersion: example.com/v1
kind: Secret
metadata: {name: o}
data: {a: VALUE}
---
apiVersion: example.com/v1
kind: Reader
metadata: {name: r}
spec: {from: {apiVersion: v1, kind: Secret, name: VALUE, namespace: n}}
`}.write(t, s)
	plain, code := krmflowIn(s, dir, "apply-render", "new", "--fail-on-secrets")
	if code != 0 {
		t.Errorf("--fail-on-secrets: exit code %d\n%s", code, plain)
	}
	if redacted, code := krmflowIn(s, dir, "apply-render", "new", "--redact-secrets"); code != 0 || !bytes.Equal(plain, redacted) {
		t.Errorf("--redact-secrets: exit code %d\n%s", code, redacted)
	}
	if shown, _ := krmflowIn(s, dir, "diff", "new", "--against", "old"); bytes.Count(shown, []byte("CANARY")) < 2*5 {
		t.Errorf("diff hides something:\n%s", shown)
	}
}

// write writes the directory for the commands and returns it.
func (shape secretShape) write(t *testing.T, s *session) string {
	dir := t.TempDir()
	old, now := shape.with("CANARY-one"), shape.with("CANARY-two")
	writeArchive(t, filepath.Join(dir, "old"), old)
	writeArchive(t, filepath.Join(dir, "new"), now)
	writeArchive(t, filepath.Join(dir, "dir"), old+secretFunction)
	if err := errors.Join(os.Remove(filepath.Join(dir, "dir", "kustomization.yaml")),
		os.Chmod(filepath.Join(dir, "dir", "fn.sh"), 0o755)); err != nil {
		t.Fatal(err)
	}
	golden, code := krmflowIn(s, dir, "build", "old")
	if code != 0 {
		t.Fatalf("old cannot be rendered:\n%s", golden)
	}
	writeArchive(t, filepath.Join(dir, "new"),
		"-- krmflow-test.yaml --\napiVersion: krmflow.dev/v1alpha1\nkind: Test\ntests:\n- name: golden\n  golden: golden.yaml\n")
	if err := os.WriteFile(filepath.Join(dir, "new", "golden.yaml"), golden, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"out/", "old.yaml"} {
		if text, code := krmflowIn(s, dir, "apply-render", "old", "-o", out); code != 0 {
			t.Fatalf("old cannot be written:\n%s", text)
		}
	}
	return dir
}

// secretFunction contains the files of a function that changes old to new.
const secretFunction = `
-- fn.yaml --
apiVersion: example.com/v1
kind: Fn
metadata:
  name: fn
  annotations: {config.kubernetes.io/function: 'exec: {path: ./fn.sh}'}
-- fn.sh --
#!/bin/sh
sed 's/CANARY-one/CANARY-two/g; s/Q0FOQVJZLW9uZQ==/Q0FOQVJZLXR3bw==/g'
`

// with returns the archive of a tree with a value.
func (shape secretShape) with(value string) string {
	return strings.NewReplacer("VALUE", value, "BASE64", base64.StdEncoding.EncodeToString([]byte(value))).Replace(shape.tree)
}

func writeArchive(t *testing.T, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// krmflowIn runs krmflow in a directory and returns its stdout and stderr, and its exit code.
func krmflowIn(s *session, dir string, args ...string) ([]byte, int) {
	s.t.Helper()
	o := s.run(dir, []string{"XDG_CACHE_HOME=" + filepath.Join(dir, ".cache"), "NO_COLOR=1"}, args...)
	return o.Combined, o.Code
}

// textsIn returns the content of a file, or of all files of a folder.
func textsIn(t *testing.T, path string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, text...)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

// hasCanary reports whether a text contains the start of the values, unencoded or in base64 at any
// offset.
func hasCanary(text []byte) bool {
	for _, before := range []string{"", "x", "xx"} {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(before + "CANARY"))
		// The first digits include bits of the preceding bytes, and the last ones bits of the
		// following bytes.
		if bytes.Contains(text, []byte(encoded[(len(before)*8+5)/6:(len(before)+6)*8/6])) {
			return true
		}
	}
	return bytes.Contains(text, []byte("CANARY"))
}

// checkModes checks in all layouts that only the owner can read files with values.
func (shape secretShape) checkModes(t *testing.T, s *session, dir string) {
	for _, args := range []string{"apply-render old -o modes/each/", "apply-render old -o modes/single/ --layout single",
		"apply-render old -o modes/file.yaml", "build old -o modes/build.yaml"} {
		if text, code := krmflowIn(s, dir, strings.Fields(args)...); code != 0 {
			t.Errorf("krmflow %s: exit code %d\n%s", args, code, text)
		}
	}
	found := 0
	err := filepath.WalkDir(filepath.Join(dir, "modes"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !hasCanary(text) {
			return err
		}
		found++
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, want 0600 (%v)", path, info.Mode().Perm(), err)
		}
		return nil
	})
	if err != nil || found < 4 {
		t.Errorf("%d files with values, want at least 4 (%v)", found, err)
	}
}
