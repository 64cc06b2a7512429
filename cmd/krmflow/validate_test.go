package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/dev/longtest"
)

// Findings in a hundred overlays, in long tests in a thousand, each caused by its own patch, are
// traced back to the patches within the limits of a run.
func TestValidateManyOverlays(t *testing.T) {
	dir, overlays, want := t.TempDir(), 100, "30,300 resources of 101 roots: 100 errors"
	if longtest.On() {
		overlays, want = 1000, "300,300 resources of 1,001 roots: 1,000 errors"
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("base/kustomization.yaml", "resources: [services.yaml]\n")
	var services strings.Builder
	for i := range 300 {
		fmt.Fprintf(&services, "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d}\nspec: {ports: [{port: 80}]}\n", i)
	}
	write("base/services.yaml", services.String())
	for i := range overlays {
		write(fmt.Sprintf("r%d/kustomization.yaml", i), fmt.Sprintf(`resources: [../base]
namespace: n%d
labels:
- pairs: {a: b}
patches:
- patch: |
    apiVersion: v1
    kind: Service
    metadata: {name: s7}
    spec: {bogus%d: 1}
`, i, i))
	}
	cmd := exec.Command("krmflow", "validate", "-R", ".")
	cmd.Dir = dir
	said, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(said), want) {
		t.Errorf("exit code %d:\n%s", code, said[max(0, len(said)-500):])
	}
}
