package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// RootFlags say which directories are rendered.
type RootFlags struct {
	// Recursive finds all roots at or below the directories.
	Recursive bool
	// KeepGoing goes on with the other roots when one fails.
	KeepGoing bool
}

// RegisterRendering adds the flags of the commands that plan or render several roots.
func (a *App) RegisterRendering(cmd *cobra.Command) {
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().BoolVarP(&a.Recursive, "recursive", "R", false, "every Kustomization and Composition at or below the directories (Components are no roots)")
	cmd.Flags().BoolVar(&a.KeepGoing, "keep-going", false, "go on with the other roots when one fails, or needs a function that is denied")
}

// Roots returns the directories that the arguments stand for, each once.
func (a *App) Roots(ctx context.Context, args []string) (render.Roots, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	for i, dir := range args {
		if dir == "" {
			return nil, options.UsageError(fmt.Errorf("argument %d: the directory must not be empty", i+1))
		}
	}
	names := args
	if a.Recursive {
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
