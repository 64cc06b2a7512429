// Package join implements the join command.
package join

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/join"
	"github.com/spf13/cobra"
)

// Command returns the join command.
func Command(a *cli.Invocation) *cobra.Command {
	var dest string
	var force, prune bool
	cmd := &cobra.Command{
		Use:   "join FOLDER... -o FOLDER",
		Short: "Merge the folders of all shards of a render",
		Long: `Merge the folders that 'apply-render --shard I/N -o FOLDER' wrote. The result is the folder that apply-render writes without --shard, byte for byte,
so that 'apply-render --check' works on it. It changes atomically, and only if all folders are valid.

The folders must be all N shards of the same render. Missing, duplicate and overlapping shards are errors, and so are different versions, flags and
lists of roots, roots that could not be rendered, and files that were changed since. Run join in the directory in which the shards were rendered.`,
		Example: "  krmflow join out-1/ out-2/ out-3/ -o out/",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return options.UsageError(errors.New("name the folders of all shards"))
			case dest == "":
				return options.UsageError(errors.New("name the folder to write: -o FOLDER"))
			}
			for _, dir := range args {
				if dir == "" {
					return options.UsageError(errors.New("the name of a folder must not be empty"))
				}
			}
			a.StartLog()
			parts, err := join.Open(args)
			if err != nil {
				return err
			}
			defer parts.Close()
			out, err := output.Open(dest, output.Options{Context: cmd.Context(), Inputs: args, Roots: parts.Roots(), Base: parts.Base(),
				Prune: prune, Force: force, Command: cli.CommandLine(a.Name.String(), os.Args[1:])})
			if err != nil {
				return withoutOnlyThese(err)
			}
			defer a.Exits.Add(out.Abort)()
			if err := parts.Put(out); err != nil {
				return err
			}
			changes, err := out.Commit()
			if err == nil {
				a.Log.Changes(dest, changes)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&dest, "output", "o", "", "write to this `FOLDER`")
	fs.BoolVar(&force, "force", false, "replace changed files and files that krmflow did not write; see docs")
	fs.BoolVar(&prune, "prune", false, "remove files of roots that no shard has")
	return cmd
}

// withoutOnlyThese removes the hint for --only-these, which join lacks: its result has all roots.
func withoutOnlyThese(err error) error {
	var refused *output.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	e := *refused
	e.Hint = strings.Join(slices.DeleteFunc(strings.Split(e.Hint, "\n"), func(line string) bool {
		return strings.Contains(line, "--only-these")
	}), "\n")
	return &e
}
