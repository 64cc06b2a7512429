package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/reference"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// RootsIn returns the directories that the arguments of [App.Roots] stand for in a revision, as names in its tree. There may be none: what
// the revision does not have is no mistake. Something remote is one: no revision of this repository says what it was.
func (a *App) RootsIn(ctx context.Context, tree *revision.Tree, args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var names []string
	for _, arg := range args {
		if loaders.IsRemote(arg) {
			if _, err := os.Stat(arg); err != nil {
				return nil, NotInRevision(tree, arg)
			}
		}
		name, err := tree.Name(arg)
		if err != nil {
			return nil, err
		}
		if info, err := fs.Stat(tree, name); err == nil && info.IsDir() && !slices.Contains(names, name) {
			names = append(names, name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, diag.NotReadable.Errorf("cannot read %s%s: %w", tree.Shown(), name, err)
		}
	}
	if !a.Recursive || len(names) == 0 {
		return names, nil
	}
	s := a.selection
	s.Jobs, s.FS, s.Visit = a.Jobs, tree, nil
	found, err := s.Find(ctx, names)
	if err != nil && ctx.Err() == nil && diag.CodeOf(err) == diag.NoRoots {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return found.Dirs, nil
}

// NotInRevision returns the error about something remote that is to be compared with what it was in a revision.
func NotInRevision(tree *revision.Tree, arg string) error {
	shown, rev := diag.Redact(arg), strings.TrimSuffix(tree.Shown(), ":")
	e := diag.Errorf(diag.Pos{}, "", "%s is remote, and %s has only what is in the repository", shown, rev).With(diag.Arguments)
	return options.UsageError(e.Hint("leave it out, or write an older version of it to a file by krmflow build, and compare with that: krmflow diff %s --against FILE",
		diag.ShellWord(shown)))
}

// PlanRevision plans roots, names in the tree of a revision, as the flags say. The options that it returns are those to run the plan with, by
// [App.RunOptionsOf]. [App.Plan] must have been called before; it is told nothing, and logs nothing. Of the repository nothing but the tree
// counts, also for the lock file; what the vendor folder of this machine has not is fetched. Functions that are programs of the tree itself cannot run.
func (a *App) PlanRevision(cmd *cobra.Command, tree *revision.Tree, names []string) (*planner.Plan, render.Options, error) {
	sources := *a.Opts.Sources
	sources.Vendor, sources.Found, sources.Moved = "", nil, nil
	var err error
	if sources.Lock, err = a.lockIn(tree); err != nil {
		return nil, render.Options{}, err
	}
	sources.Locked = a.Locked || sources.Lock != nil && !settings.IsSet(cmd.Flags(), "locked") && os.Getenv("CI") == "true"
	o := render.Options{Dirs: names, Plan: a.Opts.Plan, Sources: &sources}
	o.Plan.FS, o.Plan.FSName = tree, tree.Shown()
	o.Plan.Fetch, o.Plan.Instead = a.Fetch, nil
	if vendored := sources; a.Opts.Sources.Vendor != "" && a.Fetch == nil {
		vendored.Vendor = a.Opts.Sources.Vendor
		o.Plan.Fetch = a.firstFrom(cmd.Context(), vendored, sources)
	}
	o.Plan.Rendered = []string{tree.Top()} // what is in the repository must not say whom to trust
	if free := o.Plan.Free; free != nil {
		o.Plan.Free = func(real string) bool {
			name, ok := loaders.GivenName(real)
			return ok && free(filepath.Join(tree.Top(), filepath.FromSlash(name)))
		}
	}
	plan, err := render.Compile(cmd.Context(), o)
	return plan, o, err
}

// firstFrom returns what fetches from a vendor folder, or as others do what that has not.
func (a *App) firstFrom(ctx context.Context, vendored, others render.Sources) loaders.Fetch {
	here, endHere := vendored.Fetching(ctx)
	there, endThere := others.Fetching(ctx)
	a.Exits.Add(endHere)
	a.Exits.Add(endThere)
	return func(text string, use reference.Use, from remote.Origin) (*remote.Content, error) {
		c, err := here(text, use, from)
		if err != nil && diag.CodeOf(err) == diag.NotVendored {
			return there(text, use, from)
		}
		return c, err
	}
}

// PlanOthers plans more directories as the flags say; the rest is as with [App.PlanRevision].
func (a *App) PlanOthers(ctx context.Context, dirs []string) (*planner.Plan, render.Options, error) {
	sources := *a.Opts.Sources
	sources.Found, sources.Moved = nil, nil
	o := render.Options{Dirs: dirs, Plan: a.Opts.Plan, Sources: &sources}
	o.Plan.Fetch = a.Fetch
	plan, err := render.Compile(ctx, o)
	return plan, o, err
}

// Filtered reports whether flags leave out some of the roots that -R finds.
func (f *RootFlags) Filtered() bool {
	return f.selection.Leaves || len(f.selection.Only)+len(f.selection.Exclude) > 0
}

// Below returns the roots at or below a directory, as the flags about -R choose them.
func (a *App) Below(ctx context.Context, dir string) ([]string, error) {
	s := a.selection
	s.Jobs, s.Visit = a.Jobs, nil
	found, err := s.Find(ctx, []string{dir})
	if err != nil {
		return nil, err
	}
	return found.Dirs, nil
}

// lockIn returns the lock file as a revision has it, nil if it has none. A lock file outside of the repository is that of this machine.
func (a *App) lockIn(tree *revision.Tree) (*lock.File, error) {
	name, err := tree.Name(a.LockFile)
	if a.LockFile == "" || err != nil {
		return a.Opts.Sources.Lock, nil
	}
	data, err := fs.ReadFile(tree, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, diag.NotReadable.Errorf("cannot read %s%s: %w", tree.Shown(), name, err)
	}
	return lock.Parse(&yaml.Source{File: tree.Shown() + name, Data: data})
}
