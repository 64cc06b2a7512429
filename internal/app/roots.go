package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/profile"
	"github.com/krmflow/krmflow/internal/roots"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// RootFlags say which directories are rendered.
type RootFlags struct {
	// Recursive finds all roots at or below the directories.
	Recursive bool
	// KeepGoing goes on with the other roots when one fails.
	KeepGoing bool
	// FoundRoots are the roots that were found below the directories, nil unless Recursive is set: its LeftOut is how many are not rendered.
	FoundRoots *roots.Found

	selection roots.Selection
	// Base is the directory that the places of roots in an output are relative to, "" for that of the arguments.
	Base string
}

// RegisterRendering adds the flags of the commands that plan or render several roots.
func (a *App) RegisterRendering(cmd *cobra.Command) {
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	a.RegisterRoots(cmd, "every Kustomization and Composition at or below the directories (Components are no roots)")
	cmd.Flags().BoolVar(&a.KeepGoing, "keep-going", false, "go on with the other roots when one fails, or needs a function that is denied")
}

// RegisterRoots adds the flags about the directories to a command; recursive says what -R does.
func (f *RootFlags) RegisterRoots(cmd *cobra.Command, recursive string) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.Recursive, "recursive", "R", false, recursive)
	fs.BoolVar(&f.selection.Leaves, "leaves", false, "of the roots that -R finds, only those that no other layer found uses")
	fs.Var((*options.Repeated)(&f.selection.Only), "only", "of the roots that -R finds, only those at or below this path in DIR: * and ** match; may be repeated")
	fs.Var((*options.Repeated)(&f.selection.Exclude), "exclude", "of the roots that -R finds, none at or below this path in DIR: * and ** match; may be repeated")
	fs.BoolVar(&f.selection.Hidden, "hidden", false, "let -R look into directories whose name starts with a dot, too, but for .git")
}

// LeftOut returns how many roots were found below the directories that are not meant.
func (f *RootFlags) LeftOut() int {
	if f.FoundRoots == nil {
		return 0
	}
	return f.FoundRoots.LeftOut()
}

// Roots returns the directories that the arguments stand for, each once.
func (a *App) Roots(cmd *cobra.Command, args []string) (render.Roots, error) {
	a.Recorder.Stage(profile.Finding)
	if len(args) == 0 {
		args = []string{"."}
	}
	for i, dir := range args {
		if dir == "" {
			return nil, options.UsageError(fmt.Errorf("argument %d: the directory must not be empty", i+1))
		}
	}
	base := "."
	if len(args) == 1 {
		base = args[0]
	}
	base = cmp.Or(a.Base, base)
	if !a.Recursive {
		for _, name := range []string{"leaves", "only", "exclude", "hidden"} {
			if cmd.Flags().Changed(name) {
				return nil, options.UsageError(fmt.Errorf("--%s is about the roots that -R finds: add -R", name))
			}
		}
		return render.PlaceIn(&a.Places, args, base)
	}
	if err := a.find(cmd.Context(), args); err != nil {
		return nil, err
	}
	return render.PlaceIn(&a.Places, a.FoundRoots.Dirs, base)
}

// find finds the roots below the directories.
func (a *App) find(ctx context.Context, args []string) error {
	a.selection.Jobs = a.Jobs
	found, err := a.Watch.find(ctx, a.selection, args)
	var bad *roots.PatternError
	switch {
	case errors.As(err, &bad):
		return options.UsageError(err)
	case err != nil:
		return err
	}
	a.FoundRoots = found
	a.WarnBefore(found.Warnings)
	return nil
}
