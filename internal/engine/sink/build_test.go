package sink

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

func TestWriteBuild(t *testing.T) {
	src := &yaml.Source{Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ../up}
`)}
	docs, err := src.Documents()
	if err != nil {
		t.Fatal(err)
	}
	l := krm.NewList()
	for _, d := range docs {
		l.Append(krm.NewResource(d.Value, nil))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "other.yaml"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := CheckBuild(dir); err != nil {
		t.Fatal(err)
	}
	var wrote []krm.Digest
	note := func(sum krm.Digest) { wrote = append(wrote, sum) }
	if err := WriteBuild(dir, l, note); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := []string{"other.yaml", "v1_configmap_..%2Fup.yaml", "v1_configmap_x.yaml", "v1_secret_s.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	wantPrivate(t, filepath.Join(dir, "v1_secret_s.yaml"))

	file := filepath.Join(dir, "all.yaml")
	if err := WriteBuild(file, l, note); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	if len(wrote) != 1 || wrote[0] != krm.DigestOf(text) {
		t.Errorf("wrote was called with %v", wrote)
	}
	if strings.Count(string(text), "---\n") != 2 || strings.HasPrefix(string(text), "---") {
		t.Errorf("stream: %q", text)
	}
	wantPrivate(t, file)
}

func wantPrivate(t *testing.T, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("%s: mode %v", file, info.Mode())
	}
}
