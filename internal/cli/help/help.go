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

// Daily are the commands that the first page of help lists with a description, in this order.
var daily = group{"Daily commands", []string{"build", "plan", "apply-render", "diff", "validate", "test", "explain", "images", "graph",
	"affected", "edit", "create"}}

// others are the further groups of the first page. The commands in none of the groups are listed
// by [All] only.
var others = []group{
	{"Functions and trust", []string{"catalog", "fn", "trust"}},
	{"Remote sources and the cache", []string{"lock", "fetch", "vendor", "cache"}},
	{"Program", []string{"config", "bench", "version"}},
}

// rest is the title of the commands that the first page does not list.
const rest = "More commands"

// common are flags that stay with the flags of a single command, because many people use them.
var common = []string{"output", "recursive", "against", "check", "keep-going", "strict", "quiet", "load-restrictor", "enable-helm",
	"trusted-plugin-catalog", "help", "directory"}

// flags are the groups of the other flags that commands share.
var flags = []group{
	{"Selection", []string{"leaves", "only", "exclude", "hidden", "shard"}},
	{"Output", []string{"force", "prune", "only-these", "layout", "names", "redact-secrets", "fail-on-secrets", "plan", "reorder",
		"enable-managedby-label", "report", "log-format", "log-level", "color", "no-pager"}},
	{"Validation", []string{"validate", "kube-version", "crds", "unknown-kinds"}},
	{"Remote sources and the cache", []string{"offline", "no-cache", "cache-dir", "cache-max", "cache-secrets", "allow-http", "lock-file",
		"locked", "vendor"}},
	{"Functions and trust", []string{"require-catalog-checksums", "strict-trust", "allow-unverified", "dev", "enable-alpha-plugins",
		"enable-exec", "prefer-exec",
		"allow-unsandboxed", "allow-error-results", "as-current-user", "container-runtime", "env", "grant", "mount", "network"}},
	{"Helm charts", []string{"helm-api-versions", "helm-command", "helm-debug", "helm-kube-version"}},
	{"Limits", []string{"jobs", "memory-limit", "max-cpu", "max-input", "fetch-timeout", "max-fetch-bytes", "fn-max-procs", "fn-memory",
		"fn-timeout", "max-fn-output"}},
	{"Advanced", []string{"executor", "network-name", "profile", "pprof", "remote-cache", "remote-cache-mode", "remote-cache-ca",
		"remote-cache-cert", "remote-cache-key", "remote-cache-header",
		"remote-cache-credential-helper", "remote-cache-timeout", "resource-list-version"}},
}

// popular are the shared flags that [Brief] shows after the flags of the command, the most used
// first.
var popular = []string{"output", "recursive", "against", "check", "trusted-plugin-catalog", "enable-helm", "load-restrictor", "keep-going",
	"strict", "validate", "offline", "leaves", "jobs"}

// CommandNames yields the commands that the first page of help shows.
func CommandNames() iter.Seq[string] { return all(append([]group{daily}, others...)) }

// FlagNames yields the flags that help shows in groups.
func FlagNames() iter.Seq[string] {
	return all(append([]group{{names: common}, {names: popular}}, flags...))
}

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

// Rows and columns of the smallest terminal for which [Brief] is made.
const (
	briefRows    = 24
	briefColumns = 80
)

// Brief returns the help of a command on one screen of 80 columns and 24 rows: usage, examples and
// the flags that most people use.
func Brief(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", cmd.Short, Wrap("Usage: "+use(cmd), briefColumns))
	if !cmd.HasParent() {
		writeFirstScreen(&b, cmd)
		return b.String()
	}
	if cmd.HasAvailableSubCommands() {
		writeCommands(&b, "Commands", briefColumns, visible(cmd))
	}
	all := 0
	for _, set := range FlagGroups(cmd) {
		set.VisitAll(func(*pflag.Flag) { all++ })
	}
	last := fmt.Sprintf("\n'%s --help' prints all %d flags.\n", cmd.CommandPath(), all)
	if cmd.HasAvailableSubCommands() {
		last = fmt.Sprintf("\n'%s COMMAND -h' prints the help of a command.\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		list := slices.DeleteFunc(strings.Split(strings.TrimRight(cmd.Example, "\n"), "\n"),
			func(s string) bool { return len(s) > briefColumns })
		if list = list[:min(2, len(list))]; len(list) > 0 {
			fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.Join(list, "\n"))
		}
	}
	for n := 10; n > 0; n-- {
		set := some(cmd, n)
		text := "\nFlags:\n" + usages(set, briefColumns, true)
		if set.HasFlags() && strings.Count(b.String()+text+last, "\n") <= briefRows {
			b.WriteString(text)
			break
		}
	}
	b.WriteString(last)
	return b.String()
}

