package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Concurrent trust commands lose no entry. A configuration that is a symlink to another file stays
// one.
func TestEditConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if found, err := EditConfig("/catalog.yaml", true); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if _, err := EditConfig(fmt.Sprintf("/catalogs/%d.yaml", i), false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c, err := ReadConfig(); err != nil || len(c.Catalogs) != 10 {
		t.Errorf("%v, %v", c, err)
	}
	path, elsewhere := ConfigPath(), filepath.Join(dir, "mine.yaml")
	if err := os.Rename(path, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Skip(err)
	}
	if found, err := EditConfig("/catalogs/1.yaml", true); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link is gone: %v", err)
	}
	if c, err := ReadConfig(); err != nil || len(c.Catalogs) != 9 {
		t.Errorf("%v, %v", c, err)
	}
}
