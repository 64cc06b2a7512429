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

// imports is the architecture: for each package, the packages of this module that it may import.
// Four guarantees depend on it. A plan prints before anything executes, because planner cannot
// reach the executors or the scheduler. Trust is decided without side effects, because trust cannot
// reach the loaders. Built-ins do no I/O of their own, for the same reason. A program that uses
// package render runs no function unless it adds an executor, because render cannot reach the
// executors.
var imports = map[string][]string{
	"diag":                          {},
	"internal/sys/detach":           {},
	"internal/sys/filestat":         {},
	"internal/sys/flock":            {},
	"internal/sys/glob":             {},
	"internal/sys/ignore":           {"diag", "internal/sys/glob"},
	"internal/sys/swap":             {},
	"internal/sys/watch":            {"diag"},
	"krm":                           values,
	"krm/chart":                     {"krm", "krm/yaml"},
	"krm/diff":                      values,
	"krm/function":                  plus(values, "krm/secret/words"),
	"krm/schema":                    {"krm/yaml"},
	"krm/schema/internal/schemagen": {},
	"krm/secret":                    {"diag", "krm/secret/words", "krm/yaml"},
	"krm/secret/words":              {},
	"krm/yaml":                      {"diag", "krm/secret/words"},
	"lock":                          {"diag", "krm", "krm/yaml"},
	"reference":                     {"diag", "krm", "krm/yaml"},

	"builtins":     plus(values, "lint"),
	"edit":         {"diag", "edit/inplace", "krm/function", "krm/yaml"},
	"edit/inplace": {"diag", "krm/yaml"},
	"eval":         {"builtins", "diag", "graph", "krm"},
	"graph":        plus(values, "krm/chart", "krm/function"),

	"cache":        {"diag", "krm"},
	"cache/shared": {"diag", "krm"},
	"catalog":      {"diag", "krm", "krm/function", "krm/yaml", "validate"},
	"gitops":       {"builtins", "diag", "krm", "krm/yaml"},
	"gitops/argocd": {"diag", "gitops", "gitops/argocd/internal/appset", "gitops/argocd/internal/discovery", "gitops/internal/setvalues",
		"krm/yaml"},
	"gitops/argocd/internal/appset": {"diag", "gitops", "gitops/argocd/internal/appset/internal/gotemplate",
		"gitops/argocd/internal/discovery", "krm/yaml"},
	"gitops/argocd/internal/appset/internal/gotemplate": {"diag", "krm/yaml"},
	"gitops/argocd/internal/discovery":                  {"diag", "gitops", "krm/yaml"},
	"gitops/flux":                                       plus(values, "builtins", "gitops", "gitops/internal/setvalues"),
	"gitops/internal/setvalues":                         {"krm/yaml"},
	"loaders": {"cache", "diag", "internal/sys/filestat", "krm", "krm/chart", "krm/yaml",
		"loaders/remote", "reference"},
	"loaders/git": {"diag", "internal/sys/detach"},
	"loaders/remote": {"cache", "diag", "krm", "krm/yaml", "loaders/git", "loaders/remote/internal/address",
		"loaders/remote/internal/archive", "loaders/remote/internal/artifact", "loaders/remote/internal/credentials",
		"loaders/remote/internal/flight", "loaders/remote/internal/retry", "reference"},
	"loaders/remote/internal/address":     {},
	"loaders/remote/internal/archive":     {"cache", "diag"},
	"loaders/remote/internal/artifact":    {"krm"},
	"loaders/remote/internal/credentials": {},
	"loaders/remote/internal/flight":      {},
	"loaders/remote/internal/retry":       {},
	"loaders/revision":                    {"cache", "diag", "krm/yaml", "loaders/git"},
	"output": plus(values, "internal/sys/filestat", "internal/sys/flock", "internal/sys/swap", "output/known", "output/manifest",
		"output/names"),
	"output/join":                  {"diag", "output", "output/manifest", "output/names"},
	"output/known":                 {"internal/sys/filestat", "krm", "output/manifest"},
	"output/manifest":              {"krm", "output/names"},
	"output/names":                 {"diag", "krm"},
	"output/rewrite":               {"diag", "output"},
	"trust":                        {"catalog", "diag", "krm", "krm/function", "krm/yaml", "trust/internal/signature"},
	"trust/internal/signature":     {},
	"validate":                     plus(values, "validate/internal/openapi"),
	"validate/internal/openapi":    {},
	"validate/internal/openapigen": {},

	"gitops/search": {"diag", "gitops", "gitops/argocd", "gitops/flux", "krm", "krm/yaml", "loaders", "planner/roots"},
	"planner": plus(values, "builtins", "catalog", "eval", "gitops", "graph", "krm/function", "loaders", "planner/composition",
		"planner/helm", "planner/internal/ahead", "planner/internal/objects", "planner/internal/ownschema", "planner/internal/place",
		"planner/internal/summary", "planner/internal/trusted", "planner/layerfile", "planner/layers", "planner/report", "trust"),
	"planner/composition": plus(values, "builtins", "catalog", "krm/function", "loaders", "planner/layerfile", "planner/report"),
	"planner/helm": {"builtins", "diag", "graph", "krm", "krm/chart", "krm/function", "krm/yaml", "loaders", "reference",
		"trust"},
	"planner/internal/ahead":     {"krm/yaml", "loaders", "planner/helm", "planner/layerfile"},
	"planner/internal/objects":   {"diag", "gitops", "graph", "krm/yaml", "loaders", "planner/layerfile"},
	"planner/internal/ownschema": plus(values, "builtins", "eval", "graph", "krm/function"),
	"planner/internal/place":     {"diag", "krm", "loaders"},
	"planner/internal/summary":   {"builtins", "diag"},
	"planner/internal/trusted":   plus(values, "catalog", "graph", "krm/function", "loaders", "planner/report", "reference", "trust"),
	"planner/layerfile":          {"builtins", "diag", "krm", "krm/yaml", "loaders", "planner/helm", "planner/report"},
	"planner/layers":             {"diag", "graph", "krm/yaml"},
	"planner/report":             {"diag", "krm/yaml"},
	"planner/roots": {"diag", "internal/sys/filestat", "internal/sys/glob", "internal/sys/ignore", "krm/yaml", "loaders",
		"output/manifest", "planner/composition", "planner/layerfile"},
	"planner/trace": {"diag", "graph", "krm", "planner", "planner/layers"},

	"executors": {"diag", "executors/internal/bounded", "executors/internal/dirs", "executors/internal/proc", "executors/internal/sealed",
		"executors/internal/wire", "krm", "krm/function", "krm/yaml"},
	"executors/container": {"diag", "executors", "executors/internal/bounded", "executors/internal/sources", "krm", "krm/function",
		"krm/yaml"},
	"executors/internal/sandbox/krmflow-sandbox": {"executors/internal/sandbox"},
	"executors/exec": {"diag", "executors", "executors/internal/bounded", "executors/internal/dirs", "executors/internal/proc",
		"executors/internal/sandbox", "executors/internal/sealed", "executors/internal/sources", "krm", "krm/function", "krm/yaml"},
	"executors/executortest":     {"executors", "krm/function", "krm/yaml"},
	"executors/helm":             {"executors", "executors/exec", "executors/internal/dirs", "krm/function", "krm/yaml"},
	"executors/internal/bounded": {},
	"executors/internal/dirs":    {},
	"executors/internal/proc":    {},
	"executors/internal/sandbox": {"executors/internal/proc"},
	"executors/internal/sealed":  {"krm"},
	"executors/internal/sources": {},
	"executors/internal/wire":    {},
	"executors/probe":            {"executors/container", "executors/exec", "krm", "trust"},
	"render": {"cache", "catalog", "diag", "graph", "internal/sys/filestat", "krm", "krm/function", "krm/yaml", "loaders", "loaders/remote",
		"lock", "planner", "planner/roots", "planner/trace", "reference", "scheduler", "trust"},
	"scheduler": plus(values, "builtins", "eval", "graph", "krm/function"),

	"bench": {},

	"internal/engine": {"cache", "catalog", "diag", "executors", "executors/container", "executors/probe", "gitops", "gitops/search",
		"graph", "internal/engine/answers", "internal/engine/limits", "internal/engine/lockfile", "internal/engine/profile",
		"internal/engine/records", "internal/engine/shard", "internal/engine/sink", "internal/sys/filestat", "internal/sys/watch", "krm",
		"krm/function", "krm/yaml", "loaders", "loaders/remote", "loaders/revision", "lock", "output/known", "output/manifest",
		"output/rewrite", "planner", "planner/layerfile", "planner/roots", "reference", "render", "scheduler"},
	"internal/engine/answers":  {"cache", "krm", "krm/function", "krm/yaml"},
	"internal/engine/limits":   {"diag", "graph", "loaders", "scheduler"},
	"internal/engine/lockfile": {"diag", "krm/yaml", "loaders", "lock", "output"},
	"internal/engine/profile":  {"bench", "diag", "graph", "krm", "krm/yaml", "scheduler"},
	"internal/engine/records": {"cache", "catalog", "diag", "graph", "internal/sys/filestat", "krm", "loaders", "loaders/remote",
		"output/known", "planner", "planner/roots", "reference"},
	"internal/engine/shard": {"diag", "gitops", "krm/yaml", "loaders", "planner/layerfile", "render"},
	"internal/engine/sink":  plus(values, "internal/sys/swap", "loaders", "output", "output/names", "render"),

	"internal/cli": {"cache", "cache/shared", "diag", "executors/probe", "gitops", "gitops/search", "internal/cli/console",
		"internal/cli/findings", "internal/cli/options", "internal/cli/program", "internal/cli/report", "internal/cli/settings",
		"internal/cli/terminal", "internal/engine", "internal/engine/answers", "internal/engine/limits", "internal/engine/profile",
		"internal/engine/shard", "internal/engine/sink", "internal/sys/filestat", "krm/function", "krm/yaml", "loaders/remote",
		"loaders/revision", "lock", "output", "output/manifest", "planner", "planner/helm", "planner/roots", "render", "scheduler"},
	"internal/cli/console": {"diag", "graph", "internal/cli/findings", "internal/cli/options", "internal/cli/report",
		"internal/cli/terminal", "krm/secret/words", "krm/yaml", "loaders/remote", "output", "planner", "planner/roots", "scheduler"},
	"internal/cli/exit": {"diag", "internal/cli/options", "internal/cli/settings", "internal/engine", "internal/engine/sink",
		"krm/function", "loaders/remote", "loaders/revision", "output", "planner", "planner/roots", "render", "scheduler", "trust"},
	"internal/cli/findings": {"diag", "internal/cli/messages", "krm/yaml", "output"},
	"internal/cli/help":     {"loaders/revision"},
	"internal/cli/messages": {"diag"},
	"internal/cli/options": {"catalog", "diag", "executors", "executors/container", "executors/exec", "internal/cli/settings", "krm",
		"krm/function", "loaders", "planner", "trust"},
	"internal/cli/program":  {},
	"internal/cli/report":   {"diag", "internal/cli/messages"},
	"internal/cli/settings": {"diag", "internal/sys/glob", "krm", "krm/yaml", "loaders", "output", "trust"},
	"internal/cli/terminal": {"diag", "graph"},

	"internal/planview":          plus(values, "graph", "internal/cli/terminal", "planner", "planner/layerfile", "planner/layers", "trust"),
	"internal/planview/drawing":  {"builtins", "diag", "graph", "krm", "planner", "planner/layers"},
	"internal/planview/page":     {"diag"},
	"internal/planview/planpage": {"diag", "internal/planview", "internal/planview/drawing", "internal/planview/page"},

	"internal/review/history": plus(values, "builtins", "eval", "graph", "planner"),
	"internal/review/inputs":  {"catalog", "diag", "gitops", "internal/cli", "internal/engine", "loaders", "planner", "planner/layerfile"},
	"internal/review/preview": {"diag", "graph", "internal/engine", "internal/planview", "krm", "krm/diff", "krm/secret",
		"output", "planner", "planner/trace", "scheduler"},
	"internal/review/validation": plus(values, "catalog", "executors", "executors/probe", "graph", "internal/cli", "internal/cli/options",
		"internal/cli/settings", "internal/engine", "internal/review/history", "krm/diff", "krm/function", "lint", "lint/danger", "loaders",
		"planner", "validate"),
	"internal/review/why": {"diag", "graph", "internal/engine", "internal/engine/records", "internal/planview", "krm/yaml", "planner"},

	"internal/command/affected": {"diag", "graph", "internal/cli", "internal/cli/options", "internal/engine", "internal/engine/records",
		"internal/review/inputs", "internal/sys/filestat", "krm", "loaders", "loaders/revision", "render"},
	"internal/command/applyrender": {"diag", "internal/cli", "internal/cli/exit", "internal/cli/options", "internal/cli/terminal",
		"internal/command/diff", "internal/engine", "internal/engine/records", "internal/engine/sink", "internal/planview",
		"internal/review/history", "internal/review/validation", "krm", "krm/secret", "loaders/revision", "output", "output/known",
		"planner", "render"},
	"internal/command/bench": {"bench", "diag", "internal/cli", "internal/cli/options", "internal/cli/settings",
		"internal/command/bench/page", "internal/engine", "internal/engine/profile", "output"},
	"internal/command/bench/page": {"diag", "internal/engine/profile", "internal/planview/page"},
	"internal/command/build": {"internal/cli", "internal/cli/options", "internal/cli/terminal", "internal/engine",
		"internal/engine/profile", "internal/engine/sink", "internal/review/validation"},
	"internal/command/cache": {"cache", "diag", "internal/cli", "internal/cli/options", "internal/engine/records"},
	"internal/command/catalog": {"cache", "catalog", "diag", "edit/inplace", "graph", "internal/cli", "internal/cli/options",
		"internal/cli/settings", "internal/command/catalog/publish", "internal/engine", "krm", "krm/function", "krm/yaml", "loaders",
		"loaders/remote", "output", "planner", "trust"},
	"internal/command/catalog/publish": {"catalog", "diag", "krm", "krm/yaml", "loaders", "loaders/remote", "reference"},
	"internal/command/config":          {"diag", "internal/cli", "internal/cli/options", "internal/cli/settings"},
	"internal/command/convert": {"builtins", "diag", "internal/cli", "internal/cli/options", "internal/engine", "krm", "krm/yaml",
		"loaders", "output", "planner", "planner/layerfile"},
	"internal/command/create": {"diag", "internal/cli", "internal/cli/options", "krm/yaml", "loaders", "planner/layerfile"},
	"internal/command/deps":   {"diag", "internal/cli", "internal/cli/options", "internal/engine", "internal/review/inputs", "planner"},
	"internal/command/diff": plus(values, "builtins", "graph", "internal/cli", "internal/cli/exit", "internal/cli/options",
		"internal/cli/program", "internal/cli/report", "internal/cli/terminal", "internal/command/diff/cause",
		"internal/command/diff/findings", "internal/command/diff/oldside", "internal/command/graph", "internal/engine",
		"internal/engine/records", "internal/planview/page", "internal/review/history", "internal/review/validation", "krm/diff",
		"loaders/revision", "output", "output/manifest", "planner", "planner/layerfile", "render"),
	"internal/command/diff/cause": {"builtins", "diag", "gitops", "graph", "krm/diff", "krm/yaml"},
	"internal/command/diff/findings": {"diag", "internal/cli/report", "internal/command/diff/cause", "internal/review/validation",
		"krm/diff", "krm/yaml", "lint/danger", "loaders/revision"},
	"internal/command/diff/oldside": {"diag", "internal/engine", "internal/engine/records", "internal/engine/sink",
		"internal/sys/filestat", "krm", "krm/yaml", "loaders", "loaders/revision", "output/known", "output/manifest", "planner",
		"render"},
	"internal/command/docs": {"internal/cli", "internal/cli/help", "internal/cli/options", "internal/cli/program"},
	"internal/command/edit": {"builtins", "diag", "edit", "edit/inplace", "internal/cli", "internal/cli/options",
		"internal/command/catalog", "krm/yaml", "loaders", "output", "planner/layerfile"},
	"internal/command/executor": {"executors", "executors/container", "executors/exec", "executors/helm", "internal/cli",
		"internal/cli/options"},
	"internal/command/explain": plus(values, "graph", "internal/cli", "internal/cli/help", "internal/cli/messages", "internal/cli/options",
		"internal/command/graph", "internal/engine", "internal/planview", "internal/review/history", "krm/diff", "loaders", "output",
		"output/manifest", "planner", "scheduler"),
	"internal/command/fetch": {"diag", "internal/cli", "internal/cli/options", "internal/engine", "render"},
	"internal/command/fn": plus(values, "catalog", "edit/inplace", "graph", "internal/cli", "internal/cli/options",
		"internal/command/fn/resourcelist", "internal/command/test", "internal/command/wrap", "internal/engine", "krm/function", "loaders",
		"output", "planner", "scheduler"),
	"internal/command/fn/resourcelist": {"diag", "edit/inplace", "krm", "krm/function", "krm/yaml", "loaders"},
	"internal/command/graph": {"diag", "internal/cli", "internal/cli/options", "internal/engine", "internal/planview",
		"internal/planview/drawing", "planner", "planner/layers"},
	"internal/command/images": plus(values, "builtins", "graph", "internal/cli", "internal/cli/exit", "internal/cli/options",
		"internal/cli/terminal", "internal/command/diff", "internal/command/graph", "internal/engine", "internal/review/history",
		"krm/diff", "planner"),
	"internal/command/join": {"internal/cli", "internal/cli/options", "output", "output/join"},
	"internal/command/localize": {"builtins", "diag", "edit", "edit/inplace", "internal/cli", "internal/cli/options", "internal/engine",
		"krm/yaml", "loaders", "planner/layerfile", "planner/report", "reference"},
	"internal/command/lock": {"diag", "internal/cli", "internal/cli/exit", "internal/cli/options", "internal/engine",
		"internal/engine/lockfile", "lock", "planner", "render", "trust"},
	"internal/command/plan": {"diag", "internal/cli", "internal/cli/exit", "internal/cli/options", "internal/cli/terminal",
		"internal/command/graph", "internal/command/plan/plandiff", "internal/engine", "internal/engine/records",
		"internal/engine/sink", "internal/planview", "internal/planview/planpage", "internal/review/history",
		"internal/review/preview", "internal/review/validation", "internal/review/why", "krm", "krm/secret", "output",
		"planner", "render"},
	"internal/command/plan/plandiff": {"diag", "internal/cli", "internal/engine", "internal/planview", "internal/review/preview",
		"loaders/revision"},
	"internal/command/postrender": {"diag", "internal/cli", "internal/cli/options", "internal/engine", "krm/yaml"},
	"internal/command/push": {"catalog", "diag", "internal/cli", "internal/cli/options", "krm", "loaders/remote", "loaders/revision",
		"output/manifest", "reference"},
	"internal/command/run": plus(values, "edit/inplace", "graph", "internal/cli", "internal/cli/options", "internal/command/run/merge",
		"internal/command/run/tree", "internal/engine", "internal/engine/sink", "internal/review/history", "krm/function", "loaders",
		"output", "output/rewrite", "planner", "scheduler"),
	"internal/command/run/merge": {"diag", "krm/secret", "krm/yaml"},
	"internal/command/run/tree":  plus(values, "edit/inplace", "internal/sys/ignore", "krm/function"),
	"internal/command/schema": {"diag", "internal/cli", "internal/cli/options", "internal/command/diff", "internal/planview",
		"internal/review/validation", "krm/schema", "krm/yaml", "output"},
	"internal/command/test": plus(values, "builtins", "graph", "internal/cli", "internal/cli/options", "internal/engine",
		"internal/review/history", "krm/diff", "loaders", "output", "planner", "scheduler"),
	"internal/command/validate": {"internal/cli", "internal/engine", "internal/review/validation"},
	"internal/command/vendor": {"internal/cli", "internal/cli/options", "internal/command/fetch", "internal/engine",
		"internal/engine/lockfile"},
	"internal/command/version": {"internal/cli", "internal/cli/options", "internal/cli/settings", "planner"},
	"internal/command/view": {"internal/cli", "internal/cli/options", "internal/command/catalog", "internal/engine", "krm/yaml", "planner",
		"render"},
	"internal/command/why": {"diag", "internal/cli", "internal/cli/options", "internal/engine", "internal/engine/records",
		"internal/review/why"},
	"internal/command/wrap": {"diag", "internal/cli", "internal/cli/exit", "internal/cli/options", "internal/command/fn/resourcelist",
		"internal/sys/detach", "krm/function", "krm/yaml", "loaders"},

	"cmd/krmflow": {"diag", "internal/cli", "internal/cli/console", "internal/cli/exit", "internal/cli/help", "internal/cli/options",
		"internal/cli/program", "internal/cli/terminal", "internal/command/affected", "internal/command/applyrender",
		"internal/command/bench", "internal/command/build", "internal/command/cache", "internal/command/catalog", "internal/command/config",
		"internal/command/convert", "internal/command/create", "internal/command/deps", "internal/command/diff", "internal/command/docs",
		"internal/command/edit", "internal/command/executor", "internal/command/explain", "internal/command/fetch", "internal/command/fn",
		"internal/command/graph", "internal/command/images", "internal/command/join", "internal/command/localize", "internal/command/lock",
		"internal/command/plan", "internal/command/postrender", "internal/command/push", "internal/command/run", "internal/command/schema",
		"internal/command/test", "internal/command/validate", "internal/command/vendor", "internal/command/version",
		"internal/command/view", "internal/command/why", "internal/command/wrap", "internal/engine/limits", "krm/schema", "scheduler"},

	"internal/dev/difftest":   {},
	"internal/dev/grow":       {},
	"internal/dev/kptcatalog": {},
	"internal/dev/longtest":   {},
	"internal/dev/pagetest":   {"executors/executortest", "internal/dev/longtest"},
	"internal/dev/prose":      {},
	"internal/dev/release":    {},
	"internal/dev/sharedtest": {},
	"internal/dev/testbinary": {"internal/sys/flock"},
	"internal/dev/treetest":   {},

	"lint":        values,
	"lint/danger": {"diag", "krm/yaml"},
}

