package main

import (
	"bytes"
	"testing"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/spf13/pflag"
)

// Every command that plans or executes has the same flags with the same meaning: the flags of
// build, and a set of flags that selects the directories. Only the output differs.
func TestSameFlags(t *testing.T) {
	own := map[string]bool{"output": true, "recursive": true, "keep-going": true, "profile": true, "pprof": true, "force": true,
		"check": true, "plan": true, "report": true,
		"validate": true, "strict-references": true, "kube-version": true, "crds": true, "unknown-kinds": true,
		"prune": true, "watch": true, "only-these": true, "layout": true, "names": true, "redact-secrets": true, "fail-on-secrets": true,
		"leaves": true, "shard": true,
		"gitops": true, "only": true, "exclude": true, "hidden": true, "against": true, "diff": true, "color": true, "no-eval": true,
		"detail": true, "root": true, "to": true, "from": true, "fold": true, "legend": true,
		"layers": true, "affected-by": true, "reduce": true, "path": true, "cycles": true} // the last ones select the drawing
	root := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	build, _, err := root.Find([]string{"build"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plan", "apply-render", "graph"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		build.Flags().VisitAll(func(f *pflag.Flag) {
			if own[f.Name] {
				return
			}
			n++
			g := cmd.Flags().Lookup(f.Name)
			if g == nil {
				t.Errorf("%s has no --%s", name, f.Name)
			} else if g.Shorthand != f.Shorthand || g.DefValue != f.DefValue || g.Usage != f.Usage {
				t.Errorf("%s: --%s is %q %q %q, with build %q %q %q", name, f.Name, g.Shorthand, g.DefValue, g.Usage, f.Shorthand,
					f.DefValue, f.Usage)
			}
		})
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !own[f.Name] && build.Flags().Lookup(f.Name) == nil {
				t.Errorf("build has no --%s", f.Name)
			}
		})
		if n < 30 {
			t.Errorf("%s: only %d flags were compared", name, n)
		}
	}
}

// A command that is created because the command line names it has the right name and equals the one
// created among all commands.
func TestCommandsByName(t *testing.T) {
	all := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, nil)
	for _, c := range commands {
		root := newCommand(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, []string{c.name})
		alone, _, err := root.Find([]string{c.name})
		if err != nil || alone.Name() != c.name {
			t.Errorf("%s: %q, %v", c.name, alone.Name(), err)
			continue
		}
		among, _, err := all.Find([]string{c.name})
		if err != nil || alone.UsageString() != among.UsageString() || alone.Long != among.Long {
			t.Errorf("%s alone: %s\namong all: %s, %v", c.name, alone.UsageString(), among.UsageString(), err)
		}
		for _, flag := range []string{"jobs", "max-input", "fetch-timeout", "log-format", "resource-list-version", "fn-timeout"} {
			if c.complete && alone.Flags().Lookup(flag) == nil {
				t.Errorf("%s is no complete command: it has no --%s", c.name, flag)
			}
		}
	}
}
