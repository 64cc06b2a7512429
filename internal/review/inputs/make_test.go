package inputs

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors/executortest"
)

// GNU make finds the files named in a makefile, whatever characters their names have. A target is
// rebuilt if one of them is newer, and only then.
func TestMakeNames(t *testing.T) {
	program, err := exec.LookPath("make")
	if err != nil {
		executortest.Missing(t, "no make")
	}
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	names := []string{"a b", "a#b", "a$b", "a%b", "a:b", "a*b", "a?b", "a[b", "a=b", "a|b", "(&", "a\tb", "é", "x~", "-a", "'", `"`}
	if runtime.GOOS == "linux" { // other systems do not allow such names
		names = append(names, "a\xff")
	}
	for len(names) < 60 { // without names that a makefile cannot express
		var b strings.Builder
		for range 1 + rnd.IntN(6) {
			b.WriteByte(`ab #$%:*?[]=|'"&()!,{}+-`[rnd.IntN(24)])
		}
		name := strings.TrimRight(b.String(), " ") + "x"[:rnd.IntN(2)]
		if name != "" && name != "x" && !isMember(name) {
			names = append(names, name)
		}
	}
	top := t.TempDir()
	for i, name := range names {
		dir := filepath.Join(top, string(rune('a'+i/26))+string(rune('a'+i%26)))
		root := Root{Dir: "out put=1", Inputs: []Input{{filepath.Join(dir, name), File}, {filepath.Join(dir, "none"), Absent}}}
		var b bytes.Buffer
		if err := WriteMake(&b, []Root{root}, Naming{dir}, "%.yaml"); err != nil {
			t.Fatal(err)
		}
		b.WriteString(
			"\n.DEFAULT_GOAL := all\nall: out\\ put$(krmflow.equals)1.yaml\nout\\ put$(krmflow.equals)1.yaml:\n\ttouch 'out put=1.yaml'\nkrmflow.equals := =\n")
		text := "krmflow.equals := =\n" + b.String()
		for file, data := range map[string]string{name: "", "Makefile": text} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		made := filepath.Join(dir, "out put=1.yaml")
		run := func(args ...string) (string, error) {
			cmd := exec.Command(program, append([]string{"-rR"}, args...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		stamp := func(file string, year int) {
			at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := run(); err != nil {
			t.Errorf("%q: %v\n%s\n%s", name, err, out, text)
			continue
		}
		stamp(filepath.Join(dir, name), 2001)
		stamp(made, 2002)
		if out, err := run("-q"); err != nil {
			t.Errorf("%q: it is made again: %v\n%s\n%s", name, err, out, text)
		}
		stamp(filepath.Join(dir, name), 2003)
		if _, err := run("-q"); err == nil {
			t.Errorf("%q: it is not made again\n%s", name, text)
		}
		stamp(filepath.Join(dir, name), 2001)
		if err := os.WriteFile(filepath.Join(dir, "none"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := run("-q"); err == nil {
			t.Errorf("%q: it is not made again when what was absent is there\n%s", name, text)
		}
	}
	for _, name := range []string{"a;b", "a\nb", "~", "~a", "a ", `a\b`, "a(b)", "a((b))"} {
		root := Root{Dir: "x", Inputs: []Input{{filepath.Join(top, name), File}}}
		if err := WriteMake(&bytes.Buffer{}, []Root{root}, Naming{top}, "%"); err == nil ||
			!strings.Contains(err.Error(), "a makefile cannot name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
