package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
)

// A root may have files in its own subfolders. They change and disappear like other files, by
// exchange and by journal, and a nested root keeps its files.
func TestOutputTemplate(t *testing.T) {
	layout, err := names.ParseLayout("{namespace}/{kind}-{name}.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "out")
		if force {
			write(t, filepath.Join(out, "mine.txt"), "mine")
		}
		opts := Options{Layout: layout, Force: force}
		inner := krm.NewList(object("v1", "Service", "x", "s", "1"))
		writeOut(t, out, opts, map[string]*krm.List{
			"a": krm.NewList(object("v1", "Service", "x", "s", "1"), object("v1", "Service", "y", "s", "1"),
				object("v1", "Namespace", "", "x", "1")), "a/b": inner})
		want := []string{"a/", "a/_cluster/", "a/_cluster/namespace-x.yaml", "a/b/", "a/b/x/", "a/b/x/service-s.yaml", "a/x/",
			"a/x/service-s.yaml", "a/y/", "a/y/service-s.yaml"}
		if force {
			want = append(want, "mine.txt")
		}
		wantNames(t, out, want...)
		c := writeOut(t, out, opts, map[string]*krm.List{"a": krm.NewList(object("v1", "Service", "x", "s", "2")), "a/b": nil})
		if len(c.Changed) != 1 || len(c.Removed) != 2 || len(c.Added) != 0 {
			t.Errorf("force %v: %+v", force, c)
		}
		opts.OnlyThese = true
		writeOut(t, out, opts, map[string]*krm.List{"a": krm.NewList()})
		want = []string{"a/", "a/b/", "a/b/x/", "a/b/x/service-s.yaml"}
		if force {
			want = append(want, "mine.txt")
		}
		wantNames(t, out, want...)
		if _, err := os.Stat(filepath.Join(out, "a", manifest.Name)); err == nil {
			t.Errorf("force %v: a root without files has a manifest", force)
		}
		if c := writeOut(t, out, opts, map[string]*krm.List{"a/b": inner}); !c.None() {
			t.Errorf("force %v: %+v", force, c)
		}
		_, err := tryWriteOut(out, opts, map[string]*krm.List{"a": krm.NewList(object("v1", "Service", "b", "s", "1")), "a/b": nil})
		if err == nil || !strings.Contains(err.Error(), "in the folder of the root") {
			t.Errorf("force %v: a file in the folder of another root: %v", force, err)
		}
	}
}

// A run over roots other than those of the folder is refused, by Open if it knows them, otherwise
// by Commit.
func TestOutputRefusesToDrop(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	writeOut(t, out, Options{}, map[string]*krm.List{"a": krm.NewList(configMap("x", "1")), "b": krm.NewList(configMap("x", "1"))})
	before := tree(t, out)
	if _, err := Open(out, Options{Roots: []string{"b"}, Command: "run"}); err == nil || !strings.HasSuffix(err.Error(),
		"1 root that this run does not render\n  a\n  to remove their files: run --prune\n  to keep them as they are: run --only-these") {
		t.Errorf("Open: %v", err)
	}
	o, err := Open(out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Put("b", krm.NewList(configMap("x", "2"))); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Commit(); err == nil || !strings.Contains(err.Error(), "does not render\n  a\n") {
		t.Errorf("Commit: %v", err)
	}
	for name, text := range tree(t, out) {
		if before[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	// A folder with a separate output is neither searched for roots nor touched.
	writeOut(t, filepath.Join(out, "other"), Options{Base: out}, map[string]*krm.List{"r": krm.NewList(configMap("x", "1"))})
	if _, err := Open(out, Options{Prune: true}); err == nil || !strings.Contains(err.Error(), "\n  other/\n") {
		t.Errorf("an output in the output: %v", err)
	}
}

// A killed run of an earlier version is completed, and the next run that writes takes over its
// folder.
func TestOutputOldJournal(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	text := func(data string) string {
		return string(yaml.AppendFile(nil, configMap("x", data).Value()))
	}
	old := func(data string, roots ...string) string {
		b := "krmflow-manifest 1\n"
		for _, root := range roots {
			b += fmt.Sprintf("root %q\n%s \"v1_configmap_x.yaml\"\n", root, krm.DigestOf([]byte(text(data))).String()[len("sha256:"):])
		}
		return b + fmt.Sprintf("files %d\n", len(roots))
	}
	write(t, filepath.Join(out, manifest.Name), old("1", "a", "gone"))
	write(t, filepath.Join(out, "a/v1_configmap_x.yaml"), text("1"))
	write(t, filepath.Join(out, "gone/v1_configmap_x.yaml"), text("1"))
	write(t, filepath.Join(out, journalName, manifest.Name), old("2", "a", "b"))
	write(t, filepath.Join(out, journalName, "a/v1_configmap_x.yaml"), text("2"))
	write(t, filepath.Join(out, journalName, "b/v1_configmap_x.yaml"), text("2"))
	roots := map[string]*krm.List{"a": krm.NewList(configMap("x", "2")), "b": krm.NewList(configMap("x", "2"))}
	if c := writeOut(t, out, Options{}, roots); !c.None() || c.Unchanged != 2 {
		t.Errorf("after the journal: %+v", c)
	}
	wantNames(t, out, "a/", "a/v1_configmap_x.yaml", "b/", "b/v1_configmap_x.yaml")
	roots["a"] = krm.NewList(configMap("x", "3"))
	writeOut(t, out, Options{}, roots)
	for _, root := range []string{".", "a", "b"} {
		if data, err := os.ReadFile(filepath.Join(out, root, manifest.Name)); err != nil ||
			!strings.HasPrefix(string(data), "krmflow-manifest 2\n") {
			t.Errorf("%s: %v %q", root, err, data)
		}
	}
}
