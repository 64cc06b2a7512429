package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/spf13/cobra"
)

// builds renders a root as build does, and calls meanwhile when the records of earlier runs were looked at, and nothing is planned. It returns what
// is printed, and whether that was reused.
func builds(t *testing.T, dir string, meanwhile func()) (text string, reused bool) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &App{Stdout: &stdout, Stderr: &stderr, Stop: func(error) {}}
	defer a.Exits.Run()
	cmd := &cobra.Command{Use: "test"}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	if err := cmd.ParseFlags(nil); err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(t.Context())
	var kept []byte
	a.Reuse(func(_ string, made *reuse.Record) (ok bool) {
		if meanwhile != nil {
			meanwhile()
			return false
		}
		kept, ok = a.Kept(made.Text)
		return ok
	})
	plan, err := a.Plan(cmd, []string{dir})
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if a.Reused(dir) != nil {
		return string(kept), true
	}
	list, err := a.RunOne(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.RememberText(plan, list); err != nil {
		t.Fatal(err)
	}
	return stdout.String(), false
}

// A file that changes while a run decides what it reuses is no part of what is remembered of an earlier one.
func TestChangeBeforePlan(t *testing.T) {
	t.Setenv("KRMFLOW_CACHE_DIR", filepath.Join(t.TempDir(), "cache"))
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("kustomization.yaml", "resources: [cm.yaml]\n")
	one := func() { write("cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n") }
	two := func() { write("cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}\n") }
	expect := func(meanwhile func(), want string, reused bool) {
		t.Helper()
		if text, again := builds(t, dir, meanwhile); !strings.Contains(text, "name: "+want+"\n") || again != reused {
			t.Errorf("%q, reused: %t; want %s, %t", text, again, want, reused)
		}
	}
	one()
	expect(nil, "one", false)
	expect(nil, "one", true)
	expect(two, "two", false)
	expect(nil, "two", true)
	one()
	expect(nil, "one", true)
}
