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
	"github.com/krmflow/krmflow/internal/dev/treetest"
)

var rounds = flag.Int("rounds", longtest.Rounds(8, 30), "how many edits TestRevisionDiffMatchesCopy makes")

// TestRevisionDiffMatchesCopy compares a random tree that is edited with its last commit: once with the revision, of which only what is not the same is rendered,
// and once with a copy of it, all of which is rendered. The differences are the same. A root that cannot be rendered, on both sides for the same reason, may be one that is the same.
func TestRevisionDiffMatchesCopy(t *testing.T) {
	bin := treetest.Program(t)
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
		if round%3 == 0 { // one root always has a difference
			w.Write("own/kustomization.yaml", fmt.Sprintf("configMapGenerator: [{name: c, literals: [round=%d]}]\n", round))
		}
		if rnd.IntN(3) > 0 { // otherwise most rounds have nothing but mistakes
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
	if longtest.On() && (differed == 0 || same == 0) { // a few rounds may change nothing
		t.Error("the test shows nothing")
	}
}

// TestRecordsDoNotChangeDiff edits a random tree, and compares it with its commits: with the records of earlier runs, by which roots are left out that are the same, and
// without a cache. What is printed is the same, to the byte, and so are warnings, but for their order, mistakes and the exit code. KRMFLOW_DEBUG=cacheverify finds
// nothing wrong with what the records say.
func TestRecordsDoNotChangeDiff(t *testing.T) {
	bin := treetest.Program(t)
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
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", "commit", "-q", "--allow-empty", "-m", "a"}} {
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
			time.Sleep(30 * time.Millisecond) // until the clock of the file system has gone on
		}
		switch rnd.IntN(4) { // others leave records, too
		case 0:
			run("", bin, "plan", "-R", ".", "--keep-going")
		case 1:
			run("", bin, "apply-render", "-R", ".", "--keep-going", "-o", filepath.Join(top, "out"), "--force", "--prune")
		}
		args := []string{"diff", "-R", ".", "--keep-going", "--exit-code", "-o", []string{"text", "json"}[rnd.IntN(2)], "--against", []string{"git:HEAD", "git:HEAD~1"}[rnd.IntN(2)]}
		want, wantLog, wantCode := run("", bin, append(args, "--no-cache")...)
		for _, env := range []string{"A=first", "A=again", "KRMFLOW_DEBUG=cacheverify"} {
			got, log, code := run(env, bin, args...)
			if env == "A=again" {
				_, info, _ := run(env, bin, append(args, "--log-level", "info")...)
				left += strings.Count(info, ": unchanged")
			}
			if env == "KRMFLOW_DEBUG=cacheverify" && !strings.Contains(log, "the cache says") {
				log = wantLog // what is rendered to verify it has warnings, or cannot be rendered on either side
				if code == 128 {
					got, code = want, wantCode
				}
			}
			if got != want || sorted(log) != sorted(wantLog) || code != wantCode {
				t.Fatalf("round %d, %s %q, after %q: exit code %d\n%s%s\nwithout a cache: exit code %d\n%s%s", round, env, args, edits[max(0, len(edits)-8):], code, got, log, wantCode, want, wantLog)
			}
		}
	}
	t.Logf("%d rounds, %d roots left out", *rounds, left)
	if longtest.On() && left == 0 {
		t.Error("the test shows nothing")
	}
}

// sorted returns the lines of a log in their order: that of steps is not the same each time.
func sorted(log string) string {
	return strings.Join(slices.Sorted(strings.Lines(log)), "")
}

// comparable returns a difference in JSON without what depends on where the old side is.
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
