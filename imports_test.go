package krmflow_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/krmflow/krmflow/"

// imports is the architecture: which package may import which others of this module. Four promises rest on it: a plan
// prints before anything executes, because planner cannot reach the executors or the scheduler; trust is decided without
// side effects, because it cannot reach the loaders; built-ins do no I/O of their own, for the same reason; and a program that uses
// package render runs no function unless it brings what does, because render cannot reach the executors.
var imports = map[string][]string{
	"diag":            {},
	"krm/yaml":        {"diag", "krm/secret/words"},
	"krm/schema":      {"krm/yaml"},
	"krm/secret":      {"diag", "krm/secret/words", "krm/yaml"},
	"krm":             {"diag", "krm/schema", "krm/secret", "krm/yaml"},
	"krm/diff":        values,
	"krm/function":    plus(values, "krm/secret/words"),
	"output":          plus(values, "internal/filestat", "output/known", "output/manifest", "output/names", "output/flock", "output/swap", "output/listing"),
	"output/flock":    {},
	"output/listing":  {"internal/filestat"},
	"output/manifest": plus(values, "output/names"),
	"output/swap":     {},
	"output/known":    plus(values, "internal/filestat", "output/listing", "output/manifest"),
	"output/names":    values,

	"edit":      {"diag", "edit/inplace", "krm/function", "krm/yaml"},
	"krm/chart": values,

	"graph":     plus(values, "krm/function", "krm/chart"),
	"builtins":  plus(values, "krm/function"),
	"cache":     values,
	"loaders":   plus(values, "cache", "internal/filestat", "krm/chart", "loaders/remote", "reference"),
	"reference": values,
	"catalog":   plus(values, "krm/function"),
	"trust":     plus(values, "krm/function", "catalog", "catalog/signature"),
	"eval":      plus(values, "graph", "builtins"),
	"lock":      {"diag", "krm", "krm/yaml"},
	"planner": plus(values, "planner/layers", "krm/function", "krm/chart", "graph", "builtins", "catalog", "eval", "loaders", "trust", "planner/ahead", "planner/composition", "planner/helm", "planner/layerfile", "planner/report",
		"planner/ownschema", "planner/summary", "planner/trusted"),
	"scheduler": plus(values, "krm/function", "builtins", "eval", "graph"),
	"render": plus(values, "krm/function", "cache", "catalog", "loaders/remote", "reference", "graph", "internal/filestat", "internal/roots", "loaders", "lock", "planner", "planner/report", "planner/trace", "scheduler",
		"trust"),
	"bench": {},

	"validate":                     {"diag", "krm", "krm/secret", "krm/yaml", "validate/internal/openapi"},
	"validate/internal/openapi":    {},
	"validate/internal/openapigen": {},
	"internal/rendertest":          plus(values, "builtins", "graph", "internal/app", "internal/history", "internal/options", "krm/diff", "loaders", "output", "planner", "render", "scheduler"),
	"internal/explain":             plus(values, "planner/plandoc", "graph", "internal/app", "internal/graphing", "internal/history", "internal/messages", "internal/options", "render", "krm/diff", "loaders", "output", "output/manifest", "planner", "scheduler"),
	"internal/history":             plus(values, "builtins", "eval", "graph", "planner"),
	"internal/validation":          plus(values, "graph", "internal/history", "internal/options", "loaders", "planner", "validate"),

	"catalog/signature":          {},
	"krm/secret/words":           {},
	"cache/archive":              {"cache", "diag"},
	"loaders/git":                {"diag", "internal/detach"},
	"loaders/revision":           {"cache", "diag", "krm/yaml", "loaders/git"},
	"loaders/remote":             plus(values, "cache", "cache/archive", "loaders/git", "loaders/remote/address", "loaders/remote/credentials", "loaders/remote/flight", "reference"),
	"cache/shared":               {"diag", "krm"},
	"cache/shared/sharedtest":    {},
	"loaders/remote/address":     {},
	"loaders/remote/credentials": {},
	"loaders/remote/flight":      {},

	"planner/ahead":       {"krm/yaml", "loaders", "planner/helm", "planner/layerfile"},
	"planner/composition": plus(values, "krm/function", "builtins", "catalog", "loaders", "planner/layerfile", "planner/report"),
	"planner/drawing":     plus(values, "builtins", "graph", "planner/layers", "planner"),
	"planner/helm":        plus(values, "krm/function", "builtins", "graph", "krm/chart", "loaders", "reference", "trust"),
	"planner/layerfile":   plus(values, "builtins", "loaders", "planner/helm", "planner/report"),
	"planner/layers":      {"diag", "graph", "krm/yaml"},
	"planner/ownschema":   plus(values, "builtins", "eval", "graph", "krm/function"),
	"planner/plandoc":     plus(values, "planner/layers", "graph", "planner", "trust"),
	"planner/report":      {"diag", "krm/yaml"},
	"planner/summary":     {"builtins", "diag"},
	"planner/trace":       plus(values, "planner/layers", "graph", "planner"),
	"planner/trusted":     plus(values, "catalog", "graph", "loaders", "planner/report", "reference", "trust"),

	"executors": plus(values, "krm/function", "executors/internal/bounded", "executors/internal/dirs", "executors/internal/proc", "executors/internal/sealed", "executors/internal/wire"),
	"executors/exec": plus(values, "krm/function", "executors", "executors/internal/bounded", "executors/internal/sandbox", "executors/internal/dirs", "executors/internal/proc",
		"executors/internal/sealed", "executors/internal/sources"),
	"executors/helm":      plus(values, "krm/chart", "krm/function", "executors", "executors/exec", "executors/internal/dirs"),
	"executors/container": plus(values, "krm/function", "executors", "executors/internal/bounded", "executors/internal/sources"),

	"executors/probe": plus(values, "krm/function", "executors/container", "executors/exec", "trust"),

	"executors/executortest":     plus(values, "krm/function", "executors"),
	"executors/internal/bounded": {},
	"executors/internal/sandbox": {"executors/internal/proc"},
	"executors/internal/dirs":    {},
	"executors/internal/proc":    {},
	"executors/internal/sealed":  {"krm"},
	"executors/internal/sources": {},
	"executors/internal/wire":    {},

	"edit/inplace": {"diag", "krm/yaml"},

	"internal/affected":             {"diag", "graph", "internal/app", "internal/inputs", "internal/options", "krm", "loaders", "loaders/revision", "planner", "render"},
	"internal/app":                  plus(values, "cache", "catalog", "executors", "executors/container", "executors/probe", "graph", "internal/console", "internal/dirmode/rewrite", "internal/filestat", "internal/locking", "internal/options", "internal/program", "internal/progress", "internal/reports", "internal/reuse", "internal/roots", "internal/settings", "internal/sink", "internal/watchdog", "krm/function", "loaders", "loaders/remote", "loaders/revision", "lock", "output", "output/known", "planner", "planner/helm", "render", "scheduler", "internal/answers", "cache/shared", "internal/profile", "output/manifest", "reference"),
	"internal/dirmode":              plus(values, "edit/inplace", "graph", "internal/app", "internal/dirmode/merge", "internal/dirmode/rewrite", "internal/dirmode/tree", "internal/history", "internal/options", "internal/sink", "krm/function", "loaders", "output", "planner", "render", "scheduler"),
	"internal/dirmode/merge":        {"diag", "krm/secret", "krm/yaml"},
	"internal/dirmode/rewrite":      {"diag", "output"},
	"internal/dirmode/tree":         plus(values, "edit/inplace", "internal/ignore", "krm/function"),
	"internal/answers":              plus(values, "cache", "krm/function"),
	"internal/caches":               {"cache", "diag", "internal/app", "internal/options", "internal/reuse"},
	"internal/benching":             {"bench", "diag", "internal/app", "internal/options", "internal/profile", "internal/profile/page", "internal/settings", "output"},
	"internal/catalogs":             plus(values, "catalog", "edit/inplace", "graph", "internal/app", "internal/options", "internal/publish", "internal/settings", "krm/function", "loaders", "loaders/remote", "output", "planner", "render", "trust"),
	"internal/console":              plus(values, "krm/secret/words", "graph", "internal/options", "internal/reports", "loaders/remote", "output", "planner", "scheduler"),
	"internal/convert":              {"builtins", "diag", "krm", "krm/yaml", "loaders", "output", "planner/layerfile"},
	"internal/create":               {"diag", "krm/yaml", "loaders", "planner/layerfile"},
	"internal/detach":               {},
	"internal/diffing":              plus(values, "builtins", "graph", "internal/app", "internal/history", "internal/page", "internal/reuse", "krm/diff", "loaders", "loaders/revision", "output", "output/manifest", "planner", "planner/layerfile", "render"),
	"internal/difftest":             {},
	"internal/editing":              {"builtins", "diag", "edit", "edit/inplace", "krm/yaml", "loaders", "output", "planner/layerfile"},
	"internal/glob":                 {},
	"internal/graphing":             {"planner/plandoc", "diag", "internal/app", "planner/layers", "internal/options", "planner", "planner/drawing"},
	"internal/inputs":               {"catalog", "diag", "graph", "internal/app", "internal/options", "loaders", "planner"},
	"internal/filestat":             {},
	"internal/reuse":                plus(values, "cache", "internal/filestat", "loaders", "loaders/remote", "output/known", "planner", "reference"),
	"internal/ignore":               {"diag", "internal/glob"},
	"internal/roots":                {"diag", "internal/glob", "internal/ignore", "krm/yaml", "loaders", "planner/composition", "planner/layerfile", "output/manifest"},
	"internal/settings":             plus(values, "krm/function", "catalog", "internal/glob", "loaders", "output", "trust"),
	"internal/help":                 {},
	"internal/localize":             {"builtins", "diag", "edit", "edit/inplace", "krm/yaml", "loaders", "planner/layerfile", "planner/report", "reference"},
	"internal/locking":              {"diag", "krm/yaml", "loaders", "lock", "output"},
	"internal/options":              {"catalog", "diag", "executors", "executors/container", "executors/exec", "internal/settings", "krm", "krm/function", "loaders", "planner", "trust"},
	"internal/preview":              plus(values, "planner/trace", "graph", "krm/diff", "output", "planner", "planner/plandoc", "scheduler"),
	"internal/profile":              {"bench", "diag", "graph", "krm", "krm/yaml", "scheduler"},
	"internal/page":                 {"diag"},
	"internal/page/pagetest":        {"executors/executortest"},
	"internal/planpage":             {"diag", "internal/page", "planner/drawing", "planner/plandoc"},
	"internal/plandiff":             {"diag", "internal/app", "internal/preview", "loaders/revision", "planner/plandoc", "scheduler"},
	"internal/profile/page":         {"diag", "internal/page", "internal/profile"},
	"internal/program":              {},
	"internal/resourcelist":         {"diag", "edit/inplace", "krm", "krm/function", "krm/yaml", "loaders"},
	"internal/wrapping":             {"diag", "internal/app", "internal/detach", "internal/options", "internal/resourcelist", "krm/function", "krm/yaml", "loaders"},
	"internal/fnkit":                plus(values, "catalog", "edit/inplace", "graph", "internal/app", "internal/options", "internal/rendertest", "internal/resourcelist", "internal/wrapping", "krm/diff", "krm/function", "loaders", "output", "planner", "render", "scheduler"),
	"internal/progress":             {"graph"},
	"internal/publish":              plus(values, "catalog", "loaders", "loaders/remote", "reference"),
	"internal/release":              {},
	"internal/reports":              {"diag", "internal/messages"},
	"internal/messages":             {"diag"},
	"internal/schemas":              {"internal/diffing", "planner/plandoc"},
	"internal/sink":                 plus(values, "internal/spool", "loaders", "output", "output/names", "output/swap", "render"),
	"internal/spool":                {},
	"internal/stdout":               {},
	"internal/terminal":             {},
	"internal/rounds":               {"internal/app", "internal/stdout", "internal/watch"},
	"internal/longtest":             {},
	"internal/treetest":             {},
	"internal/watch":                {"diag"},
	"internal/watchdog":             plus(values, "graph", "loaders", "scheduler"),
	"internal/why":                  plus(values, "graph", "internal/reuse", "planner", "planner/plandoc"),
	"krm/schema/internal/schemagen": {},
	"cmd/krmflow":                   plus(values, "executors", "executors/container", "executors/exec", "executors/helm", "graph", "internal/affected", "internal/app", "internal/benching", "internal/caches", "internal/catalogs", "internal/console", "internal/convert", "internal/create", "internal/diffing", "internal/dirmode", "internal/editing", "internal/graphing", "internal/help", "internal/history", "internal/inputs", "internal/localize", "internal/locking", "internal/messages", "internal/options", "internal/plandiff", "internal/planpage", "internal/preview", "internal/program", "internal/progress", "internal/reuse", "internal/schemas", "internal/settings", "internal/sink", "internal/stdout", "internal/terminal", "internal/validation", "internal/watchdog", "internal/why", "krm/function", "loaders", "loaders/remote", "lock", "output", "output/known", "planner", "planner/drawing", "planner/plandoc", "render", "scheduler", "trust", "internal/profile", "internal/profile/page", "bench", "internal/rounds", "internal/explain", "internal/rendertest", "internal/fnkit", "internal/wrapping"),
}

