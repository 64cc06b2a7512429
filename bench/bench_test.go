package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
)

// TestMain lets the test binary act as both programs. Under the names krmflow and kustomize, it
// prints a fake build.
func TestMain(m *testing.M) {
	switch name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name {
	case "krmflow", "kustomize":
		standIn(name, os.Args[1:])
	case "busy":
		for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
		}
		fmt.Fprintln(os.Stderr, strings.Repeat("complaint ", 1000)+"last words")
		os.Exit(len(os.Args) - 1)
	default:
		os.Exit(m.Run())
	}
}

// standIn prints one resource per root. The programs print different output for roots named
// "differ", and fail for roots named "broken".
func standIn(name string, args []string) {
	doc := func(root string) string {
		base := filepath.Base(root)
		switch {
		case base == "broken":
			fmt.Fprintln(os.Stderr, "no such thing")
			os.Exit(1)
		case base == "differ":
			base = name
		}
		patch, _ := os.ReadFile(filepath.Join(root, "merge.yaml"))
		return fmt.Sprintf("kind: Root\nmetadata:\n  name: %s\n  patch: %x\n", base, sha256.Sum256(patch))
	}
	if args[0] == "version" {
		fmt.Println(name, "v0")
		return
	}
	var out string // build|apply-render [-o out] [--flag...] root...
	roots := slices.DeleteFunc(args[1:], func(arg string) bool { return strings.HasPrefix(arg, "--") })
	if roots[0] == "-o" {
		out, roots = roots[1], roots[2:]
	}
	var all []string
	for _, root := range roots {
		all = append(all, doc(root))
	}
	text := strings.Join(all, "---\n")
	if out == "" {
		fmt.Print(text)
		return
	}
	os.Mkdir(out, 0o755)
	os.WriteFile(filepath.Join(out, "all.yaml"), []byte(text), 0o644)
}

// program makes the test binary available under a different name.
func program(t *testing.T, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	return path
}

// small returns the shapes of Trees in sizes that build quickly, with the number of resources per
// root.
func small() map[string]struct {
	tree Tree
	want int
} {
	type row = struct {
		tree Tree
		want int
	}
	return map[string]row{
		"service":      {Service(), 1},
		"patch":        {Patch(), 1},
		"flat":         {Flat(101), 101},
		"overlays":     {Overlays(2, 20), 57},
		"chain":        {Chain(30, 20), 20},
		"diamond":      {Diamond(4, 50), 200},
		"replacements": {Replacements(20), 20}, "replacement files": {ReplacementFiles(20), 20},
		"crds":         {CRDs(400 << 10), 2},
		"nested":       {Nested(125), 125},
		"json patches": {JSONPatches(20), 20}, "annotation patches": {AnnotationPatches(20), 20},
		"patched chain": {PatchedChain(5, 20), 20},
		"replace all":   {ReplaceAll(20), 20}, "many fields": {ManyFields(20), 20}, "vars": {Vars(20), 20}, "files": {Files(2), 4},
		"components": {DeepComponents(4, 20), 20}, "monorepo": {Monorepo(10), 5},
	}
}

func digest(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(h, "%s %d\n%s", filepath.ToSlash(rel), len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestWriteIsDeterministic(t *testing.T) {
	for name, row := range small() {
		t.Run(name, func(t *testing.T) {
			write := func(seed int64) string {
				dir := t.TempDir()
				if err := Write(t.Context(), dir, row.tree, seed); err != nil {
					t.Fatal(err)
				}
				for _, root := range row.tree.Roots {
					if _, err := os.Stat(filepath.Join(dir, root, "kustomization.yaml")); err != nil {
						t.Errorf("root without kustomization: %v", err)
					}
				}
				return digest(t, dir)
			}
			one := write(1)
			if again := write(1); again != one {
				t.Error("two trees of one seed differ")
			}
			if other := write(2); other == one && name != "service" {
				t.Error("trees of two seeds are equal")
			}
		})
	}
}

func TestWriteErrors(t *testing.T) {
	if err := Write(t.Context(), t.TempDir(), Tree{Name: "none"}, 1); err == nil {
		t.Error("a tree without shape was written")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), file, Service(), 1); err == nil {
		t.Error("a tree was written into a file")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late := filepath.Join(t.TempDir(), "late")
	if err := Write(ended, late, Service(), 1); err == nil {
		t.Error("a tree was written after the end")
	}
	if _, err := os.Stat(late); err == nil {
		t.Error("its folder was made")
	}
}

func TestTreesBuildWithKustomize(t *testing.T) {
	longtest.OnlyAll(t)
	kustomize, err := exec.LookPath("kustomize")
	if err != nil {
		t.Skip("kustomize is not on PATH")
	}
	for name, row := range small() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := Write(t.Context(), dir, row.tree, 1); err != nil {
				t.Fatal(err)
			}
			for i, root := range row.tree.Roots {
				out := filepath.Join(dir, fmt.Sprint("out-", i))
				if _, err := runTo(t.Context(), out, kustomize, "build", filepath.Join(dir, root)); err != nil {
					t.Fatal(err)
				}
				if n, _, err := sizeOf(out); err != nil || n != row.want {
					t.Errorf("%s has %d resources, want %d; %v", root, n, row.want, err)
				}
			}
		})
	}
}

