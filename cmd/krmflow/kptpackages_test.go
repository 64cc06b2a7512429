package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	execfn "github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

// hasKptFunctions reports whether the stand-ins for functions of kpt are installed. In CI, where
// their tests must not be skipped, missing ones are an error.
func hasKptFunctions() (bool, error) {
	_, err := exec.LookPath("kpt-functions")
	if err != nil && executortest.MustTest() {
		return false, fmt.Errorf("%w: packages of kpt must be tested here: make kpt-functions", err)
	}
	return err == nil, nil
}

// kptPackages are packages of kpt's own tests of kpt fn render, which are part of kpt's module.
// The value says whether krmflow run makes the same bytes as kpt, and otherwise why it makes only
// the same values.
var kptPackages = []struct{ name, difference string }{
	{"basicpipeline", ""},
	{"resource-deletion", ""},
	{"fnresult-fn-success", ""},
	{"selectors/generator", "order of fields in a new resource"},

	{"all-resource-deletion", ""},
	{"basicpipeline-symlink", ""},
	{"default-runtime", ""},
	{"fnconfig", "order of labels and namespace"},
	{"fnconfig-ancestorfn-not-mutate-subpkg-config", ""},
	{"fnconfig-in-subdir", ""},
	{"fnconfig-pkgfn-refers-subdir", ""},
	{"format-on-success", ""},
	{"generator", "order of fields in a new resource"},
	{"modify-path-annotation", "a blank line after a comment"},
	{"no-pipeline-in-subpackage", ""},
	{"path-index-current", ""},
	{"path-index-descendent", ""},
	{"preserve-order-null-values", ""},
	{"selectors/basicpipeline", ""},
	{"selectors/exclude", ""},
	{"short-image-path", ""},
	{"subpkg-has-samename-subdir", ""},
	{"subpkg-resource-deletion", "order of labels and namespace"},
	{"subpkgs", "order of labels and namespace"},
	{"subpkgs-with-krmignore", "order of labels and namespace"},
	{"success-stdout", ""},
	{"validate-generated-resource", ""},
}

// kptImage matches the field image of a step. The last part of the name is the function.
var kptImage = regexp.MustCompile(`(?m)image: \S*?([a-z-]+)(?:[:@]\S*)?$`)

// TestPackagesOfKpt runs kpt's packages with krmflow run and compares the files with those of kpt
// fn render. The functions are stand-ins on kpt's SDK: see testdata/functions/kpt.
func TestPackagesOfKpt(t *testing.T) {
	if ok, err := hasSandbox(execfn.Probe()); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip("this machine does not have all of the sandbox of programs")
	}
	if ok, err := hasKptFunctions(); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip("no kpt-functions on PATH: make kpt-functions builds it")
	}
	program, err := exec.LookPath("kpt-functions")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kptdev/kpt")
	list.Dir = "../../testdata/functions/kpt"
	out, err := list.Output()
	if err != nil || len(out) == 1 {
		t.Fatalf("no folder of kpt's module: %v", err)
	}
	packages := filepath.Join(strings.TrimSpace(string(out)), "e2e", "testdata", "fn-render")
	s := newSession(t)
	for _, p := range kptPackages[:longtest.Sample(4, len(kptPackages), len(kptPackages))] {
		from := filepath.Join(packages, filepath.FromSlash(p.name))
		dir, want := t.TempDir(), t.TempDir()
		copyKptPackage(t, from, want)
		apply := exec.Command("git", "apply", "--whitespace=nowarn", filepath.Join(from, ".expected", "diff.patch"))
		apply.Dir, apply.Env = want, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(want))
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", p.name, err, out)
		}
		copyKptPackage(t, from, dir)
		useKptPrograms(t, want, "")
		useKptPrograms(t, dir, program)
		o := s.run(dir, nil, "run", ".", "--enable-alpha-plugins", "--enable-exec", "--allow-delete", "-q")
		if o.Code != 0 {
			t.Errorf("%s: exit code %d\n%s", p.name, o.Code, o.Stderr)
			continue
		}
		form := func(text string) string { return text }
		if p.difference != "" {
			form = func(text string) string { return valuesOf(t, text) }
		}
		if diff := cmp.Diff(kptFiles(t, want, form), kptFiles(t, dir, form)); diff != "" {
			t.Errorf("%s: krmflow's files (+) are not kpt's (-):\n%s", p.name, diff)
		}
	}
}

// copyKptPackage copies a package without its expectations. Files of the module cache are
// read-only, the copies are not.
func copyKptPackage(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.Name() == ".expected" {
			return fs.SkipDir
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// useKptPrograms replaces the images in Kptfiles by programs, and puts these beside the Kptfiles
// unless program is empty.
func useKptPrograms(t *testing.T, dir, program string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "Kptfile" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range kptImage.FindAllSubmatch(text, -1) {
			to := filepath.Join(filepath.Dir(path), string(m[1]))
			if _, err := os.Lstat(to); err == nil || program == "" {
				continue
			}
			data, err := os.ReadFile(program)
			if err != nil {
				return err
			}
			if err := os.WriteFile(to, data, 0o755); err != nil {
				return err
			}
		}
		return os.WriteFile(path, kptImage.ReplaceAll(text, []byte("exec: ./$1")), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kptFiles returns the YAML files and Kptfiles of a directory.
func kptFiles(t *testing.T, dir string, form func(string) string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".krmflow" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && (d.Name() == "Kptfile" || filepath.Ext(path) == ".yaml") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(dir, path)
			files[filepath.ToSlash(rel)] = form(string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// valuesOf returns the values of resources as JSON.
func valuesOf(t *testing.T, text string) string {
	t.Helper()
	nodes, err := kio.FromBytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, n := range nodes {
		text, err := n.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}
