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

// newApp returns an App for a command with these flags.
func newApp(t *testing.T, args ...string) (a *App, cmd *cobra.Command, stderr *bytes.Buffer) {
	t.Helper()
	stderr = &bytes.Buffer{}
	a = &App{Stdout: &bytes.Buffer{}, Stderr: stderr, Stop: func(error) {}}
	t.Cleanup(a.Exits.Run)
	cmd = &cobra.Command{Use: "test"}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(t.Context())
	return a, cmd, stderr
}

// builds renders a root as build does, and calls meanwhile when the records of earlier runs were looked at, and nothing is planned. It returns what
// is printed, and whether that was reused.
func builds(t *testing.T, dir string, meanwhile func()) (text string, reused bool) {
	t.Helper()
	a, cmd, stderr := newApp(t)
	var stdout bytes.Buffer
	a.Stdout = &stdout
	var kept []byte
	a.Reuse(func(_ string, made *reuse.Record) (ok bool) {
		if meanwhile != nil {
			meanwhile()
			return false
		}
		kept, ok = a.Kept(made)
		return ok
	})
	plan, err := a.Plan(cmd, []string{dir})
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
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

// Roots that an earlier run may have made allow a run to take more time, for it looks at all that they were made from. Without a cache it does not.
func TestWorthOfRoots(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	dir := t.TempDir()
	var dirs []string
	for _, name := range []string{"a", "b", "c"} {
		dirs = append(dirs, filepath.Join(dir, name))
		if err := os.Mkdir(dirs[len(dirs)-1], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "kustomization.yaml"), []byte("namePrefix: x-\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args []string
		want int64
	}{{nil, 3 * rootWorth}, {[]string{"--no-cache"}, 0}} {
		a, cmd, stderr := newApp(t, tt.args...)
		a.Reuse(func(string, *reuse.Record) bool { return true })
		if _, err := a.Plan(cmd, dirs); err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		if got := a.Used.Made.Load(); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.args, got, tt.want)
		}
	}
}

// A file that changes while a run decides what it reuses is no part of what is remembered of an earlier one.
func TestChangeBeforePlan(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
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
