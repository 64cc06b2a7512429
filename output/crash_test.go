//go:build unix

package output

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/manifest"
)

const crashFiles = 300

// version returns a list in which every object contains tag. A tenth of the names depend on it as
// well.
func version(tag string) *krm.List {
	l := krm.NewList()
	for i := range crashFiles {
		name := fmt.Sprintf("x%03d", i)
		if i%10 == 0 {
			name += "-" + tag
		}
		if err := l.Append(configMap(name, tag)); err != nil {
			panic(err)
		}
	}
	return l
}

func versionRoots(tag string) map[string]*krm.List {
	return map[string]*krm.List{".": version(tag), "sub/" + tag: krm.NewList(configMap("x", tag)),
		"same": krm.NewList(configMap("x", "same"))}
}

// TestCrashingWriter is the program that the tests below kill. It writes versions in an endless
// loop.
func TestCrashingWriter(t *testing.T) {
	out := os.Getenv("KRMFLOW_TEST_OUT")
	if out == "" {
		t.Skip("started by other tests")
	}
	opts := Options{Force: os.Getenv("KRMFLOW_TEST_FORCE") != ""}
	a, b := versionRoots("a"), versionRoots("b")
	fmt.Println("start")
	for {
		for _, roots := range []map[string]*krm.List{a, b} {
			if _, err := tryWriteOut(out, opts, roots); err != nil {
				fmt.Println("error:", err)
				os.Exit(1)
			}
		}
	}
}

// killWriter starts the writer and kills it a moment after its first step.
func killWriter(t *testing.T, out string, force bool) {
	t.Helper()
	cmd := osexec.Command(os.Args[0], "-test.run=^TestCrashingWriter$")
	cmd.Env = append(os.Environ(), "KRMFLOW_TEST_OUT="+out)
	if force {
		cmd.Env = append(cmd.Env, "KRMFLOW_TEST_FORCE=1")
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	time.Sleep(rand.N(60 * time.Millisecond))
	cmd.Process.Signal(syscall.SIGKILL)
	for lines.Scan() {
		t.Errorf("writer: %s", lines.Text())
	}
	cmd.Wait()
}

// wantOneVersion fails unless out contains exactly version a or version b, plus the files in more.
func wantOneVersion(t *testing.T, out string, more ...string) string {
	t.Helper()
	got := tree(t, out)
	for _, name := range more {
		delete(got, name)
	}
	for _, tag := range []string{"a", "b"} {
		if _, ok := got["sub/"+tag+"/v1_configmap_x.yaml"]; !ok {
			continue
		}
		if len(got) != crashFiles+2+2+1 {
			t.Fatalf("%d entries: %q", len(got), slices.Sorted(maps.Keys(got)))
		}
		for name, data := range got {
			if !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, "same/") && !strings.Contains(data, "v: is-"+tag+"\n") {
				t.Fatalf("%s of version %s is %q", name, tag, data)
			}
		}
		return tag
	}
	t.Fatalf("neither version: %d entries", len(got))
	return ""
}

func TestOutputSurvivesKill(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "out")
	writeOut(t, out, Options{}, versionRoots("a"))
	seen := map[string]int{}
	leftovers := 0
	for range 40 {
		killWriter(t, out, false)
		seen[wantOneVersion(t, out)]++
		if entries, _ := os.ReadDir(top); len(entries) > 1 {
			leftovers++
		}
	}
	t.Logf("versions %v, leftovers after %d kills", seen, leftovers)
	if leftovers == 0 {
		t.Error("no kill hit a run: the test shows nothing")
	}
	writeOut(t, out, Options{}, versionRoots("a"))
	if entries, _ := os.ReadDir(top); len(entries) != 1 {
		t.Errorf("the next run left %v", entries)
	}
}

func TestOutputJournalSurvivesKill(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(out, "mine.txt"), "mine")
	writeOut(t, out, Options{Force: true}, versionRoots("a"))
	journals := 0
	for range 15 {
		killWriter(t, out, true)
		if _, err := os.Stat(filepath.Join(out, journalName)); err == nil {
			journals++
			if c := writeOut(t, out, Options{Check: true}, versionRoots("a")); c.None() {
				t.Error("check does not see the journal")
			}
		}
		o, err := Open(out, Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		o.Abort()
		wantOneVersion(t, out, "mine.txt")
	}
	t.Logf("%d kills left a journal", journals)
}