// withComments are the packages that work on resources with comments, as nodes of kyaml. Renders do
// without: values have no comments, and take a tenth of the memory.
var withComments = []string{"internal/fnkit", "internal/resourcelist", "internal/wrapping"}

// values are the packages that most others stand on.
var values = []string{"diag", "krm", "krm/schema", "krm/secret", "krm/yaml"}

func plus(pkgs []string, more ...string) []string { return slices.Concat(pkgs, more) }

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
			comments := strings.HasPrefix(imp, "sigs.k8s.io/kustomize/kyaml/") && slices.Contains(withComments, pkg)
			if strings.HasPrefix(imp, "sigs.k8s.io/kustomize/") && !comments && pkg != "krm/schema/internal/schemagen" {
				t.Errorf("%s imports %s: kustomize is an oracle for tests, no dependency", pkg, imp)
			}
		}
	}
	if seen != len(imports) {
		t.Errorf("%d packages, the table has %d", seen, len(imports))
	}
}

// maxLines is how many lines of code a package may have: what is larger has several subjects.
const maxLines = 2500

// large are the packages that may have more: the tables and the rules of YAML, and kustomize's built-ins, are one subject each.
var large = []string{"krm/yaml", "krm/schema", "builtins"}

// TestPackagesAreSmall counts the lines of each package without its tests, blank lines and those that are nothing but a comment.
func TestPackagesAreSmall(t *testing.T) {
	for pkg := range imports {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pkg, len(files), err)
		}
		n := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				n += len(code.FindAll(text, -1))
			}
		}
		if n > maxLines && !slices.Contains(large, pkg) {
			t.Errorf("%s has %d lines of code, more than %d", pkg, n, maxLines)
		}
	}
}

