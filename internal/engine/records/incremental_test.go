package records_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/internal/dev/treetest"
)

var rounds = flag.Int("rounds", longtest.Sample(2, 15, 120), "how many edits TestIncrementalMatchesCleanRender makes")

// A tree is a tree of Kustomizations for random edits, and the krmflow that renders it.
type tree struct {
	*treetest.Tree
	t   *testing.T
	rnd *rand.Rand
	bin string // krmflow
	top string // contains the cache and all output
	dir string // inside top
}

// newTree returns an empty tree.
func newTree(t *testing.T) *tree {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	top := t.TempDir()
	w := &tree{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), bin: testbinary.Program(t, "cmd/krmflow"), top: top,
		dir: filepath.Join(top, "tree")}
	w.Tree = treetest.New(t, w.rnd, w.dir)
	return w
}

// randomTree returns a tree of random layers.
func randomTree(t *testing.T) *tree {
	t.Helper()
	w := newTree(t)
	w.Fill()
	return w
}

// command returns a krmflow command in the tree.
func (w *tree) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.bin, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+w.top, "XDG_CACHE_HOME="+filepath.Join(w.top, "cache"))
	return cmd
}

// run runs krmflow in the tree. With kill it kills krmflow at a random moment.
func (w *tree) run(kill bool, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := w.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if kill {
		time.Sleep(time.Duration(w.rnd.IntN(30)) * time.Millisecond)
		cmd.Process.Kill()
	}
	cmd.Wait()
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// content returns the content of the files below a folder.
func content(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}

// TestIncrementalMatchesCleanRender edits a random tree and compares renders with and without its
// cache: files, stdout, messages and exit code. In a tenth of the rounds, a run is killed first.
func TestIncrementalMatchesCleanRender(t *testing.T) {
	w := randomTree(t)
	out, fresh := filepath.Join(w.top, "out"), filepath.Join(w.top, "fresh")
	var edits []string
	reused, killed := 0, 0
	for round := range *rounds {
		for range 1 + w.rnd.IntN(2) {
			edits = append(edits, w.Edit())
		}
		if w.rnd.IntN(3) == 0 {
			w.Mend()
			edits = append(edits, "mend")
		}
		if w.rnd.IntN(4) == 0 {
			time.Sleep(30 * time.Millisecond) // until the file system's clock has advanced
		}
		if w.rnd.IntN(10) == 0 {
			killed++
			w.run(true, "apply-render", "-R", ".", "-o", out, "--keep-going", "--prune", "--force")
		}
		// Both folders start from the previous content of the other one, except for files left by a
		// killed run.
		os.RemoveAll(fresh)
		_, log, code := w.run(false, "apply-render", "-R", ".", "-o", out, "--keep-going", "--prune", "--force")
		_, wantLog, wantCode := w.run(false, "apply-render", "-R", ".", "-o", fresh, "--keep-going", "--prune", "--no-cache")
		if got, want := messages(log), messages(wantLog); code != wantCode || !slices.Equal(got, want) {
			t.Fatalf("round %d, after %q:\nexit code %d, %q\nwant      %d, %q", round, edits[max(0, len(edits)-4):], code, got, wantCode,
				want)
		}
		got, want := content(t, out), content(t, fresh)
		delete(got, "/.krmflow-manifest") // contains the path to the tree
		delete(want, "/.krmflow-manifest")
		if (code == 0 || len(want) > 0) && !maps.Equal(known(got, want), want) {
			t.Fatalf("round %d, after %q:\n%q\nwant %q", round, edits[max(0, len(edits)-4):], got, want)
		}
		root := fmt.Sprintf("l%d", w.rnd.IntN(treetest.Layers))
		for _, command := range [][]string{{"build", root}, {"plan", root}, {"build", root}, {"plan", "-R", "."},
			{"plan", "-R", ".", "--detail=roots"}} {
			stdout, log, code := w.run(false, command...)
			wantOut, wantLog, wantCode := w.run(false, append(command, "--no-cache")...)
			got, want := messages(log), messages(wantLog)
			if code != 0 && command[0] == "build" { // the error comes from planning or from execution
				_, all, _ := w.run(false, "plan", root, "--no-cache")
				got, want = slices.Compact(mistakes(got)), slices.Compact(mistakes(messages(all+wantLog)))
				want = slices.DeleteFunc(want, func(line string) bool { return len(got) > 0 && !slices.Contains(got, line) })
			} else if code != 0 {
				got, want = mistakes(got), mistakes(want)
			}
			if sinceLine.ReplaceAllString(stdout, "") != wantOut || code != wantCode || !slices.Equal(got, want) {
				t.Fatalf("round %d, %q after %q:\nexit code %d\n%s%s\nwant %d\n%s%s\n%q instead of %q", round,
					command, edits[max(0, len(edits)-4):], code, stdout, log, wantCode, wantOut, wantLog, got, want)
			}
		}
		if _, log, _ := w.run(false, "build", root, "--log-level=info"); strings.Contains(log, ": unchanged\n") {
			reused++
		}
	}
	t.Logf("%d rounds, %d killed, %d builds reused", *rounds, killed, reused)
	if reused == 0 { // all roots of a tree may have a Secret
		w.Write("own/kustomization.yaml", "configMapGenerator: [{name: c, literals: [a=b]}]\n")
		w.run(false, "build", "own")
		if _, log, _ := w.run(false, "build", "own", "--log-level=info"); !strings.Contains(log, ": unchanged\n") {
			t.Error("nothing was reused: the test shows nothing")
		}
	}
}

// mistakes returns the errors among the lines of a log.
func mistakes(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "Error: ") })
}

