package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	fnexec "github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
)

// TestReadmeCommandsWork runs the commands of README. The commands above "Try it", and the commands
// of docs/plan.md and docs/review.md, run on an example; the commands below it run in the
// repository, without a warning.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	first, try, _ := strings.Cut(string(text), "## Try it")
	first += string(plan)
	if review, err := os.ReadFile("../../docs/review.md"); err != nil {
		t.Fatal(err)
	} else {
		first += string(review)
	}
	shop, repository := t.TempDir(), t.TempDir()
	if err := os.CopyFS(shop, os.DirFS("../../testdata/kustomize/shop")); err != nil {
		t.Fatal(err)
	}
	for _, tree := range []string{"testdata/kustomize/shop", "testdata/examples/webapp"} {
		if err := os.CopyFS(filepath.Join(repository, tree), os.DirFS("../../"+tree)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(repository, ".git"), 0o777); err != nil { // as in a clone
		t.Fatal(err)
	}
	console := regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
	commands := 0
	for _, b := range console.FindAllStringSubmatch(first, -1) {
		commands += documentedBlock(t, shop, strings.ReplaceAll(b[1], "| kubectl apply -f-", "> /dev/null"))
	}
	for _, b := range console.FindAllStringSubmatch(try, -1) {
		commands += documentedBlock(t, repository, b[1])
	}
	for _, c := range regexp.MustCompile("(?m)^    (go run .*)$").FindAllStringSubmatch(try, -1) {
		if !fnexec.Probe().Enough() && strings.Contains(c[1], "catalog") {
			continue // a function that is a program
		}
		commands++
		if out := documented(t, repository, c[1], 0); bytes.Contains(out, []byte("Warning:")) {
			t.Errorf("%s warns:\n%s", c[1], out)
		}
	}
	if commands < 6 {
		t.Errorf("%d commands", commands)
	}
}

// TestDocumentedFunction checks docs/functions.md: its files are the files of the example, and its
// commands exit with the documented codes and print the documented output.
func TestDocumentedFunction(t *testing.T) {
	t.Parallel()
	if iso := fnexec.Probe(); runtime.GOOS != "linux" || !iso.Enough() {
		executortest.Missing(t, "the example is a program that runs in a sandbox")
	}
	text, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	example := filepath.Join("testdata", "functions", "stamp")
	if err := os.CopyFS(filepath.Join(dir, example), os.DirFS(filepath.Join("../..", example))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o777); err != nil { // as in a clone
		t.Fatal(err)
	}
	before, chapters, _ := strings.Cut(string(text), writingFunctions)
	_, behind, _ := strings.Cut(chapters, "\n## Debug\n")
	blocks := regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(before+"\n"+behind, -1)
	files, commands := 0, 0
	for _, b := range blocks {
		switch kind, body := b[1], b[2]; {
		case kind == "sh":
			files++
			if want, err := os.ReadFile(filepath.Join(dir, example, "stamp.sh")); err != nil || string(want) != body {
				t.Errorf("the program differs from stamp.sh:\n%s", body)
			}
		case kind == "console" && !strings.Contains(body, "go build"):
			commands += documentedBlock(t, dir, body)
		}
	}
	if files != 1 || commands < 5 {
		t.Errorf("%d files and %d commands", files, commands)
	}
}

// writingFunctions is the heading of the chapters of docs/functions.md that start in an empty
// directory.
const writingFunctions = "\n## Writing a function\n"

