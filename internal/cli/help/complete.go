package help

import (
	"fmt"
	"io"
	"slices"
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
	"images":       {"text", "json"},
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
	for _, cmd := range append(below(root), root) {
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
					func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
						return Matching(revision.Names(cmd.Context()), typed), cobra.ShellCompDirectiveDefault // and files
					})
			}
		})
		for _, name := range directories {
			_ = cmd.MarkFlagDirname(name) // fails for flags that the command does not have
		}
	}
}

// Matching returns the names that begin with the typed text, in upper or lower case. Shells also
// filter the names, but zsh starts a process for each name that it receives.
func Matching(names []string, typed string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return len(name) < len(typed) || !strings.EqualFold(name[:len(typed)], typed)
	})
}

// bashFunctions replace functions of the package bash-completion that cobra's script for bash
// needs. They use the package if it is loaded. %[1]s is the name of the program.
//
// Without the package, the first function joins the words that bash splits at = and : itself, and
// the second leaves the completion of directories to bash.
const bashFunctions = `
__%[1]s_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line=${COMP_LINE:0:COMP_POINT} word
    words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if (( ${#words[@]} == 0 )) || [[ $line == [[:blank:]]* ]]; then
            words+=("")
            line=${line#"${line%%%%[![:blank:]]*}"}
        fi
        word=${word:0:${#line}}
        line=${line#"$word"}
        words[${#words[@]}-1]+=$word
    done
    cword=$(( ${#words[@]} - 1 ))
    cur=${words[cword]}
    prev=
    if (( cword > 0 )); then
        prev=${words[cword-1]}
    fi
}

__%[1]s_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
    elif [[ ${1-} == -d && $(type -t compopt) == builtin ]]; then
        compopt +o default -o dirnames
    fi
}
`

// CompleteInBash makes the command that prints the script for bash independent of the package
// bash-completion.
func CompleteInBash(bash *cobra.Command) {
	const needs = "This script depends on the 'bash-completion' package.\nIf it is not installed already, you can install it via your OS's package manager.\n\n"
	bash.Long = strings.Replace(bash.Long, needs, "", 1)
	bash.Long = strings.Replace(bash.Long, "every new session, execute once:",
		"every new session, add this line to ~/.bashrc. With the 'bash-completion' package, you can instead execute once:", 1)
	bash.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var b strings.Builder
		if err := cmd.Root().GenBashCompletionV2(&b, !bare); err != nil {
			return err
		}
		name := cmd.Root().Name()
		script := strings.ReplaceAll(b.String(), "_filedir", "__"+name+"_filedir")
		_, err = io.WriteString(cmd.OutOrStdout(), script+fmt.Sprintf(bashFunctions, name))
		return err
	}
}
