package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// rootFlags say which directories are rendered.
type rootFlags struct {
	recursive bool
	keepGoing bool
}

// registerRendering adds the flags of the commands that plan or render several roots.
func (a *app) registerRendering(cmd *cobra.Command) {
	a.flags.register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().BoolVarP(&a.recursive, "recursive", "R", false, "every Kustomization and Composition at or below the directories (Components are no roots)")
	cmd.Flags().BoolVar(&a.keepGoing, "keep-going", false, "go on with the other roots when one fails")
}

// roots returns the directories that the arguments stand for, each once.
func (a *app) roots(ctx context.Context, args []string) (render.Roots, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	for i, dir := range args {
		if dir == "" {
			return nil, usageError(fmt.Errorf("argument %d: the directory must not be empty", i+1))
		}
	}
	names := args
	if a.recursive {
		names = nil
		var errs []error
		for _, dir := range args {
			found, err := render.FindRoots(ctx, dir)
			names, errs = append(names, found...), append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
	}
	base := "."
	if len(args) == 1 {
		base = args[0]
	}
	return render.Place(names, base)
}