func TestRunMeasuresTimeAndMemory(t *testing.T) {
	busy := program(t, "busy")
	s, err := Run(t.Context(), io.Discard, busy)
	if err != nil {
		t.Fatal(err)
	}
	if s.Wall < 100*time.Millisecond || s.CPU < 10*time.Millisecond || s.CPU > 10*s.Wall {
		t.Errorf("100 ms of work measured as %v CPU, %v wall", s.CPU, s.Wall)
	}
	if SelfPeak() > 0 && (s.Peak < 1<<20 || s.Peak > 1<<30) {
		t.Errorf("peak of a small process is %d bytes", s.Peak)
	}
	_, err = Run(t.Context(), io.Discard, busy, "fail")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.HasSuffix(err.Error(), "last words") || len(err.Error()) > 4<<10 {
		t.Errorf("a failing program gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, io.Discard, busy); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run gives %v", err)
	}
}

func TestMedianIsPerField(t *testing.T) {
	if got := Median(nil); got != (Sample{}) {
		t.Errorf("median of nothing is %v", got)
	}
	odd := []Sample{{CPU: 9, Wall: 1, Peak: 5}, {CPU: 1, Wall: 2, Peak: 7}, {CPU: 3, Wall: 9, Peak: 6}}
	if got, want := Median(odd), (Sample{CPU: 3, Wall: 2, Peak: 6}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := Median(odd[:2]), (Sample{CPU: 5, Wall: 1, Peak: 6}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestExponentFitsPowerLaw(t *testing.T) {
	x := []float64{1000, 2000, 5000, 10000}
	for _, want := range []float64{0.5, 1, 2} {
		var y []float64
		for _, v := range x {
			y = append(y, 3*math.Pow(v, want))
		}
		if got := exponent(x, y); math.Abs(got-want) > 1e-9 {
			t.Errorf("exponent of 3·x^%v is %v", want, got)
		}
	}
}

func TestCompareReportsDifferencesAndErrors(t *testing.T) {
	krmflow, kustomize := program(t, "krmflow"), program(t, "kustomize")
	compare := func(o Options) (Report, error) {
		t.Helper()
		o.Krmflow, o.Kustomize, o.Runs, o.JSON, o.Keep = krmflow, kustomize, 2, true, t.TempDir()
		var out bytes.Buffer
		failed := Compare(t.Context(), &out, o)
		var r Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, out.Bytes())
		}
		return r, failed
	}
	r, err := compare(Options{Dirs: []string{"one", "differ", "broken", "two"}})
	if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "differ: line 3:") || !strings.Contains(err.Error(), "broken: ") {
		t.Errorf("got error %v", err)
	}
	for i, same := range []bool{true, false, false, true} {
		row := r.Rows[i]
		if row.Same != same || (row.Error == "") != same {
			t.Errorf("row %s: same %v, error %q", row.Tree, row.Same, row.Error)
		}
		if same && (row.Resources != 1 || row.Krmflow.Runs != 2 || row.Kustomize.Runs != 2) {
			t.Errorf("row %s: %+v", row.Tree, row)
		}
	}
	if !longtest.On() {
		return
	}
	r, err = compare(Options{Trees: []string{"overlays-100", "overlays-100-files", "patch"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"patch 1", "overlays-100 100", "overlays-100-files 100"} {
		row := r.Rows[i]
		if fmt.Sprint(row.Tree, " ", row.Resources) != want || !row.Same || row.Cold == nil || row.Warm == nil ||
			(row.Changed != nil) != (i == 2) {
			t.Errorf("want %s, got row %+v", want, row)
		}
	}
}

func TestCompareText(t *testing.T) {
	o := Options{Krmflow: program(t, "krmflow"), Kustomize: program(t, "kustomize"), Dirs: []string{"one", "differ"}, Runs: 1}
	var out strings.Builder
	if err := Compare(t.Context(), &out, o); !errors.Is(err, ErrDiffers) {
		t.Errorf("got error %v", err)
	}
	for _, want := range []string{"CPU time", "same", "FAILED", "differ: line 3: output differs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	out.Reset()
	o.Log = writerFunc(func(b []byte) {
		if bytes.Contains(b, []byte("2/2 differ")) {
			cancel()
		}
	})
	if err := Compare(ctx, &out, o); !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "same") {
		t.Errorf("a cancelled comparison gives %v and\n%s", err, out.String())
	}
	err := Compare(t.Context(), io.Discard, Options{Trees: []string{"flat"}})
	if err == nil || !strings.Contains(err.Error(), "flat-1000") {
		t.Errorf("an unknown tree gives %v", err)
	}
	if err := Compare(t.Context(), io.Discard, Options{Kustomize: "no-such-program"}); err == nil {
		t.Error("a program that does not exist was accepted")
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func TestSameFolders(t *testing.T) {
	folder := func(files ...string) string {
		dir := t.TempDir()
		for i, content := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	long := strings.Repeat("long ", 40_000)
	if err := same(folder(long+"\n---\nb: 2\n"), folder("b: 2\n", long+"\n")); err != nil {
		t.Error(err)
	}
	whole := folder("a: 1\n---\nb: 2\n---\na: 1\n")
	if err := same(whole, folder("a: 1\n", "a: 1\n---\nb: 2\n")); err != nil {
		t.Error(err)
	}
	for _, other := range []string{folder("a: 1\n---\nb: 2\n"), folder("a: 1\n---\nb: 3\n---\na: 1\n"), folder()} {
		if err := same(whole, other); !errors.Is(err, ErrDiffers) {
			t.Errorf("got %v", err)
		}
	}
}

func TestGrowthIgnoresFailedRows(t *testing.T) {
	var r Report
	for _, n := range []int{1000, 2000, 4000} {
		r.Rows = append(r.Rows, Row{Size: n, Krmflow: &Figure{CPU: float64(n * n), Peak: int64(n)}})
	}
	r.Rows = append(r.Rows, Row{Krmflow: &Figure{CPU: 1}}, Row{Size: 9, Error: "failed"})
	r.grow()
	if g := r.Growth; g == nil || math.Abs(g.CPU-2) > 1e-9 || math.Abs(g.LastCPU-2) > 1e-9 || math.Abs(g.Peak-1) > 1e-9 {
		t.Errorf("got %+v", r.Growth)
	}
}

// TestGrowingTrees checks that the trees for growth have names like other trees, and that only
// krmflow builds them.
func TestGrowingTrees(t *testing.T) {
	o := Options{Krmflow: program(t, "krmflow"), Kustomize: program(t, "kustomize"), Trees: []string{"growth-1000", "growth-2000"}, Runs: 1}
	r, err := Measure(t.Context(), o)
	if err != nil || len(r.Rows) != 2 || r.Growth == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, row := range r.Rows {
		if row.Size != 1000*(i+1) || row.Kustomize != nil || row.Warm == nil {
			t.Errorf("%+v", row)
		}
	}
}

// TestRecordKeepsOutputOfFailedRun checks that the page has the measurements even if a tree has
// failed, and that no page is written without measurements.
func TestRecordKeepsOutputOfFailedRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is a shell script")
	}
	krmflow := filepath.Join(t.TempDir(), "krmflow")
	for _, x := range []struct {
		script string
		code   int
		want   string
	}{
		{"echo \"$@: `b` \\$HOME\"", 0, "\n```\nbench --tree x: `b` $HOME\n```\n"},
		{"echo table; echo 'x: failed'; exit 3", 3, "\n```\ntable\nx: failed\n```\n"},
		{"exit 3", 3, ""},
	} {
		script := strings.ReplaceAll(x.script, "`", "\\`")
		testbinary.Script(t, krmflow, "#!/bin/sh\n"+script+"\n")
		cmd := exec.Command("./record", krmflow, "--tree", "x")
		page, _ := cmd.Output()
		if cmd.ProcessState.ExitCode() != x.code || !strings.Contains(string(page), x.want) || (len(page) == 0) != (x.want == "") {
			t.Errorf("%s: exit code %d\n%s", x.script, cmd.ProcessState.ExitCode(), page)
		}
	}
}

// TestRunStops checks that stopping a program does not wait for its child processes.
func TestRunStops(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	dir := t.TempDir()
	begun, ended := filepath.Join(dir, "begun"), filepath.Join(dir, "ended")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := Run(ctx, nil, "sh", "-c", `(sleep 10; touch "$1") & touch "$0"; exec sleep 10`, begun, ended); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(ended); err == nil {
		t.Error("it was waited for")
	}
}
