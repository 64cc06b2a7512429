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
		Short: "Print the inputs of roots: files, folders, missing names, references",
		Long: `Print everything that the output of the directories depends on. Nothing is executed and nothing is written. The list has one line per input: its
type, a tab and its path relative to the working directory.

  file    a file that a layer reads, or a catalog, a function program or a lock file
  link    a symbolic link on the way to an input
  folder  a directory whose files all matter: a chart, or the folder of krmflow vendor
  absent  a missing file or directory that would change the output if it existed
  remote  a reference, then a tab and its commit or digest

-o json has these lists for each root. -o make prints rules for GNU make. -o argocd prints the annotation that makes Argo CD render an Application only
when an input changes.`,
		Example: `  krmflow deps overlays/prod
  krmflow deps overlays/prod -o argocd
  krmflow deps -R overlays -o make --target out/%.yaml > deps.mk`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: list, make, json, argocd",
					diag.Redact(format)))
			}
			if cmd.Flags().Changed("target") && format != "make" {
				return options.UsageError(errors.New("--target needs -o make"))
			}
			run, err := a.Plan(cmd, engine.Request{Args: args, Observe: true})
			if err != nil {
				return err
			}
			roots := inputs.Planned(a, run)
			for i := range roots {
				if o := run.Scope().Plan.Objects[roots[i].Dir]; o != nil {
					roots[i].AddObject(o, run.Scope().Plan.Cwd, format != "argocd")
				}
			}
			if n := len(roots); format == "make" && n > 1 && !bytes.ContainsRune([]byte(target), '%') {
				return options.UsageError(fmt.Errorf("--target %s is one file for %d roots: write %% for the directory of each root",
					target, n))
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
	cmd.Flags().StringVarP(&format, "output", "o", "list", "output `format`: list, make, json or argocd")
	cmd.Flags().StringVar(&format, "format", "list", "the same as --output")
	_ = cmd.Flags().MarkHidden("format") // fails only for flags that do not exist
	cmd.Flags().StringVar(&target, "target", "%.yaml", "with -o make, the target of a root; % is its directory")
	return cmd
}

func write(a *cli.Invocation, run *engine.Run, b *bytes.Buffer, roots []inputs.Root, format, target string) error {
	var dirs []string
	for _, r := range roots {
		dirs = append(dirs, r.Dir)
	}
	cwd := run.Scope().Plan.Cwd
	n := inputs.NamingOf(cwd, dirs)
	switch format {
	case "make":
		return inputs.WriteMake(b, roots, n, target)
	case "json":
		return inputs.WriteJSON(b, roots, n)
	case "argocd":
		outside, err := inputs.WriteArgoCD(b, roots, inputs.RealDir(cwd))
		for _, path := range outside {
			a.Log.Warn(planner.Warning{Msg: n.Name(path) + " is outside of the repository: Argo CD cannot see when it changes",
				Code: diag.OutsideDirectory})
		}
		return err
	}
	return inputs.WriteList(b, roots, n)
}
