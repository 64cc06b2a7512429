package planner

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIsolationIsProbedOnce checks that a plan probes the sandbox only once, because a probe starts
// processes.
func TestIsolationIsProbedOnce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "transformers: [fns.yaml]\n",
		"fns.yaml":           "apiVersion: e.co/v1\nkind: A\nmetadata: {name: a}\n---\napiVersion: e.co/v1\nkind: A\nmetadata: {name: b}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	plan := Compile(t.Context(), []string{dir},
		Options{Cwd: dir, Functions: Functions{Isolation: func() (string, string) { n++; return "x", "" }}})
	if len(plan.Denied) != 2 || n != 1 {
		t.Errorf("%d functions, %d probes", len(plan.Denied), n)
	}
}
