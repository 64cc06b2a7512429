package help

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// values are what shells offer for a flag, by its name; those of --output depend on the command.
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

// outputs are the forms that --output names, by the path of the command without the program's name. Elsewhere it is a file or folder.
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

// Complete tells cobra what shells can complete: directories where commands take them, and the values of flags that have only some.
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
				_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(list, directive)) // fails if there is one already
			}
		})
		for _, name := range directories {
			_ = cmd.MarkFlagDirname(name) // fails for flags that the command does not have
		}
	}
}