// code matches a line that is neither blank nor nothing but a comment.
var code = regexp.MustCompile(`(?m)^[ \t]*([^ \t\n/]|/[^/]).*$`)

// TestNoStarlark keeps starlark out of the binary: scripts run in containers.
func TestNoStarlark(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.Contains(pkg, "starlark") {
			t.Errorf("%s is linked", strings.TrimSpace(pkg))
		}
	}
	if mod, err := os.ReadFile("go.mod"); err != nil || strings.Contains(string(mod), "starlark") {
		t.Errorf("go.mod requires starlark, or %v", err)
	}
}

// What plans reaches files through package loaders alone, which bounds what is read and where.
func TestFilesAreReadByLoaders(t *testing.T) {
	for _, pkg := range []string{"planner", "planner/composition", "planner/drawing", "planner/helm", "planner/layerfile", "planner/plandoc", "planner/report", "planner/trusted",
		"trust", "catalog", "eval", "graph", "builtins", "lock", "edit", "edit/inplace", "krm", "krm/chart", "krm/yaml", "krm/schema", "krm/function"} {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pkg, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if reads := reading.Find(text); reads != nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s has %s", file, reads)
			}
		}
	}
}

var reading = regexp.MustCompile(`\n\t"os"\n|\n\t"io/ioutil"\n|filepath\.(EvalSymlinks|Glob|Walk|WalkDir|Abs)\(`)
