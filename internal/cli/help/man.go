package help

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteManual writes a manual page for root and each command below it to dir, and returns the
// file names. It creates dir if necessary. The output for a version is deterministic.
func WriteManual(root *cobra.Command, version, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var names []string
	for _, cmd := range append([]*cobra.Command{root}, below(root)...) {
		name := manName(cmd) + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(manPage(cmd, version)), 0o666); err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

// below returns all commands below cmd that help shows, recursively.
func below(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			list = append(append(list, c), below(c)...)
		}
	}
	return list
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the manual page of a command in the format of man(7).
func manPage(cmd *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"krmflow %s\"\n", strings.ToUpper(manName(cmd)), version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(use))
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", strings.ReplaceAll(roff(cmd.Long), "\n\n", "\n.PP\n"))
	}
	for title, set := range FlagGroups(cmd) {
		if title == "Flags" {
			title = "Options"
		}
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(title))
		set.VisitAll(func(f *pflag.Flag) { writeOption(&b, f) })
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var see []string
	if cmd.HasParent() {
		see = append(see, manName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			see = append(see, manName(c))
		}
	}
	for i, name := range see {
		see[i] = "\\fB" + roff(name) + "\\fP(1)"
	}
	if len(see) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(see, ",\n"))
	}
	return b.String()
}

func writeOption(b *strings.Builder, f *pflag.Flag) {
	b.WriteString(".TP\n")
	if f.Shorthand != "" {
		fmt.Fprintf(b, "\\fB%s\\fP, ", roff("-"+f.Shorthand))
	}
	fmt.Fprintf(b, "\\fB%s\\fP", roff("--"+f.Name))
	name, usage := pflag.UnquoteUsage(f)
	if name != "" {
		fmt.Fprintf(b, " \\fI%s\\fP", roff(name))
	}
	fmt.Fprintf(b, "\n%s\n", roff(usage))
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
		fmt.Fprintf(b, "(default %s)\n", roff(f.DefValue))
	}
}

// roff escapes text for man(7).
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
