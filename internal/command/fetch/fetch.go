// Package fetch implements the fetch command.
package fetch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// Command returns the fetch command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fetch [DIR...]",
		Short: "Fetch all remote content into the cache",
		Long: `Plan the directories, so that all remote content that they need is in the cache, including the programs of allowed functions, and print it. With the
cache and a lock file, later runs need no network. Images of functions are left to podman or docker. Nothing is executed.`,
		Example: "  krmflow fetch -R overlays\n  krmflow build overlays/prod --offline",
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.NoCache {
				return options.UsageError(errors.New("--no-cache keeps nothing, and krmflow fetch does nothing else"))
			}
			_, err := All(a, cmd, args, engine.LockUse{Refetch: true}, true)
			return err
		},
	}
	a.RegisterRendering(cmd)
	return cmd
}

// All plans the directories and prints the fetched content. With programs set it also fetches
// the programs of functions.
func All(a *cli.Invocation, cmd *cobra.Command, args []string, use engine.LockUse, programs bool) (*engine.Run, error) {
	if err := a.RefuseVendor(cmd); err != nil {
		return nil, err
	}
	run, err := a.Plan(cmd, engine.Request{Args: args, Lock: use})
	if err != nil {
		return nil, err
	}
	plan := run.Plan()
	list := plan.Fetched()
	if programs {
		found, failed := render.Fetch(cmd.Context(), plan, run.Scope().Options)
		list, err = append(list, found...), failed
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s %s  %s\n", f.Verb(), diag.OneLine(f.Reference), f.Version)
	}
	if len(list) == 0 && plan.Err() == nil && err == nil {
		a.Nothing("nothing is remote: there is nothing to fetch")
	}
	return run, errors.Join(a.Print(diag.Sanitise(b.String())), plan.Err(), err, a.StrictError())
}
