// Package deps implements the deps command.
package deps

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/review/inputs"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// formats lists the values of --format.
var formats = []string{"list", "make", "json", "argocd"}

// Command returns the deps command.
func Command(a *cli.Invocation) *cobra.Command {
	var format, target string
	cmd := &cobra.Command{
		Use:   "deps [DIR...]",
		Short: "Print what roots read: files, folders, names that were looked for, references",
		Long: `Print what decides about the output of the directories. Nothing is executed and nothing is written. A list has a line for each thing:
what it is, a tab, and its path, relative to the working directory.

  file    a file that is read: by layers, or as a catalog, a program of a function or a lock file
  link    a symbolic link that leads to something that is read
  folder  a directory of which all files count: that of a chart, or the folder that krmflow vendor wrote
  absent  what was looked for and is not there, or is no directory: when it comes, the output may change
  remote  a reference, and after another tab the commit or digest that it stands for

--format json has this for each root. make prints rules for GNU make, argocd the annotation with which Argo CD renders an Application again
only when one of these has changed.`,
		Example: `  krmflow deps overlays/prod
  krmflow deps overlays/prod --format argocd
  krmflow deps -R overlays --format make --target out/%.yaml > deps.mk`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return options.UsageError(diag.FlagValue.Errorf("illegal value --format %s; legal values: list, make, json, argocd", diag.Redact(format)))
			}
			if cmd.Flags().Changed("target") && format != "make" {
				return options.UsageError(errors.New("--target is for --format make"))
			}
			run, err := a.Plan(cmd, engine.Request{Args: args, Observe: true})
			if err != nil {
				return err
			}
			found := run.Roots()
			roots := inputs.Planned(a, run, found.Dirs())
			if n := len(roots); format == "make" && n > 1 && !bytes.ContainsRune([]byte(target), '%') {
				return options.UsageError(fmt.Errorf("--target %s is one file for %d roots: %% stands for the directory of a root", target, n))
			}
			var b bytes.Buffer
			if err := write(a, run, &b, roots, format, target); err != nil {
				return err
			}
			_, err = b.WriteTo(a.Stdout)
			return errors.Join(err, run.Plan().Err(), a.StrictError())
		},
	}
	a.RegisterRendering(cmd)
	cmd.Flags().StringVar(&format, "format", "list", "what is printed: list, make, json or argocd")
	cmd.Flags().StringVar(&target, "target", "%.yaml", "with --format make, the target of a root: % stands for its directory, or the name of that for . and ..")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
	return cmd
}

func write(a *cli.Invocation, run *engine.Run, b *bytes.Buffer, roots []inputs.Root, format, target string) error {
	var dirs []string
	for _, r := range roots {
		dirs = append(dirs, r.Dir)
	}
	cwd := run.Options().Plan.Cwd
	n := inputs.NamingOf(cwd, dirs)
	switch format {
	case "make":
		return inputs.WriteMake(b, roots, n, target)
	case "json":
		return inputs.WriteJSON(b, roots, n)
	case "argocd":
		outside, err := inputs.WriteArgoCD(b, roots, inputs.RealDir(cwd))
		for _, path := range outside {
			a.Log.Warn(planner.Warning{Msg: n.Name(path) + " is outside of the repository: Argo CD cannot see when it changes", Code: diag.OutsideDirectory})
		}
		return err
	}
	return inputs.WriteList(b, roots, n)
}
