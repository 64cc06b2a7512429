package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/spf13/pflag"
)

// docs/configuration.md has a row for each flag that can also be set elsewhere. -update rewrites
// it.
func TestDocumentedSettings(t *testing.T) {
	const file, head = "../../docs/configuration.md", "| key | variable | flag | default |\n|---|---|---|---|\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatal("there is no table")
	}
	var b strings.Builder
	settingFlags().VisitAll(func(f *pflag.Flag) {
		if !settings.IsSetting(f.Name) {
			return
		}
		variable := "`" + settings.Variable(f.Name) + "`"
		if settings.IsTrusted(f.Name) {
			variable = "-"
		}
		value := cmp.Or(f.DefValue, "-")
		if f.Name == "jobs" {
			value = "the number of cores"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `--%s` | %s |\n", settings.Key(f.Name), variable, f.Name, value)
	})
	end := strings.Index(rest, "\n\n")
	if got := rest[:end+1]; got != b.String() {
		if !*update {
			t.Fatalf("the table of %s is\n%swant\n%s", file, got, b.String())
		}
		if err := os.WriteFile(file, []byte(before+head+b.String()+rest[end+1:]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A flag that can also be set elsewhere has the same meaning in all commands. Flags that allow or
// enable something are about trust.
func TestSettingsAgreeAcrossCommands(t *testing.T) {
	first := map[string]*pflag.Flag{}
	for _, c := range commands {
		if !c.complete {
			continue
		}
		c.make(&cli.Invocation{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}).Flags().VisitAll(func(f *pflag.Flag) {
			g := first[f.Name]
			if g == nil {
				g = f
				first[f.Name] = f
			}
			if settings.IsSetting(f.Name) && (f.Usage != g.Usage || f.Value.Type() != g.Value.Type() || f.DefValue != g.DefValue) {
				t.Errorf(
					"--%s of %s differs from that of another command: give it another name, or list it in ofOneRun of package settings",
					f.Name, c.name)
			}
			opens := strings.HasPrefix(f.Name, "allow-") || strings.HasPrefix(f.Name, "enable-")
			if opens && !settings.IsTrusted(f.Name) && f.Name != "enable-managedby-label" && f.Name != "enable-star" &&
				f.Name != "allow-delete" {
				t.Errorf("--%s sounds as if it was about trust: list it in trusted of package settings", f.Name)
			}
		})
	}
	for _, name := range settings.Trusted() {
		if first[name] == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	if !slices.Contains(settings.Trusted(), "executor") {
		t.Error("executors are programs that run")
	}
}
