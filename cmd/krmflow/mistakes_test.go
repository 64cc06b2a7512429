package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/rogpeppe/go-internal/txtar"
)

// A mistake is a tree with one error. The comment of its archive describes the error. It may have
// lines "krmflow: ARGUMENT..." and "kustomize: ARGUMENT...", with "-" for no arguments. The archive
// also contains the output of both programs.
type mistake struct {
	name, what string
	args       map[string][]string
	files      []txtar.File
	said       map[string]string
}

// tools are the two programs that run on each mistake.
var tools = []string{"krmflow", "kustomize"}

func readMistake(t *testing.T, file string) *mistake {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &mistake{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), args: map[string][]string{}, said: map[string]string{}}
	for line := range strings.Lines(string(a.Comment)) {
		tool, args, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && (tool == "krmflow" || tool == "kustomize") {
			m.args[tool] = strings.Fields(args)
		} else if m.what == "" {
			m.what = strings.TrimSpace(line)
		}
	}
	if m.args["krmflow"] == nil {
		m.args["krmflow"] = []string{"build", "."}
	}
	if m.args["kustomize"] == nil {
		m.args["kustomize"] = m.args["krmflow"]
	}
	for _, f := range a.Files {
		if tool, ok := strings.CutSuffix(f.Name, ".said"); ok {
			m.said[tool] = string(f.Data)
		} else {
			m.files = append(m.files, f)
		}
	}
	return m
}

// write writes the archive with the output of both programs.
func (m *mistake) write(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a.Files = m.files
	for _, tool := range tools {
		if said, ok := m.said[tool]; ok {
			a.Files = append(a.Files, txtar.File{Name: tool + ".said", Data: []byte(said)})
		}
	}
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask returns the output of a program for the tree. The session runs krmflow.
func (m *mistake) ask(t *testing.T, s *session, tool, program string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.files {
		file := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"NO_COLOR=1", "XDG_CACHE_HOME=" + filepath.Join(t.TempDir(), "cache"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	said, fails := "", false
	if program == "krmflow" {
		o := s.run(dir, env, m.args[tool]...)
		said, fails = string(o.Stderr), o.Code != 0
	} else {
		cmd := exec.Command(program, m.args[tool]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		fails = cmd.Run() != nil
		said = stderr.String()
	}
	said = strings.ReplaceAll(said, dir, "/tree")
	said = regexp.MustCompile(`/\S*/kustomize-\d+`).ReplaceAllString(said, "/tmp/kustomize")
	said = regexp.MustCompile(`0x[0-9a-f]{6,}`).ReplaceAllString(said, "0xc000010000")
	said = regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `).ReplaceAllString(said, "")
	if !fails && said == "" {
		return "(nothing)\n"
	}
	return strings.TrimRight(said, "\n") + "\n"
}

// TestMistakesAreReportedAsDocumented runs krmflow, and in long tests kustomize if it is installed,
// on trees with one mistake each. It compares their output with the recorded one, which -update
// replaces. docs/mistakes.md is generated from it.
func TestMistakesAreReportedAsDocumented(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/mistakes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{"krmflow": "krmflow"}
	if kustomize, err := filepath.Abs("../../.tools/kustomize"); err == nil && (longtest.On() || *update) {
		if _, err := os.Stat(kustomize); err == nil {
			programs["kustomize"] = kustomize
		}
	}
	s := newSession(t)
	var all []*mistake
	for _, file := range files {
		m := readMistake(t, file)
		all = append(all, m)
		t.Run(m.name, func(t *testing.T) {
			for _, tool := range tools {
				if programs[tool] == "" || m.args[tool][0] == "-" {
					continue
				}
				said := m.ask(t, s, tool, programs[tool])
				if said != m.said[tool] && !*update {
					t.Errorf("%s says\n%s\nand not\n%s", tool, said, m.said[tool])
				}
				m.said[tool] = said
			}
			if *update {
				m.write(t, file)
			}
			checkMessages(t, m)
			checkCodes(t, s, m)
		})
	}
	if len(all) < 60 {
		t.Errorf("%d mistakes, 60 are wanted", len(all))
	}
	const page = "../../docs/mistakes.md"
	text := mistakesPage(all)
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(page); string(got) != text {
		t.Errorf("docs/mistakes.md is out of date: go test ./cmd/krmflow -run TestMistakesAreReportedAsDocumented -update")
	}
}

// placed matches the start of a message with a file and a line.
var placed = regexp.MustCompile(`^(Error|Warning): [^ :]+:[0-9]+: `)

// shownBeside matches the lines of a message that add nothing new: the source line, the carets, and
// the reference to krmflow explain.
var shownBeside = regexp.MustCompile(`(?m)^( +[0-9]* \| .*|  see krmflow explain KF[0-9]+)\n`)

// general lists the mistakes that may have the general code.
var general = []string{}

// checkCodes fails unless each message has a specific code.
func checkCodes(t *testing.T, s *session, m *mistake) {
	if slices.Contains(general, m.name) {
		return
	}
	asJSON := *m
	asJSON.args = map[string][]string{"krmflow": append(slices.Clip(m.args["krmflow"]), "--log-format=json")}
	for line := range strings.Lines(asJSON.ask(t, s, "krmflow", "krmflow")) {
		message := strings.Contains(line, `"level":"error"`) || strings.Contains(line, `"level":"warn"`)
		if message && !strings.Contains(line, `"verb":`) &&
			(!strings.Contains(line, `"code":"KF`) || strings.Contains(line, `"code":"KF0100"`)) {
			t.Errorf("without a code of its own: %s", line)
		}
	}
}

// checkMessages fails unless each message has a file, a line and a next step.
func checkMessages(t *testing.T, m *mistake) {
	messages := regexp.MustCompile(`(?m)^(Error|Warning): `).FindAllStringIndex(m.said["krmflow"], -1)
	if len(messages) == 0 {
		t.Errorf("there is no message:\n%s", m.said["krmflow"])
	}
	for i, at := range messages {
		end := len(m.said["krmflow"])
		if i+1 < len(messages) {
			end = messages[i+1][0]
		}
		msg := shownBeside.ReplaceAllString(m.said["krmflow"][at[0]:end], "")
		noLine := m.name == "no_kustomization" || strings.HasPrefix(msg, "Warning: catalog ") // directories and flags have none
		if !placed.MatchString(msg) && !noLine {
			t.Errorf("without file and line: %s", msg)
		}
		if !strings.Contains(msg, "\n  ") && !strings.Contains(msg, ": deprecated, use ") {
			t.Errorf("without a next step: %s", msg)
		}
	}
}

// mistakesPage returns docs/mistakes.md.
func mistakesPage(all []*mistake) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# %d mistakes

This page shows the messages of krmflow and of kustomize v5.8.2 for trees with one mistake each. Each message of krmflow
has a file, a line and the next step. The trees are in [testdata/mistakes](../testdata/mistakes).
`+"`go test ./cmd/krmflow -run TestMistakesAreReportedAsDocumented -update`"+` writes this page.

`, len(all))
	for _, m := range all {
		fmt.Fprintf(&b, "## %s\n\n[%s](../testdata/mistakes/%s.txtar)\n", strings.TrimSuffix(m.what, "."), m.name, m.name)
		for _, tool := range tools {
			if said, ok := m.said[tool]; ok {
				fmt.Fprintf(&b, "\n%s:\n\n```\n%s```\n", tool, said)
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