// TestDocumentedFunctionsToBeginWith follows the chapters of docs/functions.md about writing and
// testing functions, in an empty directory.
func TestDocumentedFunctionsToBeginWith(t *testing.T) {
	longtest.OnlyAll(t)
	t.Parallel()
	if iso := fnexec.Probe(); runtime.GOOS != "linux" || !iso.Enough() {
		executortest.Missing(t, "the functions are programs that run in a sandbox")
	}
	for _, tool := range []string{"bash", "python3", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			executortest.Missing(t, "no "+tool)
		}
	}
	text, err := os.ReadFile("../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapters, _ := strings.Cut(string(text), writingFunctions)
	chapters, _, _ = strings.Cut(chapters, "\n## Debug\n")
	dir := t.TempDir()
	fetch := exec.Command("sh", "-c", "krmflow fn init modules --lang go && cd modules && go build -o modules .")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil && bytes.Contains(out, []byte("lookup")) {
		executortest.Missing(t, "the modules of a function in Go cannot be fetched")
	}
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(chapters, -1) {
		commands += documentedBlock(t, dir, b[1])
	}
	if commands < 14 {
		t.Errorf("%d commands", commands)
	}
}

// TestCompositionExample renders the three environments of testdata/examples/webapp and checks the
// statements of docs/composition.md about them.
func TestCompositionExample(t *testing.T) {
	t.Parallel()
	if iso := fnexec.Probe(); runtime.GOOS != "linux" || !iso.Enough() {
		executortest.Missing(t, "the functions are programs that run in a sandbox")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/examples/webapp")); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"dev", "staging", "prod"} {
		cmd := exec.Command("krmflow", "build", env, "--trusted-plugin-catalog=catalog.yaml")
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		got, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Fatalf("%s: %v\n%s", env, err, stderr.Bytes())
		}
		golden := filepath.Join("../../testdata/examples/webapp/golden", env+".yaml")
		if *update {
			err = os.WriteFile(golden, got, 0o666)
		}
		if want, readErr := os.ReadFile(golden); err != nil || readErr != nil || string(want) != string(got) {
			t.Errorf("%s is rendered to\n%s", env, got)
		}
	}
	text, err := os.ReadFile("../../docs/composition.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		commands += documentedBlock(t, dir, b[1])
	}
	if commands < 5 {
		t.Errorf("%d commands", commands)
	}
}

// TestDocumentedChart runs the commands of docs/helm.md with a chart made for the test.
func TestDocumentedChart(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("helm"); err != nil {
		executortest.Missing(t, "no helm: make helm")
	}
	if iso := fnexec.Probe(); runtime.GOOS != "linux" || !iso.Enough() {
		executortest.Missing(t, "charts are rendered in a sandbox")
	}
	text, err := os.ReadFile("../../docs/helm.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string]string{
		"Chart.yaml": "{apiVersion: v2, name: web, version: 1.2.3}", "values.yaml": "replicas: 1",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }} }\ndata: {replicas: {{ .Values.replicas | quote }} }\n",
	} {
		file := filepath.Join(dir, "shop/charts/web", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(data), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	layer := regexp.MustCompile("(?ms)^```yaml\n# (\\S+)\n(.*?)^```$").FindSubmatch(text)
	if err := os.WriteFile(filepath.Join(dir, string(layer[1])), layer[2], 0o666); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllSubmatch(text, -1) {
		commands += documentedBlock(t, dir, string(b[1]))
	}
	if commands < 2 {
		t.Errorf("%d commands", commands)
	}
}

// documentedBlock runs the commands of a console block and returns their number.
func documentedBlock(t *testing.T, dir, body string) (commands int) {
	list := strings.Split("\n"+body, "\n$ ")[1:]
	for i, c := range list {
		if strings.HasPrefix(c, exitCommand) {
			continue
		}
		want := 0
		if i+1 < len(list) && strings.HasPrefix(list[i+1], exitCommand) {
			want, _ = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(list[i+1], exitCommand)))
		}
		commands++
		documented(t, dir, c, want)
	}
	return commands
}

