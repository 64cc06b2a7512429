package reuse_test

import (
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/krmflow/krmflow/krm"
)

// TestVerify forges what the cache says of a tree. A run takes that as it is, and one with KRMFLOW_DEBUG=cacheverify finds the difference, and prints what
// is right.
func TestVerify(t *testing.T) {
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
	forge := func(change func(*reuse.Record)) {
		t.Helper()
		if err := reuse.Forge(folder, opened(), change); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args   []string
		forge  func()
		forged string // what a run prints that trusts the cache
	}{
		{[]string{"build", "prod"}, func() {
			wrong, err := opened().Put([]byte("forged\n"))
			if err != nil {
				t.Fatal(err)
			}
			forge(func(r *reuse.Record) { r.Text = wrong })
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
			forge(func(r *reuse.Record) { r.ForgeForms() })
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
		if out, log, code := w.run(false, tt.args...); out != want || code != 1 || !strings.Contains(log, "although nothing of it has changed") {
			t.Errorf("%s, verified: exit code %d, %q, %s; want %q", command, code, out, log, want)
		}
		t.Setenv("KRMFLOW_DEBUG", "")
		if out, log, code := w.run(false, tt.args...); out != tt.forged || code != 0 {
			t.Errorf("%s: exit code %d, %q, %s; want %q", command, code, out, log, tt.forged)
		}
	}
}
