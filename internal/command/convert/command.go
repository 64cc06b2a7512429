package convert

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// Command returns the convert command.
func Command(a *cli.Invocation) *cobra.Command {
	var dest string
	var replace bool
	cmd := &cobra.Command{
		Use:   "composition [DIR]",
		Short: "Write a Composition that renders the same as a Kustomization",
		Long: `Write a Composition that renders the same as the Kustomization of a directory. Each field becomes an item, in the order of evaluation. Both are rendered
first, and nothing is written unless the bytes are equal. A directory may contain only one of the two files: remove the
kustomization file, or let --replace do it.`,
		Example: "  krmflow convert composition overlays/prod --replace",
		Args:    options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if dest != "" && replace {
				return options.UsageError(errors.New("--replace writes beside the kustomization file: leave out --output"))
			}
			return convertDir(a, cmd, dir, dest, replace)
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", "", "`FILE` to write, with paths relative to DIR (default: DIR/composition.yaml)")
	cmd.Flags().BoolVar(&replace, "replace", false, "remove the kustomization file")
	parent := &cobra.Command{Use: "convert", Short: "Convert a Kustomization to a Composition"}
	parent.AddCommand(cmd)
	return parent
}

func convertDir(a *cli.Invocation, cmd *cobra.Command, dir, dest string, replace bool) error {
	if loaders.IsRemote(dir) && !loaders.Exists(dir) {
		return options.UsageError(fmt.Errorf("%s is remote: convert a local directory", diag.Redact(dir)))
	}
	run, err := a.Plan(cmd, engine.Request{Dirs: []string{dir}})
	if err != nil {
		return err
	}
	before, err := engine.Texts(run.Results(cmd.Context(), engine.Hooks{}))
	if err != nil {
		return err
	}
	o := run.Scope().Plan
	files := loaders.NewLocal(cmd.Context(), loaders.Config{Cwd: o.Cwd, Roots: []string{dir}, Unrestricted: o.Unrestricted, Free: o.Free})
	c, err := Directory(files, dir, run.Plan().Files())
	if err != nil {
		return err
	}
	for _, n := range c.Notes {
		a.Log.Warn(planner.Warning{Pos: n.Pos, Field: n.Field, Msg: n.Msg})
	}
	var after map[string][]byte
	// it repeats the warnings of the first plan
	again, err := a.Plan(cmd, engine.Request{Dirs: []string{dir}, Instead: c.Instead(), Silent: true})
	if err == nil {
		after, err = engine.Texts(again.Results(cmd.Context(), engine.Hooks{}))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be converted: its Composition does not render: %w", c.From, err)
	}
	if !bytes.Equal(before[diag.Redact(dir)], after[diag.Redact(dir)]) {
		return diag.Errorf(diag.Pos{File: c.From}, "", "cannot be converted: its Composition does not render the same").
			Hint("make the whole Kustomization an item of kind Kustomization, or a path of a ResourceAccumulator")
	}
	if err := c.Write(dest, replace); err != nil {
		return err
	}
	switch {
	case dest != "":
		return a.Print("wrote " + dest + "\n")
	case replace:
		return a.Print(fmt.Sprintf("wrote %s, removed %s\n", c.Dest, c.From))
	}
	return a.Print(fmt.Sprintf("wrote %s; now remove %s: a directory holds only one of them\n", c.Dest, c.From))
}
