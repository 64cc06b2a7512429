// Package why implements the why command.
package why

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/review/why"
	"github.com/spf13/cobra"
)

// Command returns the why command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why ROOT|STEP [DIR...]",
		Short: "Print what changed since a root was last rendered",
		Long: `Compare a root with its last render: files, missing files, flags, the version of krmflow and the digests of functions. A root is a directory. A step is
named as plan --detail and plan -o json name it, and is looked up in the roots DIR, or in the directory of the file at the beginning of its name.

The cache records the last render of a root by build or apply-render with the same flags. Nothing is rendered.`,
		Example: "  krmflow why overlays/prod\n  krmflow why 'base/kustomization.yaml#patches[0]' overlays/prod",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return options.UsageError(errors.New("why needs a root or a step"))
			}
			what, dirs := args[0], args[1:]
			file, _, isStep := strings.Cut(what, "#")
			if info, err := os.Stat(what); err == nil && info.IsDir() {
				isStep = false
			}
			switch {
			case !isStep && len(dirs) > 0:
				return options.UsageError(fmt.Errorf("%s is no step: name one root", what))
			case !isStep:
				dirs = []string{what}
			case len(dirs) == 0:
				dirs = []string{path.Dir(file)}
			}
			all := func(string, *records.Record) bool { return false }
			// the changes may be the reason why a root fails
			run, err := a.Plan(cmd, engine.Request{Args: dirs, Reuse: all, KeepGoing: true})
			if err != nil {
				return err
			}
			plan := run.Plan()
			roots := run.Scope().Roots
			reasons := why.New(run)
			if !isStep {
				return errors.Join(reasons.WriteRoot(a.Stdout, diag.Redact(roots[0].Dir)), plan.Err())
			}
			var ids []string
			for _, n := range plan.Graph.Nodes {
				if n.ID == what {
					return errors.Join(reasons.WriteNode(a.Stdout, n), plan.Err())
				}
				ids = append(ids, n.ID)
			}
			if err := plan.Err(); err != nil {
				return err
			}
			e := diag.Errorf(diag.Pos{}, "", "no step of %s is called %q", diag.Some(roots.Dirs()), what).With(diag.Arguments)
			e.Hints = append(diag.DidYouMean(what, ids), "krmflow plan --detail lists all steps")
			return e
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	return cmd
}