// writeFirstScreen writes the commands of the program in few lines.
func writeFirstScreen(b *strings.Builder, root *cobra.Command) {
	b.WriteByte('\n')
	for _, c := range named(root, daily) {
		fmt.Fprintf(b, "  %-12s  %s\n", c.Name(), c.Short)
	}
	b.WriteByte('\n')
	for _, g := range others {
		var names []string
		for _, c := range named(root, g) {
			names = append(names, c.Name())
		}
		fmt.Fprintf(b, "%s: %s\n", g.title, strings.Join(names, ", "))
	}
	fmt.Fprintf(b, "\nRun '%[1]s COMMAND -h' for a command, '%[1]s help all' for all commands.\n", root.CommandPath())
}

// some returns up to n visible flags of a command: its own, then [popular] ones.
func some(cmd *cobra.Command, n int) *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	add := func(f *pflag.Flag) {
		if n > 0 && f != nil && !f.Hidden && set.Lookup(f.Name) == nil {
			n--
			set.AddFlag(f)
		}
	}
	for _, name := range []string{"output", "recursive", "against"} {
		add(cmd.Flags().Lookup(name))
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if isOwn(f) && n > 2 {
			add(f)
		}
	})
	for _, name := range popular {
		add(cmd.Flags().Lookup(name))
	}
	return set
}

// isOwn reports whether a flag belongs to a single command: it is in no group and not common.
func isOwn(f *pflag.Flag) bool {
	return !slices.Contains(common, f.Name) && !slices.ContainsFunc(flags, func(g group) bool { return g.has(f.Name) })
}

// Full returns the complete help of a command: description, usage, examples, commands and all
// flags in groups. Text is wrapped at width columns, never inside a word.
func Full(cmd *cobra.Command, width int) string {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	return Wrap(strings.TrimRight(text, "\n"), width) + "\n\n" + usage(cmd, width)
}

// All returns a list of all commands and their subcommands with one line for each.
func All(root *cobra.Command, width int) string {
	var b strings.Builder
	shown := map[*cobra.Command]bool{}
	write := func(title string, list []*cobra.Command) {
		var flat []*cobra.Command
		for _, c := range list {
			shown[c] = true
			flat = append(append(flat, c), below(c)...)
		}
		writeCommands(&b, title, width, flat)
	}
	for _, g := range append([]group{daily}, others...) {
		write(g.title, named(root, g))
	}
	write(rest, slices.DeleteFunc(visible(root), func(c *cobra.Command) bool { return shown[c] }))
	return strings.TrimPrefix(b.String(), "\n")
}

// Usage writes the usage of a command. It is a function for [cobra.Command.SetUsageFunc].
func Usage(cmd *cobra.Command) error {
	_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd, briefColumns))
	return err
}

// use returns the usage line of a command.
func use(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

func usage(cmd *cobra.Command, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", use(cmd))
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if cmd.HasParent() {
		writeCommands(&b, "Commands", width, visible(cmd))
	} else {
		for _, g := range append([]group{daily}, others...) {
			writeCommands(&b, g.title, width, named(cmd, g))
		}
	}
	for title, set := range FlagGroups(cmd) {
		fmt.Fprintf(&b, "\n%s:\n%s", title, usages(set, width, false))
	}
	if cmd.HasAvailableSubCommands() {
		all := ""
		if !cmd.HasParent() {
			all = fmt.Sprintf(", '%s help all' all of them", cmd.CommandPath())
		}
		b.WriteString("\n" + Wrap(fmt.Sprintf("'%s COMMAND --help' prints the help of a command%s.", cmd.CommandPath(), all), width) + "\n")
	}
	return b.String()
}

// visible returns the subcommands that help lists.
func visible(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			list = append(list, c)
		}
	}
	return list
}

// named returns the commands of a group, in its order.
func named(root *cobra.Command, g group) (list []*cobra.Command) {
	for _, name := range g.names {
		for _, c := range root.Commands() {
			if c.Name() == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// writeCommands writes the descriptions of commands below a title. Subcommands are written with
// the name of their parents.
func writeCommands(b *strings.Builder, title string, width int, list []*cobra.Command) {
	names := make([]string, len(list))
	column := 0
	for i, c := range list {
		names[i] = c.Name()
		for p := c.Parent(); p.HasParent() && slices.Contains(list, p); p = p.Parent() {
			names[i] = p.Name() + " " + names[i]
		}
		column = max(column, len(names[i]))
	}
	for i, c := range list {
		if i == 0 {
			fmt.Fprintf(b, "\n%s:\n", title)
		}
		text := Wrap(c.Short, width-column-4)
		fmt.Fprintf(b, "  %-*s  %s\n", column, names[i], strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", column+4)))
	}
}

func (g group) has(name string) bool { return slices.Contains(g.names, name) }

// FlagGroups yields the visible flags of a command in groups with their titles. The first
// group, "Flags", has the flags of the command itself and common ones.
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
