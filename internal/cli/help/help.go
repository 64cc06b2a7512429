// Package help generates usage help with grouped commands and flags, manual pages, and shell
// completions.
package help

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A group is a titled part of a long list.
type group struct {
	title string
	names []string
}

// commands are the groups of commands. Commands without a group are listed last.
var commands = []group{
	{"Render", []string{"build", "plan", "apply-render", "validate", "diff", "graph", "deps", "affected", "why", "test", "post-render", "bench", "explain"}},
	{"Files", []string{"create", "edit", "convert", "localize", "view", "schema"}},
	{"Remote sources", []string{"lock", "fetch", "vendor", "cache"}},
	{"Functions and trust", []string{"fn", "wrap", "trust", "catalog", "lint", "executor", "config"}},
}

// flags are the groups of flags that many commands share. A command's other flags are listed
// before them.
var flags = []group{
	{"Rendering", []string{"recursive", "leaves", "only", "exclude", "hidden", "load-restrictor", "reorder", "enable-managedby-label", "strict", "keep-going", "jobs", "memory-limit", "max-cpu", "max-input"}},
	{"Remote sources and the cache", []string{"offline", "no-cache", "cache-dir", "cache-max", "cache-secrets", "allow-http", "fetch-timeout", "max-fetch-bytes", "lock-file", "locked", "vendor"}},
	{"Shared cache", []string{"remote-cache", "remote-cache-mode", "remote-cache-ca", "remote-cache-cert", "remote-cache-key", "remote-cache-header", "remote-cache-credential-helper", "remote-cache-timeout"}},
	{"Functions and trust", []string{"trusted-plugin-catalog", "trusted-catalog", "require-catalog-checksums", "strict-trust", "allow-unverified", "enable-alpha-plugins", "enable-exec", "prefer-exec",
		"allow-unsandboxed", "allow-error-results", "as-current-user", "container-runtime", "env", "executor", "fn-max-procs", "fn-memory", "fn-timeout", "max-fn-output", "mount", "network", "network-name",
		"resource-list-version"}},
	{"Helm charts", []string{"enable-helm", "helm-api-versions", "helm-command", "helm-debug", "helm-kube-version"}},
	{"Validation", []string{"validate", "kube-version", "crds", "unknown-kinds"}},
	{"Output", []string{"output", "against", "check", "force", "prune", "only-these", "layout", "names", "redact-secrets", "fail-on-secrets", "plan"}},
	{"Messages", []string{"color", "no-pager", "log-format", "log-level", "quiet", "report", "profile", "pprof"}},
}

// CommandNames yields the commands that help shows in groups.
func CommandNames() iter.Seq[string] { return all(commands) }

// FlagNames yields the flags that help shows in groups.
func FlagNames() iter.Seq[string] { return all(flags) }

func all(groups []group) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, g := range groups {
			for _, name := range g.names {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// Usage writes the usage of a command. It is a function for [cobra.Command.SetUsageFunc].
func Usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(&b, cmd)
	writeFlags(&b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	var list []*cobra.Command
	width := 0
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			list = append(list, c)
			width = max(width, len(c.Name()))
		}
	}
	write := func(title string, of func(name string) bool) {
		for _, c := range list {
			if !of(c.Name()) {
				continue
			}
			if title != "" {
				fmt.Fprintf(b, "\n%s:\n", title)
				title = ""
			}
			fmt.Fprintf(b, "  %-*s  %s\n", width, c.Name(), c.Short)
		}
	}
	if cmd.HasParent() {
		write("Commands", func(string) bool { return true })
		return
	}
	for _, g := range commands {
		write(g.title, g.has)
	}
	write("More", func(name string) bool {
		return !slices.ContainsFunc(commands, func(g group) bool { return g.has(name) })
	})
}

func (g group) has(name string) bool { return slices.Contains(g.names, name) }

func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	for title, set := range FlagGroups(cmd) {
		fmt.Fprintf(b, "\n%s:\n%s", title, set.FlagUsages())
	}
}

// FlagGroups yields the visible flags of a command in groups with their titles. The first
// group, "Flags", has the flags that are not shared with other commands.
func FlagGroups(cmd *cobra.Command) iter.Seq2[string, *pflag.FlagSet] {
	sets := make([]*pflag.FlagSet, len(flags)+1)
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	own := sets[len(flags)]
	cmd.InitDefaultHelpFlag()
	add := func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if i := slices.IndexFunc(flags, func(g group) bool { return g.has(f.Name) }); i >= 0 {
			sets[i].AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return func(yield func(string, *pflag.FlagSet) bool) {
		if own.HasFlags() && !yield("Flags", own) {
			return
		}
		for i, set := range sets[:len(flags)] {
			if set.HasFlags() && !yield(flags[i].title, set) {
				return
			}
		}
	}
}
