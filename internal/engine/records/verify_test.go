package records_test

import (
	"encoding/hex"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/krm"
)

// TestVerifyFindsForgedRecords forges the records of a tree in the cache. A normal run trusts them.
// A run with KRMFLOW_DEBUG=cacheverify finds the difference and prints the right output.
func TestVerifyFindsForgedRecords(t *testing.T) {
	w := newTree(t)
	w.Write("prod/kustomization.yaml", "resources: [cm.yaml]\n")
	w.Write("prod/cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: right}}\n")
	folder := filepath.Join(w.top, "cache", "krmflow")
	opened := func() *cache.Cache {
		c, err := cache.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	forge := func(change func(*records.Record)) {
		t.Helper()
		if err := records.Forge(folder, opened(), change); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args   []string
		forge  func()
		forged string // output of a run that trusts the cache
	}{
		{[]string{"build", "prod"}, func() {
			forge(func(r *records.Record) {
				text, err := opened().Keeper("texts1", r.Inputs())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := text.Write([]byte("forged\n")); err != nil {
					t.Fatal(err)
				}
				if r.Text, err = text.Commit(); err != nil {
					t.Fatal(err)
				}
			})
		}, "forged\n"},
		{[]string{"plan", "prod"}, func() {
			err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if err != nil || filepath.Base(filepath.Dir(path)) != "plans1" {
					return err
				}
				sum, err := hex.DecodeString(d.Name())
				if err != nil {
					return err
				}
				return opened().Keep("plans1", krm.Digest(sum), []byte("forged\n"))
			})
			if err != nil {
				t.Fatal(err)
			}
		}, "forged\n"},
		{[]string{"apply-render", "prod", "-o", filepath.Join(w.top, "out") + "/"}, func() {
			forge(func(r *records.Record) { r.ForgeForms() })
		}, ""},
	} {
		command := tt.args[0]
		want, log, code := w.run(false, tt.args...)
		if code != 0 {
			t.Fatalf("%s: %s", command, log)
		}
		t.Setenv("KRMFLOW_DEBUG", "cacheverify")
		if out, log, code := w.run(false, tt.args...); out != want || code != 0 {
			t.Errorf("%s: nothing is wrong: exit code %d, %q, %s", command, code, out, log)
		}
		tt.forge()
		if out, log, code := w.run(false, tt.args...); out != want || code != 1 ||
			!strings.Contains(log, "although none of its inputs changed") {
			t.Errorf("%s, verified: exit code %d, %q, %s; want %q", command, code, out, log, want)
		}
		t.Setenv("KRMFLOW_DEBUG", "")
		tt.forge()
		if out, log, code := w.run(false, tt.args...); out != tt.forged || code != 0 {
			t.Errorf("%s: exit code %d, %q, %s; want %q", command, code, out, log, tt.forged)
		}
	}
}

// TestVerifyDiff forges the recorded content of a file, so that krmflow diff treats a root as equal
// to the revision. KRMFLOW_DEBUG=cacheverify finds the difference.
func TestVerifyDiff(t *testing.T) {
	w := newTree(t)
	const old, now = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: old}}\n",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: now}}\n"
	w.Write("prod/kustomization.yaml", "resources: [cm.yaml]\n")
	w.Write("prod/cm.yaml", old)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	command := []string{"diff", "prod", "--against", "git:HEAD", "--stat"}
	same, _, _ := w.run(false, command...)
	w.run(false, command...) // records git's hash of the file
	w.Write("prod/cm.yaml", now)
	time.Sleep(50 * time.Millisecond) // until the file system's clock has advanced: the file need not be read again
	want, log, code := w.run(false, command...)
	if code != 0 || want == same {
		t.Fatalf("%q %s", want, log)
	}
	folder := filepath.Join(w.top, "cache", "krmflow")
	c, err := cache.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := records.Forge(folder, c, func(r *records.Record) { r.ForgeFile("cm.yaml", []byte(old)) }); err != nil {
		t.Fatal(err)
	}
	if out, log, code := w.run(false, command...); out != same || code != 0 {
		t.Errorf("exit code %d, %q, %s; want %q", code, out, log, same)
	}
	t.Setenv("KRMFLOW_DEBUG", "cacheverify")
	if _, log, code := w.run(false, command...); code != 1 ||
		!strings.Contains(log, "the cache says that this root is the same on both sides, but it differs") {
		t.Errorf("verified: exit code %d, %s", code, log)
	}
}
