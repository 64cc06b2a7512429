package help

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// values are the shell completions for flag values, by flag name. The completions of --output
// depend on the command: see outputs.
var values = map[string][]string{
	"load-restrictor":       {"LoadRestrictionsRootOnly\tfiles below the layer's own directory", "LoadRestrictionsNone\tfiles anywhere"},
	"reorder":               {"legacy\tkustomize's order", "none\tthe order of the files"},
	"log-level":             {"debug", "info", "warn", "error"},
	"log-format":            {"text\tfor people", "json\tan object a line"},
	"report":                {"sarif=", "junit=", "json=", "github\tannotations, on stderr"},
	"resource-list-version": {"v1", "v1beta1", "v1alpha1"},
	"container-runtime":     {"podman", "docker"},
	"detail":                {"steps", "roots"},
	"color":                 {"auto", "always", "never"},
	"lang":                  {"bash", "go", "python"},
}

// outputs are the values of --output that name a form, by the command's path without the
// program name. For other commands the value is a file or folder.
var outputs = map[string][]string{
	"plan":         {"text", "json", "dot"},
	"diff":         {"text", "unified", "markdown", "json"},
	"graph":        {"dot", "mermaid", "svg", "text"},
	"affected":     {"text", "json"},
	"version":      {"json", "yaml"},
	"view catalog": {"text", "yaml", "json"},
	"config show":  {"text", "json"},
	"fn test":      {"text", "json", "junit"},
	"fn doc":       {"markdown", "json"},
}

// directories are the flags whose values are directories.
var directories = []string{"cache-dir", "vendor", "against", "keep", "crds", "directory"}

// Complete configures shell completion: directories for commands that take them, and the
// possible values of flags.
func Complete(root *cobra.Command) {
	for _, cmd := range below(root) {
		if strings.Contains(cmd.Use, "DIR") && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		}
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			list := values[f.Name]
			if f.Name == "output" {
				list = outputs[path]
			}
			directive := cobra.ShellCompDirectiveNoFileComp
			if f.Name == "report" {
				directive = cobra.ShellCompDirectiveNoSpace
			}
			if list != nil {
				// Fails if there is one already.
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(list, directive))
			}
		})
		for _, name := range directories {
			_ = cmd.MarkFlagDirname(name) // fails for flags that the command does not have
		}
	}
}
