package main

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestSameBytes checks that two builds of a module from a proxy make the same archives and
// catalog, and that a module that is not served is left out.
func TestSameBytes(t *testing.T) {
	proxy := filepath.ToSlash(moduleProxy(t))
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	functions = "# module\n" +
		"example.com/fn/echo\tv0.1.0\tEcho\ttrue\texample.com/echo:v0.1.0 example.com/echo:v0.1\n" +
		"example.com/fn/absent\tv0.1.0\tAbsent\ttrue\texample.com/absent:v0.1.0\n"
	var first map[string]string
	for range 2 {
		out := t.TempDir()
		err := run(out, []string{runtime.GOOS + "/" + runtime.GOARCH})
		if err == nil || err.Error() != "1 of 2 functions could not be built; catalog.yaml lists the others" {
			t.Fatalf("got %v", err)
		}
		files := map[string]string{}
		names, _ := filepath.Glob(filepath.Join(out, "*"))
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = string(text)
		}
		if first == nil {
			first = files
		}
		if !maps.Equal(first, files) || len(files) != 2 {
			t.Errorf("the second run made different files: %q", slices.Sorted(maps.Keys(files)))
		}
	}
	text := first["catalog.yaml"]
	for _, want := range []string{"names: {kind: Echo}", "bin: echo, os: " + runtime.GOOS,
		"container: {image: 'example.com/echo:v0.1.0', images: ['example.com/echo:v0.1']}"} {
		if !strings.Contains(text, want) {
			t.Errorf("the catalog has no %q:\n%s", want, text)
		}
	}
}

// TestTable checks that the built-in table makes a valid catalog.
func TestTable(t *testing.T) {
	list, err := parse(functions)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		var b bytes.Buffer
		f.platforms = []string{"{bin: f, os: linux, arch: amd64, uri: f.tar.gz, sha256: " + strings.Repeat("1", 64) + "}"}
		f.append(&b)
		if f.idempotent != "true" && f.idempotent != "false" || len(f.images) == 0 {
			t.Errorf("%s: %+v", f.name(), f)
		}
		for _, image := range f.images {
			if !strings.Contains(b.String(), image) {
				t.Errorf("the entry has no %s:\n%s", image, b.Bytes())
			}
		}
	}
}

// moduleProxy returns a folder that serves example.com/fn/echo v0.1.0 as a Go proxy.
func moduleProxy(t *testing.T) string {
	dir := t.TempDir()
	versions := filepath.Join(dir, "example.com", "fn", "echo", "@v")
	if err := os.MkdirAll(versions, 0o777); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":  "module example.com/fn/echo\n\ngo 1.20\n",
		"main.go": "package main\n\nimport (\n\t\"io\"\n\t\"os\"\n)\n\nfunc main() { io.Copy(os.Stdout, os.Stdin) }\n",
		"LICENSE": "Do what you want.\n",
	}
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := zw.Create("example.com/fn/echo@v0.1.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	served := map[string]string{"v0.1.0.info": `{"Version": "v0.1.0"}`, "v0.1.0.mod": files["go.mod"], "v0.1.0.zip": b.String()}
	for name, text := range served {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
