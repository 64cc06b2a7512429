package rewrite_test

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/output/rewrite"
)

// TestKilledWriter is the program that the test below kills.
func TestKilledWriter(t *testing.T) {
	dir := os.Getenv("KRMFLOW_TEST_DIR")
	if dir == "" {
		t.Skip("started by another test")
	}
	runtime.LockOSThread() // system calls are counted per thread
	d, err := rewrite.Open(dir, ".memory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(changes()); err != nil {
		t.Fatal(err)
	}
	d.Close()
	fmt.Println("written") // one of these calls follows all relevant ones
}

// TestSurvivesKill kills the writer before and after each system call that changes the directory
// (IM-17). Then either every file is old or every file is new, or the next run completes the new
// files and reports it.
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
			cmd := osexec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-e",
				fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n),
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

// check returns the state left by a killed writer, and the result of the next run.
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
