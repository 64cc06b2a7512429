package rewrite_test

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/dirmode/rewrite"
)

// versions are what the files of a directory hold before and after.
var versions = [2]map[string]string{
	{"a.yaml": "a 0\n", "sub/b.yaml": "b 0\n", "gone.yaml": "gone\n", "same.yaml": "same\n"},
	{"a.yaml": "a 1\n", "sub/b.yaml": "b 1\n", "new/c.yaml": "c 1\n", "same.yaml": "same\n"},
}

func changes() (files []rewrite.File) {
	for _, name := range []string{"a.yaml", "gone.yaml", "new/c.yaml", "sub/b.yaml"} {
		f := rewrite.File{Path: name, Mode: 0o600}
		if text, ok := versions[0][name]; ok {
			f.Old = []byte(text)
		}
		if text, ok := versions[1][name]; ok {
			f.New = []byte(text)
		}
		files = append(files, f)
	}
	return files
}

// TestKilledWriter is the program that the test below kills.
func TestKilledWriter(t *testing.T) {
	dir := os.Getenv("KRMFLOW_TEST_DIR")
	if dir == "" {
		t.Skip("started by another test")
	}
	runtime.LockOSThread() // the system calls of each thread are counted
	d, err := rewrite.Open(dir, ".memory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(changes()); err != nil {
		t.Fatal(err)
	}
	d.Close()
	fmt.Println("written") // one of these calls is behind all that counts
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() || d.Name() == ".krmflow-run-lock" {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSurvivesKill kills the writer at each system call that changes the directory, before and after it (IM-17): then every file is old or every file
// is new, or the next run completes the new ones and says so.
func TestSurvivesKill(t *testing.T) {
	strace, err := osexec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no strace")
		}
		t.Skip("there is no strace")
	}
	counts := map[string]int{}
	for _, call := range []string{"openat", "mkdirat", "write", "renameat", "unlinkat", "fsync", "fchmod"} {
		for n := 1; ; n++ {
			dir := t.TempDir()
			fill(t, dir)
			cmd := osexec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n),
				os.Args[0], "-test.run=^TestKilledWriter$")
			cmd.Env = append(os.Environ(), "KRMFLOW_TEST_DIR="+dir)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if err == nil {
				break // there are fewer such calls
			}
			if !strings.Contains(err.Error(), "killed") && cmd.ProcessState.ExitCode() != 137 {
				t.Fatalf("%s %d: %v\n%s", call, n, err, out.Bytes())
			}
			counts[check(t, dir, fmt.Sprint(call, " ", n))]++
		}
	}
	t.Logf("killed: %v", counts)
	if counts["old"] == 0 || counts["completed"] == 0 || counts["new"] == 0 {
		t.Errorf("killed: %v; the test shows nothing of the others", counts)
	}
}

func fill(t *testing.T, dir string) {
	t.Helper()
	for name, text := range versions[0] {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// check returns what a killed writer has left, and what the next run makes of it.
func check(t *testing.T, dir, when string) string {
	t.Helper()
	is := func(version int, got map[string]string) bool {
		for name := range got {
			if strings.HasPrefix(name, ".krmflow-run-") {
				delete(got, name)
			}
		}
		return fmt.Sprint(got) == fmt.Sprint(versions[version])
	}
	pending := rewrite.Pending(dir)
	before := content(t, dir)
	d, err := rewrite.Open(dir, ".memory.yaml")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	d.Close()
	after := content(t, dir)
	for name := range after {
		if strings.HasPrefix(name, ".krmflow") {
			t.Errorf("%s: the next run leaves %s", when, name)
		}
	}
	switch {
	case pending && d.Completed && is(1, after):
		return "completed"
	case !pending && is(0, before) && is(0, after):
		return "old"
	case !pending && is(1, before) && is(1, after):
		return "new"
	}
	t.Errorf("%s: pending %t, completed %t, before\n%v\nafter\n%v", when, pending, d.Completed, before, after)
	return "mixed"
}