// TestDocumentedProfile runs the commands of docs/profiling.md. Figures and the slowest steps
// differ from run to run. Lines without figures must therefore be the same and in the same order,
// and the subjects of the other lines must occur.
func TestDocumentedProfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/profiling.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/kustomize/shop")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("krmflow", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("krmflow %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	_, shown, ok := strings.Cut(string(text), "$ krmflow bench -q -R overlays\n")
	if shown, _, _ = strings.Cut(shown, "```"); !ok {
		t.Fatal("the command is not shown")
	}
	shown = strings.Replace(shown, "linux/amd64", runtime.GOOS+"/"+runtime.GOARCH, 1)
	figure, between := regexp.MustCompile(`\d[\d.,]*( [\pL]+)?`), regexp.MustCompile(`  +`)
	mask := func(text string) string { return between.ReplaceAllString(figure.ReplaceAllString(text, "#"), " ") }
	got := mask(run("bench", "-q", "-n", "1", "-R", "overlays"))
	all := run("bench", "-q", "-n", "1", "-R", "overlays", "-o", "json")
	named := func(name string) bool {
		quoted, err := json.Marshal(name)
		return err == nil && strings.Contains(all, string(quoted))
	}
	rows, others := 0, 0
	for line := range strings.Lines(shown) {
		line = strings.TrimSpace(line)
		cells := between.Split(line, -1)
		name := cells[len(cells)-1]
		_, id, _ := strings.Cut(name, " ") // after a verb
		switch {
		case line == "", line == "…", strings.HasPrefix(line, "and "):
		case len(cells) > 3 && figure.MatchString(cells[0]):
			rows++
			if !named(name) && !named(id) && !strings.HasPrefix(name, "cold: ") && !strings.HasPrefix(name, "warm: ") {
				t.Errorf("there is no %s", name)
			}
		default:
			others++
			_, rest, found := strings.Cut(got, mask(line)+"\n")
			if !found {
				t.Fatalf("no %q in\n%s", mask(line), got)
			}
			got = rest
		}
	}
	if rows < 15 || others < 8 {
		t.Errorf("%d rows and %d other lines are shown", rows, others)
	}
}

// exitCommand prints the exit code of the previous command.
const exitCommand = "echo $?\n"

// documented runs a documented command, compares its complete output and returns it. … matches any
// text, and on a line of its own any lines. A command with no documented output may print anything.
func documented(t *testing.T, dir, block string, exit int) []byte {
	command, output, _ := strings.Cut(block, "\n")
	cmd := exec.Command("sh", "-c", strings.Replace(command, "go run ./cmd/krmflow", "krmflow", 1))
	// an empty cache, as readers of the page have
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"))
	var got bytes.Buffer
	cmd.Stdout, cmd.Stderr = &got, &got
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exit {
		t.Errorf("%s: %v, not exit code %d\n%s", command, err, exit, got.Bytes())
	}
	if output = strings.TrimRight(output, "\n"); output == "" {
		return got.Bytes()
	}
	pattern := "^"
	for line := range strings.SplitSeq(output, "\n") {
		if line == "…" {
			pattern += "(.*\n)*"
		} else {
			pattern += strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "\n"
		}
	}
	shown := progressLine.ReplaceAll(got.Bytes(), nil) // shown on a slow machine
	if !regexp.MustCompile(pattern + "$").Match(shown) {
		t.Errorf("%s does not print\n%s\nbut\n%s", command, output, got.Bytes())
	}
	return got.Bytes()
}

var progressLine = regexp.MustCompile(`(?m)^\d+ of \d+ roots done, .*\n`)

// TestFirstSteps follows docs/start.md. Each file starts with a comment that contains its path.
func TestFirstSteps(t *testing.T) {
	text, err := os.ReadFile("../../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if b[1] == "console" {
			commands += documentedBlock(t, dir, b[2])
			continue
		}
		first, _, _ := strings.Cut(b[2], "\n")
		name := filepath.Join(dir, strings.TrimPrefix(first, "# "))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(b[2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 14 {
		t.Errorf("%d commands", commands)
	}
}

// TestDocumentedEdits runs the edits of docs/edit.md on the file shown there.
func TestDocumentedEdits(t *testing.T) {
	text, err := os.ReadFile("../../docs/edit.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	commands := 0
	for _, b := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if b[1] == "console" {
			commands += documentedBlock(t, dir, b[2])
		} else if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(b[2]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 4 {
		t.Errorf("%d commands", commands)
	}
}
