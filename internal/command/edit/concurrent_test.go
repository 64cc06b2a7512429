package edit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Concurrent edits of one file take turns, and none is lost.
func TestConcurrentEdits(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kustomization.yaml")
	if err := os.WriteFile(file, []byte("kind: Kustomization # here\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const n = 16
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := runEdit(dir, []string{"set", "replicas", fmt.Sprintf("web%d=%d", i, i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if want := fmt.Sprintf("- name: web%d\n  count: %d\n", i, i); !strings.Contains(string(text), want) {
			t.Errorf("%q is lost:\n%s", want, text)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}