// journalOf turns a written folder into one that a killed run has left as its journal in out.
func journalOf(t *testing.T, staged, out string) {
	t.Helper()
	dir, err := os.OpenRoot(staged)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	now, err := discover(dir, map[string]bool{}, nil)
	if err := errors.Join(err, addNext(dir, now.Manifest), os.Rename(staged, filepath.Join(out, journalName))); err != nil {
		t.Fatal(err)
	}
}

// TestOutputJournalSteps stops the journal after every number of steps. Whatever was moved or
// removed already, the next run reaches the same final state.
func TestOutputJournalSteps(t *testing.T) {
	for done := 0; ; done++ {
		out := filepath.Join(t.TempDir(), "out")
		writeOut(t, out, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"), configMap("old", "1")),
			"gone/deep": krm.NewList(configMap("x", "1"))})
		staged := filepath.Join(t.TempDir(), "out")
		writeOut(t, staged, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "2")), "a/b": krm.NewList(configMap("x", "2"))})
		want := tree(t, staged)
		journal := filepath.Join(out, journalName)
		journalOf(t, staged, out)
		steps := []func() error{
			func() error { return os.Remove(filepath.Join(out, "v1_configmap_old.yaml")) },
			func() error { return os.MkdirAll(filepath.Join(journal, staleName, "gone/deep"), 0o755) },
			func() error { return os.Remove(filepath.Join(out, "gone/deep/v1_configmap_x.yaml")) },
			func() error { return os.Remove(filepath.Join(out, "gone/deep", manifest.Name)) },
			func() error { return os.Remove(filepath.Join(out, "gone/deep")) },
			func() error { return os.Remove(filepath.Join(out, "gone")) },
			func() error { return os.MkdirAll(filepath.Join(out, "a/b"), 0o755) },
			func() error {
				return os.Rename(filepath.Join(journal, "a/b/v1_configmap_x.yaml"), filepath.Join(out, "a/b/v1_configmap_x.yaml"))
			},
			func() error {
				return os.Rename(filepath.Join(journal, "v1_configmap_x.yaml"), filepath.Join(out, "v1_configmap_x.yaml"))
			},
			func() error {
				return os.Rename(filepath.Join(journal, "a/b", manifest.Name), filepath.Join(out, "a/b", manifest.Name))
			},
			func() error {
				return os.Rename(filepath.Join(journal, manifest.Name), filepath.Join(out, manifest.Name))
			},
			func() error { return os.Remove(filepath.Join(journal, nextName)) },
			func() error { return os.RemoveAll(filepath.Join(journal, "a")) },
		}
		for _, step := range steps[:done] {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		o, err := Open(out, Options{})
		if err != nil {
			t.Fatalf("after %d steps: %v", done, err)
		}
		o.Abort()
		if got := tree(t, out); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after %d steps: %q, want %q", done, got, want)
		}
		if done == len(steps) {
			return
		}
	}
}

