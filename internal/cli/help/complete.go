package help

import (
	"strings"

	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// values are the shell completions for flag values, by flag name. The completions of --output
// depend on the command: see outputs.
var values = map[string][]string{
	"load-restrictor":       {"LoadRestrictionsRootOnly\tfiles below the directory of the layer", "LoadRestrictionsNone\tfiles anywhere"},
	"reorder":               {"legacy\tkustomize's order", "none\tthe order of the files"},
	"log-level":             {"debug", "info", "warn", "error"},
	"log-format":            {"text\tfor people", "json\tan object a line"},
	"report":                {"sarif=", "junit=", "json=", "github\tannotations, on stderr"},
	"resource-list-version": {"v1", "v1beta1", "v1alpha1"},
	"container-runtime":     {"podman", "docker"},
	"detail":                {"steps", "roots"},
	"remote-cache-mode":     {"read", "read-write"},
	"unknown-kinds":         {"ignore", "error"},
	"layout":                {"files", "single", "hydrator"},
	"names":                 {"namespace", "no-namespace", "no-hash"},
	"color":                 {"auto", "always", "never"},
	"lang":                  {"bash", "go", "python"},
}

// outputs are the values of --output that name a form, by the command's path without the
// program name. For other commands the value is a file or folder.
var outputs = map[string][]string{
	"plan":         {"text", "json", "html", "dot"},
	"diff":         {"text", "unified", "markdown", "json", "html"},
	"graph":        {"dot", "mermaid", "svg", "text"},
	"affected":     {"text", "json"},
	"bench":        {"text", "json", "html"},
	"deps":         {"list", "make", "json", "argocd"},
	"explain":      {"text", "json"},
	"test":         {"text", "json", "junit"},
	"version":      {"json", "yaml"},
	"cache du":     {"text", "json"},
	"catalog show": {"text", "yaml", "json"},
	"config show":  {"text", "json"},
	"fn test":      {"text", "json", "junit"},
	"fn run":       {"text", "json"},
	"fn doc":       {"markdown", "json"},
}

// directories are the flags whose values are directories.
var directories = []string{"cache-dir", "vendor", "keep", "crds", "directory", "in", "scope", "root", "results-dir", "pprof"}

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
			if f.Name == "against" {
				_ = cmd.RegisterFlagCompletionFunc(f.Name,
					func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
						return revision.Names(cmd.Context()), cobra.ShellCompDirectiveDefault // and files
					})
			}
		})
		for _, name := range directories {
			_ = cmd.MarkFlagDirname(name) // fails for flags that the command does not have
		}
	}
}