// sinceLine matches a line that only a plan with a cache prints.
var sinceLine = regexp.MustCompile(`(?m)^since the last render: .*\n`)

// known returns got without the files of roots that could not be rendered. They stay unchanged, and
// a fresh folder has no files for them. Each root has a manifest in its folder.
func known(got, want map[string]string) map[string]string {
	kept := maps.Clone(got)
	maps.DeleteFunc(kept, func(file, _ string) bool {
		for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
			manifest := dir + "/.krmflow-manifest"
			if _, ok := got[manifest]; ok {
				_, ok = want[manifest]
				return !ok
			}
		}
		return false
	})
	return kept
}

// messages returns the lines of a log about the tree, sorted, because their order differs if only
// some roots are rendered.
func messages(log string) []string {
	var lines []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, " files added, ") && !strings.Contains(line, " file added, ") &&
			!strings.Contains(line, " roots done, ") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestEveryFile removes and empties each file of the trees of this repository in turn, or a sample
// of the files. The result must be the same with records of the whole tree and without.
func TestEveryFile(t *testing.T) {
	w := newTree(t)
	for _, tree := range []string{"../../../testdata/kustomize/shop", "testdata/kinds"} {
		dir := filepath.Join(w.top, filepath.Base(tree))
		w.dir = dir
		if err := os.CopyFS(dir, os.DirFS(tree)); err != nil {
			t.Fatal(err)
		}
		out, fresh := filepath.Join(w.top, "out"), filepath.Join(w.top, "fresh")
		run := func(out string, args ...string) (log string, code int) {
			_, log, code = w.run(false, append([]string{"apply-render", "-R", ".", "-o", out, "--keep-going", "--prune"}, args...)...)
			return log, code
		}
		files := slices.Sorted(maps.Keys(content(t, dir)))
		every := longtest.Sample(15, 1, 1)
		for i, file := range files {
			if i%every != 0 {
				continue
			}
			data, err := os.ReadFile(dir + file)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range []string{"removed", "empty"} {
				os.RemoveAll(out)
				run(out)
				if log, _ := run(out, "--log-level=info"); !strings.Contains(log, ": unchanged") {
					t.Fatalf("nothing is reused: %s", log)
				}
				if os.Remove(dir + file); change == "empty" {
					os.WriteFile(dir+file, nil, 0o644)
				}
				os.RemoveAll(fresh)
				log, code := run(out)
				wantLog, wantCode := run(fresh, "--no-cache")
				got, want := content(t, out), content(t, fresh)
				delete(got, "/.krmflow-manifest")
				delete(want, "/.krmflow-manifest")
				if code != wantCode || !slices.Equal(messages(log), messages(wantLog)) || !maps.Equal(known(got, want), want) {
					t.Errorf("%s%s is %s: exit code %d, %q\n%q\nwant %d, %q\n%q", tree, file, change, code, messages(log), got, wantCode,
						messages(wantLog), want)
				}
				if err := os.WriteFile(dir+file, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