// withComments are the packages that work on resources with comments, as nodes of kyaml. Renders do
// not need comments: values have none, and take a tenth of the memory.
var withComments = []string{"internal/command/fn", "internal/command/fn/resourcelist", "internal/command/wrap"}

// values are the packages that most other packages are based on.
var values = []string{"diag", "krm", "krm/schema", "krm/secret", "krm/yaml"}

func plus(pkgs []string, more ...string) []string { return slices.Concat(pkgs, more) }

// wings are the layers of the architecture, from the bottom to the top, each with its folders. A
// package never imports a package of a higher wing.
var wings = [][]string{
	{"diag", "krm", "internal/sys", "reference", "lock"},
	{"lint", "graph", "builtins", "eval", "edit", "gitops"},
	{"output", "cache", "loaders", "catalog", "trust", "validate"},
	{"planner", "gitops/search"},
	{"scheduler", "executors", "render"},
	{"bench"},
	{"internal/engine"},
	{"internal/cli"},
	{"internal/planview"},
	{"internal/review"},
	{"internal/command"},
	{"cmd"},
	{"internal/dev"},
}

// wing returns the number of a package's wing, -1 for none.
func wing(pkg string) (n int) {
	n = -1
	for i, folders := range wings {
		for _, folder := range folders {
			if pkg == folder || strings.HasPrefix(pkg, folder+"/") {
				n = i
			}
		}
	}
	return n
}

