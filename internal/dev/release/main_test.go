package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"go.yaml.in/yaml/v3"
)

// TestReleaseIsReproducible makes a release for this machine twice and compares the bytes.
func TestReleaseIsReproducible(t *testing.T) {
	longtest.OnlyAll(t)
	t.Chdir("../../..")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		t.Setenv("TMPDIR", t.TempDir())
		if i == 1 {
			t.Setenv("TZ", "Asia/Tokyo")
			t.Setenv("GOFLAGS", "-v")
		}
		if err := release("v1.2.3", dir, []string{platform}, []string{"env", "CGO_ENABLED=0", "go", "build"}); err != nil {
			t.Fatal(err)
		}
	}
	base := "krmflow_v1.2.3_" + strings.ReplaceAll(platform, "/", "_")
	archive := base + ".tar.gz"
	if runtime.GOOS == "windows" {
		t.Skip("the archive is another one")
	}
	for _, name := range []string{archive, base + ".cdx.json", strings.Replace(base, "krmflow", "krmflow-sops", 1) + ".cdx.json",
		strings.Replace(base, "krmflow", "krmflow-cel", 1) + ".cdx.json", "krew.yaml", "SHA256SUMS"} {
		if !bytes.Equal(read(t, dirs[0], name), read(t, dirs[1], name)) {
			t.Errorf("%s is another one the second time", name)
		}
	}
	files := unpack(t, read(t, dirs[0], archive))
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"krmflow", "LICENSE", "NOTICE", "README.md", "THIRD-PARTY-LICENSES",
		"functions/THIRD-PARTY-LICENSES", "functions/krmflow-sops", "functions/krmflow-cel", "functions/catalog.yaml"}; !slices.Equal(names,
		want) {
		t.Errorf("the archive has %q", names)
	}
	program := filepath.Join(t.TempDir(), "krmflow")
	if err := os.WriteFile(program, files[0].data, os.FileMode(files[0].Mode)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "version", "--short").CombinedOutput(); err != nil || string(out) != "v1.2.3\n" {
		t.Errorf("version: %q, %v", out, err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(files[8].data))
	if !bytes.Contains(files[0].data, []byte(digest)) {
		t.Errorf("krmflow does not have the digest of its catalog, %s", digest)
	}
	if text := string(files[4].data); !strings.Contains(text, "==== github.com/spf13/cobra v") ||
		!strings.Contains(text, "==== Go: LICENSE") {
		t.Error("licenses are missing")
	}
	if sums, err := exec.Command("sh", "-c", `cd "$1" && sha256sum -c SHA256SUMS`, "sh", dirs[0]).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, sums)
	}
	if krew := string(read(t, dirs[0], "krew.yaml")); !strings.Contains(krew, "  version: v1.2.3\n") ||
		!strings.Contains(krew, "/v1.2.3/"+archive+"\n    sha256: ") {
		t.Errorf("for krew: %s", krew)
	}
	checkBill(t, read(t, dirs[0], base+".cdx.json"))
	if err := release("v1.2.3", dirs[0], nil, []string{"go"}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a folder that is not empty: %v", err)
	}
}

// checkBill checks that a bill of materials lists the modules of the program.
func checkBill(t *testing.T, text []byte) {
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Metadata.Component.PURL != "pkg:golang/github.com/krmflow/krmflow@v1.2.3" {
		t.Errorf("%+v", b.Metadata)
	}
	seen := map[string]component{}
	for _, c := range b.Components {
		if _, ok := seen[c.Ref]; ok || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%+v", c)
		}
		seen[c.Ref] = c
		seen[c.Name] = c
	}
	if std := seen["std"]; "go"+std.Version != strings.Fields(runtime.Version())[0] {
		t.Errorf("%+v, but it is %s", std, runtime.Version())
	}
	if c := seen["github.com/spf13/cobra"]; len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:") {
		t.Errorf("%+v", c)
	}
}

// TestCatalogOfFunctions checks the catalog, apart from the programs.
func TestCatalogOfFunctions(t *testing.T) {
	t.Chdir("../../..")
	to := filepath.Join(t.TempDir(), "catalog.yaml")
	sum := strings.Repeat("0a", 32)
	if err := writeCatalog(to, map[string][]pinned{"krmflow-sops": {{"krmflow-sops", "linux", "amd64", "krmflow-sops", sum}},
		"krmflow-cel": {{"krmflow-cel", "linux", "amd64", "krmflow-cel", sum}}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Spec struct {
			KRMFunctions []struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name     string
					Requires struct{ Env, Files []any }
					Runtime  struct{ Exec struct{ Programs []string } }
				}
			} `yaml:"krmFunctions"`
		}
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range list.Spec.KRMFunctions {
		v := f.Versions[0]
		names = append(names, fmt.Sprint(f.Group, "/", v.Name, " ", f.Names.Kind, " ", v.Runtime.Exec.Programs, len(v.Requires.Env),
			len(v.Requires.Files)))
	}
	if want := []string{"krmflow.dev/v1alpha1 SopsSecretGenerator [krmflow-sops] 9 7",
		"goabout.com/v1beta1 SopsSecretGenerator [SopsSecretGenerator ./SopsSecretGenerator] 9 7",
		"viaduct.ai/v1 ksops [ksops ./ksops] 9 7",
		"krmflow.dev/v1alpha1 CELValidation [krmflow-cel] 0 0"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	if strings.Count(string(text), "uri: krmflow-sops, sha256: "+sum) != 3 ||
		strings.Count(string(text), "uri: krmflow-cel, sha256: "+sum) != 1 {
		t.Errorf("%s", text)
	}
}

// TestCompiledCatalog checks that krmflow is built with the digest of the catalog.
func TestCompiledCatalog(t *testing.T) {
	dir := t.TempDir()
	if _, err := catalogDigest(dir); err == nil {
		t.Error("there is no catalog")
	}
	if err := os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	digest, err := catalogDigest(dir)
	if want := "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; err != nil || digest != want {
		t.Errorf("%s, %v", digest, err)
	}
	build := []string{"sh", "-c", `printf '%s\n' "$GOOS/$GOARCH" "$@" >"` + dir + `/args"`, "build"}
	if err := compile("v1.2.3", digest, "linux", "arm64", "out", build); err != nil {
		t.Fatal(err)
	}
	want := "linux/arm64\n-buildvcs=false\n-ldflags\n-s -w -X github.com/krmflow/krmflow/internal/cli/program.release=v1.2.3" +
		" -X github.com/krmflow/krmflow/internal/cli/settings.shippedCatalog=" + digest + "\n-o\nout\n./cmd/krmflow\n"
	if got := string(read(t, dir, "args")); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestZipHasFixedTimes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zip")
	if err := packZip(name, []file{{"main.go", "a/main.go"}}); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if len(z.File) != 1 || z.File[0].Name != "a/main.go" || !z.File[0].Modified.Equal(made) {
		t.Errorf("%+v", z.File)
	}
}

type unpacked struct {
	*tar.Header
	data []byte
}

func unpack(t *testing.T, archive []byte) (files []unpacked) {
	zr, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(made) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%+v", h)
		}
		files = append(files, unpacked{h, data})
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
