package filestat

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A list shows that a name is missing only if the file system cannot find an entry by that name.
func TestListsShowMissingNames(t *testing.T) {
	for _, n := range []int{0, few + 1} { // two ways to search
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			write(t, filepath.Join(dir, fmt.Sprintf("other-%d", i)))
		}
		write(t, filepath.Join(dir, "kustomization.yaml"))
		write(t, filepath.Join(dir, "\u212Aey")) // a Kelvin sign, which folds to k
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var d Dirs
		if d.Lacks(dir, "none") {
			t.Error("a name is missing before there is a list")
		}
		want := Stat{Size: 7}
		d.List(dir, entries, []File{{"kustomization.yaml", want}})
		if got, ok := d.Stat(dir, "kustomization.yaml"); !ok || got != want {
			t.Errorf("the file has %+v, %t", got, ok)
		}
		if _, ok := d.Stat(dir, "sub"); ok {
			t.Error("a directory has a Stat")
		}
		for name, want := range map[string]bool{"none": true, "kustomization.yml": true, "kustomization.yaml": false, "sub": false,
			"Kustomization.YAML": false, "key": false, "naïve": false} {
			if got := d.Lacks(dir, name); got != want {
				t.Errorf("%d others: the list lacks %s: %t, want %t", n, name, got, want)
			}
		}
		if got := d.Real(filepath.Join(dir, "sub")); got != filepath.Join(dir, "sub") {
			t.Errorf("sub is at %q", got)
		}
		if _, info := d.Find(filepath.Join(dir, "sub")); info == nil || !info.IsDir() {
			t.Errorf("sub is %v", info)
		}
		if got := d.Real(filepath.Join(dir, "kustomization.yaml")); got != "" {
			t.Errorf("a file is the directory %q", got)
		}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
