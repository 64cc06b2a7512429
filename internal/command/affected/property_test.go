package affected_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/command/affected"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/internal/dev/treetest"
)

var rounds = flag.Int("rounds", longtest.Sample(1, 6, 60), "how many edits TestNoneIsMissed makes")

// A repository is a random tree in git.
type repository struct {
	t        *testing.T
	bin, dir string
}

func (r *repository) run(stdin string, name string, args ...string) (stdout string, code int) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(r.dir), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(r.dir), "cache"),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.Run() // the exit code is checked instead
	code = cmd.ProcessState.ExitCode()
	if code != 0 && (name == "git" || args[0] == "affected" && !slices.Contains(args, "--really")) {
		r.t.Fatalf("%s %q: exit code %d\n%s", name, args, code, &e)
	}
	return o.String(), code
}

// build renders each root separately. For a root that fails, the result is the failure.
func (r *repository) build(roots []string) map[string]string {
	built := map[string]string{}
	for _, root := range roots {
		out, code := r.run("", r.bin, "build", root, "--no-cache")
		built[root] = fmt.Sprintf("%d %s", code, out)
	}
	return built
}

func (r *repository) lines(args ...string) map[string]bool {
	out, _ := r.run("", r.bin, append([]string{"affected", "-q"}, args...)...)
	return set(out)
}

func set(lines string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(lines) {
		all[strings.TrimSuffix(line, "\n")] = true
	}
	return all
}

// TestNoneIsMissed edits a random tree and renders all roots before and after. affected must print
// every root whose output changed, both by revision and by the names that git prints. With --really
// it prints no other roots, except roots that cannot be rendered.
func TestNoneIsMissed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := &repository{t: t, bin: testbinary.Program(t, "cmd/krmflow"), dir: filepath.Join(t.TempDir(), "tree")}
	w := treetest.New(t, rnd, r.dir).Fill()
	commit := func() {
		r.run("", "git", "add", "-A")
		r.run("", "git", "commit", "-qm", "x", "--allow-empty")
	}
	r.run("", "git", "init", "-q")
	commit()
	var dirs []string
	for layer := range treetest.Layers {
		dirs = append(dirs, fmt.Sprintf("l%d", layer))
	}
	before := r.build(dirs)
	printed, changed, roots := 0, 0, 0
	for round := range *rounds {
		var edits []string
		for range 1 + rnd.IntN(3) {
			edits = append(edits, w.Edit())
		}
		if rnd.IntN(3) == 0 {
			w.Mend()
			edits = append(edits, "mend")
		}
		after := r.build(dirs)
		since, really := r.lines("--since", "HEAD"), r.lines("--since", "HEAD", "--really")
		names, _ := r.run("", "git", "diff", "--name-only", "--no-renames", "-z", "HEAD")
		untracked, _ := r.run("", "git", "ls-files", "-z", "--others")
		out, _ := r.run(names+untracked, r.bin, "affected", "-")
		named := set(out)
		for _, root := range slices.Sorted(maps.Keys(after)) {
			fails := !strings.HasPrefix(after[root], "0 ") || !strings.HasPrefix(before[root], "0 ")
			isRoot := root != "l1" && root != "l3" // the two are Components
			if !isRoot {
				continue
			}
			roots++
			if since[root] {
				printed++
			}
			differs := before[root] != after[root]
			if differs {
				changed++
			}
			if differs && (!since[root] || !really[root] || !named[root]) || !differs && !fails && really[root] ||
				really[root] && !since[root] {
				t.Fatalf("round %d, after %q: %s: another output %v, affected %v, by names %v, really %v\nbefore %s\nafter %s", round,
					edits, root, differs, since[root], named[root], really[root], before[root], after[root])
			}
		}
		before = after
		commit()
	}
	t.Logf("%d rounds: %d roots, %d have another output, %d are affected", *rounds, roots, changed, printed)
	if longtest.All() && (changed == 0 || printed == roots) { // a few rounds may change nothing
		t.Error("the test shows nothing")
	}
}

// states matches the roots in JSON.
var states = regexp.MustCompile(`"root": "(.*)",\n *"state": "(.*)"`)

// TestEveryFile takes a tree that uses files in every possible way, and removes, empties and
// extends each file in turn, or a sample of the files. No root with changed output may be missed,
// and an unchanged file may
// affect no root.
func TestEveryFile(t *testing.T) {
	r := &repository{t: t, bin: testbinary.Program(t, "cmd/krmflow"), dir: filepath.Join(t.TempDir(), "tree")}
	if err := os.CopyFS(r.dir, os.DirFS("../../engine/records/testdata/kinds")); err != nil {
		t.Fatal(err)
	}
	r.run("", "git", "init", "-q")
	r.run("", "git", "add", "-A")
	r.run("", "git", "commit", "-qm", "x")
	names, _ := r.run("", "git", "ls-files")
	dirs := slices.Sorted(maps.Keys(r.lines("--files", "."))) // the whole tree
	before := r.build(dirs)
	changed := 0
	every := longtest.Sample(12, 1, 1)
	for i, file := range slices.Sorted(maps.Keys(set(names))) {
		if i%every != 0 {
			continue
		}
		path := filepath.Join(r.dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string][]byte{"removed": nil, "empty": {},
			"longer": append(slices.Clone(data), "\n# more\nx: y\n"...)} {
			if os.Remove(path); text != nil {
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			since, named := map[string]bool{}, r.lines("--files", file)
			out, _ := r.run("", r.bin, "affected", "--since", "HEAD", "-o", "json")
			gone := false
			for _, m := range states.FindAllStringSubmatch(out, -1) {
				since[m[1]] = true
				gone = gone || m[2] == affected.Deleted
			}
			for root, after := range r.build(dirs) {
				if after == before[root] {
					continue
				}
				changed++
				if !since[root] || !named[root] && !gone {
					t.Errorf("%s is %s: %s is missed: affected %v, by its name %v", file, what, root, since[root], named[root])
				}
			}
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if left := r.lines("--since", "HEAD"); len(left) > 0 {
			t.Fatalf("%s is what it was, and %v are affected", file, left)
		}
	}
	if changed < 20/every {
		t.Errorf("only %d roots have another output", changed)
	}
}
