package diff_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/internal/dev/treetest"
)

var rounds = flag.Int("rounds", longtest.Sample(2, 8, 30), "how many edits TestRevisionDiffMatchesCopy makes")

// TestRevisionDiffMatchesCopy edits a random tree and compares it with its last commit in two ways:
// with the revision, which renders only changed roots, and with a copy of the revision, which
// renders all roots. Both must find the same differences. A root that fails on both sides for the
// same reason may be reported as equal.
func TestRevisionDiffMatchesCopy(t *testing.T) {
	bin := testbinary.Program(t, "cmd/krmflow")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	top := t.TempDir()
	tree, copied := filepath.Join(top, "tree"), filepath.Join(top, "copy")
	w := treetest.New(t, rnd, tree).Fill()
	run := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1")
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil && name == "git" {
			t.Fatalf("%s %q: %v\n%s", name, args, err, &stderr)
		}
		if strings.Contains(stderr.String(), "a bug of krmflow") {
			t.Fatal(stderr.String())
		}
		return out.Bytes()
	}
	git := func(args ...string) {
		run("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)...)
	}
	git("init", "-q")
	differed, same := 0, 0
	for round := range *rounds {
		if rnd.IntN(3) > 0 {
			w.Mend()
		}
		git("add", "-A")
		git("commit", "-q", "--allow-empty", "-m", "before")
		os.RemoveAll(copied)
		git("worktree", "prune")
		git("worktree", "add", "-q", "--detach", copied, "HEAD")
		var edits []string
		for range 1 + rnd.IntN(6) {
			edits = append(edits, w.Edit())
		}
		if round%3 == 0 { // one root always differs
			w.Write("own/kustomization.yaml", fmt.Sprintf("configMapGenerator: [{name: c, literals: [round=%d]}]\n", round))
		}
		if rnd.IntN(3) > 0 { // otherwise most rounds have only errors
			w.Mend()
		}
		args := []string{"diff", "-R", ".", "--keep-going", "-q", "-o", "json", "--against"}
		got := comparable(t, run(bin, append(args, "git:HEAD", "--no-cache")...))
		want := comparable(t, run(bin, append(args, copied, "--no-cache")...))
		if got != want {
			t.Fatalf("round %d, after %q: with the revision\n%s\nwith a copy of it\n%s", round, edits, got, want)
		}
		if strings.Contains(got, `"change"`) {
			differed++
		}
		if !strings.Contains(got, `"same":0`) {
			same++
		}
	}
	t.Logf("%d rounds, %d with changes, %d with roots that are the same", *rounds, differed, same)
	if longtest.All() && (differed == 0 || same == 0) { // a few rounds may change nothing
		t.Error("the test shows nothing")
	}
}

// TestRecordsDoNotChangeDiff edits a random tree and compares it with its commits, once with the
// records of earlier runs, which skip equal roots, and once without a cache. The output must be the
// same to the byte, and so must warnings except for their order, errors and the exit code.
// KRMFLOW_DEBUG=cacheverify finds nothing wrong in the records.
func TestRecordsDoNotChangeDiff(t *testing.T) {
	bin := testbinary.Program(t, "cmd/krmflow")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	top := t.TempDir()
	tree := filepath.Join(top, "tree")
	w := treetest.New(t, rnd, tree).Fill()
	run := func(env, name string, args ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "HOME="+top, "XDG_CACHE_HOME="+filepath.Join(top, "cache"), "GIT_CONFIG_NOSYSTEM=1", env)
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		if err := cmd.Run(); err != nil && name == "git" {
			t.Fatalf("%s %q: %v\n%s", name, args, err, &e)
		}
		return o.String(), e.String(), cmd.ProcessState.ExitCode()
	}
	commit := func() {
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
			{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", "commit", "-q", "--allow-empty", "-m", "a"}} {
			run("", "git", args...)
		}
	}
	commit()
	commit()
	left := 0
	var edits []string
	for round := range *rounds {
		if rnd.IntN(3) == 0 {
			commit()
			edits = append(edits, "commit")
		}
		for range rnd.IntN(3) {
			edits = append(edits, w.Edit())
		}
		if rnd.IntN(3) == 0 {
			w.Mend()
			edits = append(edits, "mend")
		}
		if rnd.IntN(4) == 0 {
			time.Sleep(30 * time.Millisecond) // until the file system's clock has advanced
		}
		switch rnd.IntN(4) { // other commands leave records as well
		case 0:
			run("", bin, "plan", "-R", ".", "--keep-going")
		case 1:
			run("", bin, "apply-render", "-R", ".", "--keep-going", "-o", filepath.Join(top, "out"), "--force", "--prune")
		}
		args := []string{"diff", "-R", ".", "--keep-going", "--exit-code", "-o", []string{"text", "json"}[rnd.IntN(2)], "--against",
			[]string{"git:HEAD", "git:HEAD~1"}[rnd.IntN(2)]}
		want, wantLog, wantCode := run("", bin, append(args, "--no-cache")...)
		for _, env := range []string{"A=first", "A=again", "KRMFLOW_DEBUG=cacheverify"} {
			got, log, code := run(env, bin, args...)
			if env == "A=again" {
				_, info, _ := run(env, bin, append(args, "--log-level", "info")...)
				left += strings.Count(info, ": unchanged")
			}
			if env == "KRMFLOW_DEBUG=cacheverify" && !strings.Contains(log, "the cache says") {
				log = wantLog // rendering to verify may warn, or fail on both sides
				if code == 128 {
					got, code = want, wantCode
				}
			}
			if got != want || sorted(log) != sorted(wantLog) || code != wantCode {
				t.Fatalf("round %d, %s %q, after %q: exit code %d\n%s%s\nwithout a cache: exit code %d\n%s%s", round, env,
					args, edits[max(0, len(edits)-8):], code, got, log, wantCode, want, wantLog)
			}
		}
	}
	t.Logf("%d rounds, %d roots left out", *rounds, left)
	if longtest.All() && left == 0 {
		t.Error("the test shows nothing")
	}
}

// sorted returns the lines of a log in sorted order, because the order of steps varies.
func sorted(log string) string {
	return strings.Join(slices.Sorted(strings.Lines(log)), "")
}

// comparable returns a diff in JSON without the parts that depend on the location of the old side.
func comparable(t *testing.T, doc []byte) string {
	t.Helper()
	if len(doc) == 0 {
		return ""
	}
	var d map[string]any
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	delete(d, "against")
	delete(d, "commit")
	failed, _ := d["failed"].([]any)
	d["same"] = d["same"].(float64) + float64(len(failed))
	delete(d, "failed")
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "at")
			delete(v, "cause")
			for key := range v {
				v[key] = strip(v[key])
			}
		case []any:
			for i := range v {
				v[i] = strip(v[i])
			}
		case string:
			if _, name, ok := strings.Cut(v, "/copy/"); ok {
				return name
			}
		}
		return v
	}
	out, err := json.Marshal(strip(d))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
