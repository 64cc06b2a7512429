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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/treetest"
)

var rounds = flag.Int("rounds", 60, "how many edits TestNoneIsMissed makes")

// A repository is a random tree in git.
type repository struct {
	t        *testing.T
	bin, dir string
}

func (r *repository) run(stdin string, name string, args ...string) (stdout string, code int) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(r.dir), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(r.dir), "cache"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.Run() // the exit code says what came of it
	code = cmd.ProcessState.ExitCode()
	if code != 0 && (name == "git" || args[0] == "affected" && !slices.Contains(args, "--really")) {
		r.t.Fatalf("%s %q: exit code %d\n%s", name, args, code, &e)
	}
	return o.String(), code
}

// build renders each root by itself. Of one that fails, that it does is what comes of it.
func (r *repository) build() map[string]string {
	built := map[string]string{}
	for layer := range treetest.Layers {
		root := fmt.Sprintf("l%d", layer)
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

// TestNoneIsMissed edits a random tree and renders all roots before and after: those with another output are among those that affected prints, by a
// revision and by the names that git prints. With --really there are no others, but for those that cannot be rendered.
func TestNoneIsMissed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := &repository{t: t, bin: treetest.Program(t), dir: filepath.Join(t.TempDir(), "tree")}
	w := treetest.New(t, rnd, r.dir)
	commit := func() {
		r.run("", "git", "add", "-A")
		r.run("", "git", "commit", "-qm", "x", "--allow-empty")
	}
	r.run("", "git", "init", "-q")
	commit()
	before := r.build()
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
		after := r.build()
		since, really := r.lines("--since", "HEAD"), r.lines("--since", "HEAD", "--really")
		names, _ := r.run("", "git", "diff", "--name-only", "--no-renames", "-z", "HEAD")
		untracked, _ := r.run("", "git", "ls-files", "-z", "--others")
		out, _ := r.run(names+untracked, r.bin, "affected", "-")
		named := set(out)
		for _, root := range slices.Sorted(maps.Keys(after)) {
			fails := !strings.HasPrefix(after[root], "0 ") || !strings.HasPrefix(before[root], "0 ")
			isRoot := root != "l1" && root != "l3" // these are Components
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
			if differs && (!since[root] || !really[root] || !named[root]) || !differs && !fails && really[root] || really[root] && !since[root] {
				t.Fatalf("round %d, after %q: %s: another output %v, affected %v, by names %v, really %v\nbefore %s\nafter %s", round, edits, root, differs, since[root], named[root], really[root], before[root], after[root])
			}
		}
		before = after
		commit()
	}
	t.Logf("%d rounds: %d roots, %d have another output, %d are affected", *rounds, roots, changed, printed)
	if changed == 0 || printed == roots {
		t.Error("the test shows nothing")
	}
}