func TestNoImportUpwards(t *testing.T) {
	for pkg, list := range imports {
		if wing(pkg) < 0 {
			t.Errorf("%s is in no wing", pkg)
		}
		for _, imp := range list {
			if wing(imp) > wing(pkg) {
				t.Errorf("%s imports %s, which is above it", pkg, imp)
			}
		}
	}
}

// TestCommandsUseTheEngine checks that only the engine plans and runs. A command that did would
// eventually get the order of the steps wrong.
func TestCommandsUseTheEngine(t *testing.T) {
	entry := regexp.MustCompile(`\b(render\.(Compile|Run|Render)|planner\.Compile|scheduler\.Run)\(`)
	for pkg := range imports {
		if n := wing(pkg); n <= wing("internal/engine") || n == wing("internal/dev") {
			continue
		}
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := entry.Find(text); found != nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s calls %s", file, found)
			}
		}
	}
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

// maxLines is the maximum number of lines of code in a package. A larger package has more than one
// subject.
const maxLines = 2500

// large are the packages that may exceed maxLines. Each has one subject: the tables and rules of
// YAML, or kustomize's built-ins.
var large = []string{"krm/yaml", "krm/schema", "builtins"}

// TestPackagesAreSmall counts the lines of each package without tests, blank lines and comment
// lines.
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

// code matches a line that is neither blank nor only a comment.
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

// TestFilesAreReadByLoaders checks that planning reads files only through package loaders, which
// limits the locations and the amount of data that it reads.
func TestFilesAreReadByLoaders(t *testing.T) {
	for _, pkg := range []string{"planner", "planner/composition", "planner/helm", "planner/layerfile", "planner/report",
		"planner/internal/objects", "planner/internal/place", "planner/internal/trusted", "internal/planview",
		"internal/planview/drawing",
		"trust", "catalog", "eval", "graph", "builtins", "lock", "edit", "edit/inplace", "krm", "krm/chart", "krm/yaml", "krm/schema",
		"krm/function"} {
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
