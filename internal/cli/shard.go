package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/spf13/cobra"
)

// forOutput are the flags whose value affects the output of a root. The shards of a render must
// agree on them.
var forOutput = []string{"layout", "names", "redact-secrets", "reorder", "enable-managedby-label", "enable-helm", "helm-api-versions",
	"helm-kube-version", "tracking", "resource-list-version", "allow-error-results", "trusted-plugin-catalog", "prefer-exec", "network",
	"grant", "env"}

// Sharded reports whether the roots are distributed.
func (f *RootFlags) Sharded() bool { return f.shard.On() }

// ShardFolder completes the options of an output folder for a run with --shard. It must be called
// after [Invocation.Find].
func (a *Invocation) ShardFolder(cmd *cobra.Command, o *output.Options) error {
	if !a.Sharded() {
		return nil
	}
	e, err := a.Engine(cmd)
	if err != nil {
		return err
	}
	split := e.Split()
	o.Others, o.Base = split.Others().Outs(), split.All.Base()
	o.Shard = &manifest.Shard{Index: split.Index, Count: split.Count, All: manifest.RootsDigest(split.All.Outs()),
		Version: program.Version(), Flags: outputFlags(cmd), From: fromWorkingDir(o.Base)}
	return nil
}

// outputFlags returns the flags in forOutput that do not have their default value. Values of
// environment variables are left out: they may be secret.
func outputFlags(cmd *cobra.Command) string {
	var texts []string
	for _, name := range forOutput {
		f := cmd.Flags().Lookup(name)
		if f == nil || f.Value.String() == f.DefValue {
			continue
		}
		value := diag.Redact(strings.Trim(f.Value.String(), "[]")) // of a list
		if list, ok := f.Value.(*options.Repeated); ok && name == "env" {
			names := slices.Clone(list.GetSlice())
			for i := range names {
				names[i], _, _ = strings.Cut(names[i], "=")
			}
			value = strings.Join(names, " ")
		}
		texts = append(texts, fmt.Sprintf("--%s=%s", name, diag.ShellWord(value)))
	}
	return strings.Join(texts, " ")
}

// fromWorkingDir returns the slash-separated path of a directory relative to the working directory,
// or "" if there is none.
func fromWorkingDir(dir string) string {
	wd, err := os.Getwd()
	if dir == "" || err != nil {
		return ""
	}
	rel, err := filepath.Rel(filestat.Resolve(wd), filestat.Resolve(dir))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// CommandLine returns a command line quoted for a shell, with credentials redacted.
func CommandLine(name string, args []string) string {
	line := name
	for _, arg := range args {
		arg = diag.Redact(arg)
		if arg == "" || strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+") != "" {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		line += " " + arg
	}
	return line
}