// TestOutputJournalReplacesFolder completes a journal with a file in the place of a removed folder.
func TestOutputJournalReplacesFolder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(out, "mine.txt"), "mine") // the folder is not exchanged
	writeOut(t, out, Options{Force: true}, map[string]*krm.List{"v1_configmap_x.yaml": krm.NewList(configMap("y", "1"))})
	writeOut(t, out, Options{Force: true, Prune: true}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"))})
	if got := tree(t, out); !strings.Contains(got["v1_configmap_x.yaml"], "name: x") || len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestOutputJournalLosesNothing completes runs in folders where a file was changed or added after
// the kill, or where the journal was not written by krmflow. Any file that would be lost stops
// completion each time, until it is moved away.
func TestOutputJournalLosesNothing(t *testing.T) {
	next := map[string]*krm.List{".": krm.NewList(configMap("x", "2"), configMap("new", "1"))}
	for name, damage := range map[string]func(out string){
		"v1_configmap_x.yaml":   func(out string) { write(t, filepath.Join(out, "v1_configmap_x.yaml"), "edited") },
		"v1_configmap_old.yaml": func(out string) { write(t, filepath.Join(out, "v1_configmap_old.yaml"), "edited") },
		"v1_configmap_new.yaml": func(out string) { write(t, filepath.Join(out, "v1_configmap_new.yaml"), "mine") },
		manifest.Name:           func(out string) { write(t, filepath.Join(out, manifest.Name), "edited") },
	} {
		out, staged := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
		writeOut(t, out, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"), configMap("old", "1"))})
		writeOut(t, staged, Options{}, next)
		journalOf(t, staged, out)
		damage(out)
		before := fmt.Sprint(tree(t, out))
		edited := name == "v1_configmap_x.yaml" // needs --force
		for range 2 {
			_, err := tryWriteOut(out, Options{Force: !edited}, next)
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			if after := fmt.Sprint(tree(t, out)); after != before {
				t.Errorf("%s: %s", name, after)
			}
		}
		if name != manifest.Name {
			if !edited {
				os.Remove(filepath.Join(out, name))
			}
			writeOut(t, out, Options{Force: edited}, next)
			wantNames(t, out, "v1_configmap_new.yaml", "v1_configmap_x.yaml")
		}
	}
}

// TestOutputOnMount needs permission to mount. A mount point cannot be exchanged, and this one
// fills up soon.
func TestOutputOnMount(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := mountTmpfs(out, "size=128k"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	defer unmount(out)
	big := strings.Repeat("x", 40<<10)
	writeOut(t, out, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"), configMap("y", "1"))})
	writeOut(t, out, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "2")), "a": krm.NewList(configMap("x", big))})
	wantNames(t, out, "a/", "a/v1_configmap_x.yaml", "v1_configmap_x.yaml")
	before := fmt.Sprint(tree(t, out))
	_, err := tryWriteOut(out, Options{}, map[string]*krm.List{
		".": krm.NewList(configMap("x", "3")), "a": krm.NewList(configMap("x", big), configMap("y", big), configMap("z", big))})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "out/a/v1_configmap_") {
		t.Errorf("full file system: %v", err)
	}
	if after := fmt.Sprint(tree(t, out)); after != before {
		t.Errorf("tree changed to %.300s", after)
	}
	file := filepath.Join(out, "stream.yaml")
	if err := WriteFileAtomic(file, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	err = WriteFileAtomic(file, []byte(strings.Repeat(big, 4)), 0o666)
	if err == nil || !strings.Contains(err.Error(), file+": no space left") {
		t.Errorf("full file system: %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != "old" {
		t.Errorf("file is now %.100q", got)
	}
	os.Remove(file)
	wantNames(t, out, "a/", "a/v1_configmap_x.yaml", "v1_configmap_x.yaml")
}

func TestOutputConcurrentWriters(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "out")
	for range 20 {
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				tag := fmt.Sprint(w)
				roots := map[string]*krm.List{".": krm.NewList(configMap("x", tag), configMap("own"+tag, tag)),
					"r": krm.NewList(configMap("x", tag))}
				if _, err := tryWriteOut(out, Options{Wait: time.Minute}, roots); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			})
		}
		wg.Wait()
		got := tree(t, out)
		_, tag, _ := strings.Cut(got["v1_configmap_x.yaml"], "v: is-")
		tag = tag[:1]
		if len(got) != 4 || !strings.Contains(got["r/v1_configmap_x.yaml"], "v: is-"+tag) || got["v1_configmap_own"+tag+".yaml"] == "" {
			t.Fatalf("mixed: %q", got)
		}
	}
	wantNames(t, top, append([]string{"out/"}, prefixed("out/", slices.Sorted(maps.Keys(tree(t, out))))...)...)
}

// TestOutputParallelPut writes many roots at once into one staging folder.
func TestOutputParallelPut(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, data := range []string{"1", "2"} {
		o, err := Open(out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if err := o.Put(fmt.Sprintf("deep/%d", i), krm.NewList(configMap("x", data), configMap("same", ""))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		c, err := o.Commit()
		if err != nil || len(c.Added)+len(c.Changed)+c.Unchanged != 100 {
			t.Fatalf("%+v %v", c, err)
		}
	}
	if n := len(tree(t, out)); n != 1+50+100 {
		t.Errorf("%d entries", n)
	}
}
