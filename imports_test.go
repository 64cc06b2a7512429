package krmflow_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/krmflow/krmflow/"

// imports is the architecture: which package may import which others of this module. Two promises rest on it: a plan
// prints before anything executes, because planner cannot reach the scheduler; and built-ins do no I/O of their own, because
// they cannot reach the loaders.
var imports = map[string][]string{
	"krm":       {},
	"graph":     {"krm"},
	"builtins":  {"krm"},
	"loaders":   {"krm"},
	"eval":      {"krm", "graph", "builtins"},
	"planner":   {"krm", "graph", "builtins", "loaders", "eval"},
	"scheduler": {"krm", "graph", "eval"},
	"bench":     {},

	"krm/internal/schemagen": {"krm"},
	"cmd/krmflow":            {"krm", "graph", "loaders", "planner", "scheduler", "bench"},
}

func TestImportTable(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg, ok := strings.CutPrefix(fields[0], module)
		if !ok {
			continue
		}
		allowed, known := imports[pkg]
		if !known {
			t.Errorf("package %s is not in the table", pkg)
		}
		seen++
		for _, imp := range fields[1:] {
			if own, ok := strings.CutPrefix(imp, module); ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s", pkg, own)
			}
			if strings.HasPrefix(imp, "sigs.k8s.io/kustomize/") && pkg != "krm/internal/schemagen" {
				t.Errorf("%s imports %s: kustomize is an oracle for tests, no dependency", pkg, imp)
			}
		}
	}
	if seen != len(imports) {
		t.Errorf("%d packages, the table has %d", seen, len(imports))
	}
}
