package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/executortest"
)

// TestDocumentedFunction tries what docs/functions.md tells: its files are those of the example, its commands end as it says, and
// every line of output that it shows is printed (… stands for any text).
func TestDocumentedFunction(t *testing.T) {
	if iso, _ := isolation(); runtime.GOOS != "linux" || iso == "" {
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
	blocks := regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
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

// TestCompositionExample renders the three environments of testdata/examples/webapp and tries what docs/composition.md tells about
// them.
func TestCompositionExample(t *testing.T) {
	if iso, _ := isolation(); runtime.GOOS != "linux" || iso == "" {
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

// documentedBlock runs the commands of a console block and returns how many they are.
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

// exitCommand prints the exit code of the command before.
const exitCommand = "echo $?\n"

// documented runs a command that the documentation shows and compares what it prints.
func documented(t *testing.T, dir, block string, exit int) {
	command, output, _ := strings.Cut(block, "\n")
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	var got bytes.Buffer
	cmd.Stdout, cmd.Stderr = &got, &got
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exit {
		t.Errorf("%s: %v, not exit code %d\n%s", command, err, exit, got.Bytes())
	}
	for line := range strings.Lines(output) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
		if !regexp.MustCompile("(?m)^" + pattern + "$").Match(got.Bytes()) {
			t.Errorf("%s does not print\n%s\nbut\n%s", command, line, got.Bytes())
		}
	}
}
