package loaders

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
)

// chartDir makes a folder with files and symlinks ("-> target").
func chartDir(t *testing.T, files map[string]string) (l *Local, d *Dir) {
	t.Helper()
	root := t.TempDir()
	for name, data := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if target, ok := strings.CutPrefix(data, "-> "); ok {
			err = errors.Join(err, os.Symlink(target, path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(data), 0o666))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l = NewLocal(t.Context(), Config{Cwd: root, Roots: []string{"."}, Budget: &Budget{Max: 1000}})
	d, err := l.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	return l, d
}

func TestReadChart(t *testing.T) {
	l, d := chartDir(t, map[string]string{
		"charts/web/Chart.yaml": "name: web", "charts/web/templates/a.yaml": "a", "charts/web/link.yaml": "-> templates/a.yaml",
		"charts/web/more": "-> templates",
		"charts/other":    "-> web", "secret": "hunter2", "charts/out/passwd": "-> ../../secret", "charts/circle/a": "-> .",
		"charts/circle/b":   "-> .",
		"charts/large/file": strings.Repeat("x", 2000),
	})
	for _, name := range []string{"charts/web", "charts/other", filepath.Join(d.Real, "charts/web")} {
		files, shown, err := l.ReadChart(d, name)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); err != nil || shown != "charts/web" ||
			got != "Chart.yaml link.yaml more/a.yaml templates/a.yaml" {
			t.Errorf("%s: %s in %s, %v", name, got, shown, err)
		}
	}
	if _, _, err := l.ReadChart(d, "charts/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a chart that is not there: %v", err)
	}
	if files, _, err := l.ReadChart(d, "charts/out"); err == nil {
		t.Errorf("a link out of the chart: %q", files)
	}
	if _, _, err := l.ReadChart(d, "charts/circle"); err == nil {
		t.Error("links in circles have an end")
	}
	if _, _, err := l.ReadChart(d, "charts/large"); !errors.Is(err, diag.ErrLimit) {
		t.Errorf("a chart that is larger than the run may read: %v", err)
	}
}
