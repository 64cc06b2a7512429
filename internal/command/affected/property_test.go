package affected_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
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
// extends each file in turn, or a sample of the files. Each root with changed output must be found,
// and an unchanged file must affect no root.
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

// mutate makes a random change to a random file of a directory, and describes it.
func (r *repository) mutate(rnd *rand.Rand, top string) string {
	var files []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		return fmt.Sprint("nothing: ", err)
	}
	file := files[rnd.IntN(len(files))]
	other := files[rnd.IntN(len(files))]
	data, _ := os.ReadFile(file) // a broken link is empty
	rewrite := func(data []byte) {
		os.Remove(file)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	name, _ := filepath.Rel(top, file)
	switch n := rnd.IntN(15); n {
	case 0:
		os.Remove(file)
		return "remove " + name
	case 1:
		os.Rename(file, other)
		return "rename " + name + " to " + other
	case 2:
		os.Rename(file, filepath.Join(filepath.Dir(file), "new.yaml"))
		return "rename " + name
	case 3:
		os.Chmod(file, []os.FileMode{0o644, 0o755}[rnd.IntN(2)])
		return "chmod " + name
	case 4:
		at := time.Now().Add(time.Duration(rnd.IntN(5)-2) * time.Hour)
		os.Chtimes(file, at, at)
		return "touch " + name
	case 5:
		os.Rename(file, file+".target")
		os.Symlink(filepath.Base(file)+".target", file)
		return "link for " + name
	case 6:
		os.Remove(file)
		os.Symlink(other, file)
		return "link from " + name + " to " + other
	case 7:
		os.Symlink("nothing", filepath.Join(filepath.Dir(file), "kustomization.yml"))
		return "broken link beside " + name
	case 8:
		dir := filepath.Dir(file)
		if dir != top && os.Rename(dir, dir+".target") == nil {
			os.Symlink(filepath.Base(dir)+".target", dir)
		}
		return "link for the directory of " + name
	case 9:
		r.run("", "git", "add", "-A", "--", r.dir)
		return "stage all"
	case 10:
		rewrite(data)
		return "rewrite " + name
	case 11, 12: // the same size and modification time
		info, err := os.Stat(file)
		if err != nil || len(data) == 0 {
			return "nothing"
		}
		data[rnd.IntN(len(data))] ^= 1
		os.WriteFile(file, data, 0o644)
		os.Chtimes(file, info.ModTime(), info.ModTime())
		return "flip a bit of " + name
	case 13:
		ignored := filepath.Join(filepath.Dir(file), []string{"ignored.yaml", "Kustomization", "composition.yaml"}[rnd.IntN(3)])
		os.WriteFile(ignored, []byte("resources: []\n"), 0o644)
		return "add " + ignored
	default:
		rewrite(append(data, "\n# more\n"...))
		return "extend " + name
	}
}

// TestRecordsGiveTheSameAnswer changes a tree at random. affected and diff must print the same with
// and without records of earlier runs.
func TestRecordsGiveTheSameAnswer(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := &repository{t: t, bin: testbinary.Program(t, "cmd/krmflow"), dir: filepath.Join(t.TempDir(), "tree")}
	if err := os.CopyFS(r.dir, os.DirFS("../../engine/records/testdata/kinds")); err != nil {
		t.Fatal(err)
	}
	w := treetest.New(t, rnd, filepath.Join(r.dir, "random")).Fill()
	if err := os.WriteFile(filepath.Join(r.dir, ".gitignore"), []byte("ignored.yaml\nKustomization\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commit := func() {
		r.run("", "git", "add", "-A")
		r.run("", "git", "commit", "-qm", "x", "--allow-empty")
	}
	r.run("", "git", "init", "-q")
	commit()
	commit()
	r.run("", "git", "tag", "base")
	out := filepath.Join(filepath.Dir(r.dir), "out")
	r.messages("apply-render", "-R", ".", "--keep-going", "-o", out+"/")
	for round := range *rounds {
		var edits []string
		for range rnd.IntN(3) {
			edits = append(edits, r.mutate(rnd, r.dir))
		}
		if info, err := os.Stat(filepath.Join(r.dir, "random", "l0")); err == nil && info.IsDir() && rnd.IntN(4) == 0 {
			w.Write("l0/a.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", rnd.IntN(3)))
			edits = append(edits, "edit l0")
		}
		switch rnd.IntN(6) {
		case 0:
			edits = append(edits, "in the output: "+r.mutate(rnd, out))
		case 1:
			layout := []string{"files", "single", "{kind}/{name}.yaml"}[rnd.IntN(3)]
			os.RemoveAll(out)
			edits = append(edits, "write "+layout)
			redact := fmt.Sprintf("--redact-secrets=%t", rnd.IntN(3) == 0)
			r.messages("apply-render", "-R", ".", "--keep-going", "-o", out+"/", "--layout", layout, redact)
		}
		if rnd.IntN(2) == 0 { // otherwise the metadata of the last files is too recent
			time.Sleep(50 * time.Millisecond)
		}
		for _, args := range [][]string{
			{"affected", "--against", "HEAD", "-o", "json"},
			{"affected", "--against", "HEAD~1", "--log-level", "info"},
			{"affected", "--files", "base", "random/l2/cm.yaml", "random/link"},
			{"diff", "-R", ".", "--keep-going", "--against", "HEAD", "-o", "json"},
			{"diff", "-R", ".", "--keep-going", "--against", "HEAD~1", "--stat"},
			{"diff", "-R", ".", "--keep-going", "--against", out},
		} {
			want := r.messages(append(args, "--no-cache")...)
			t.Setenv("KRMFLOW_DEBUG", "")
			if args[0] == "affected" && rnd.IntN(4) == 0 { // then both ways run, and a difference is an error
				t.Setenv("KRMFLOW_DEBUG", "cacheverify")
			}
			for range 2 {
				if got := r.messages(args...); got != want {
					t.Fatalf("round %d, after %q: %q prints\n%s\nwithout records\n%s", round, edits, args, got, want)
				}
			}
		}
		switch rnd.IntN(4) {
		case 0:
			commit()
		case 1:
			r.run("", "git", "reset", "-q") // the index differs from both sides
			r.run("", "git", "rm", "-q", "--cached", "-r", ".")
		case 2:
			r.run("", "git", "reset", "-q", "--hard", "base")
			r.run("", "git", "clean", "-qfdx")
		}
	}
}

// aboutOthers matches lines of messages that depend on the roots that are planned: they count or
// name the roots of a message.
var aboutOthers = regexp.MustCompile(`more at this line|^  needed by `)

// messages returns the output of krmflow, the sorted lines of its messages, and its exit code.
// Warnings from records precede the others.
func (r *repository) messages(args ...string) string {
	cmd := exec.Command(r.bin, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(r.dir), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(r.dir), "cache"))
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.Run() // the exit code is compared
	lines := slices.DeleteFunc(slices.Sorted(strings.Lines(e.String())), aboutOthers.MatchString)
	return fmt.Sprintf("%s%s\nexit code %d", &o, strings.Join(lines, ""), cmd.ProcessState.ExitCode())
}
