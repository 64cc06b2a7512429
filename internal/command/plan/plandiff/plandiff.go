// Package plandiff loads the old plan for a comparison: a plan written to a file earlier, or
// the plan of a revision.
package plandiff

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/review/preview"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/spf13/cobra"
)

// An Old plan is the old side of a comparison.
type Old struct {
	*planview.Document
	against, commit string
}

// IsRevision reports whether against, in the form of [Plan], names a revision.
func IsRevision(against string) bool { return strings.HasPrefix(against, revision.Prefix) }

// Compare returns the differences between the old plan and now.
func (o *Old) Compare(now *planview.Document) *planview.Difference {
	d := planview.Compare(o.Document, now)
	d.Against, d.Commit = o.against, o.commit
	return d
}

// Plan returns the plan that against names: a file written by plan -o json, or git:REV. For a
// revision it plans the directories in args with the current flags. run is the new plan, from
// [cli.Invocation.Plan]. With evaluate set, the built-ins of a revision are evaluated. Errors
// of the old side become part of its document; its warnings are not printed.
func Plan(cmd *cobra.Command, a *cli.Invocation, args []string, run *engine.Run, against string, evaluate bool) (*Old, error) {
	old := &Old{against: diag.Redact(against)}
	rev, isRevision := strings.CutPrefix(against, revision.Prefix)
	var err error
	if isRevision {
		err = old.plan(cmd, a, args, run, rev, evaluate)
	} else {
		err = old.read(against)
	}
	if err != nil {
		return nil, err
	}
	return old, nil
}

func (o *Old) read(file string) error {
	data, err := os.ReadFile(file) // not with loaders: the file may be a pipe and is not an input of the plan
	var pe *fs.PathError
	if errors.As(err, &pe) {
		pe.Path = o.against // the user may have passed a URL with credentials
	}
	if errors.Is(err, fs.ErrNotExist) {
		return diag.Errorf(diag.Pos{}, "", "--against: %q is not a file, a directory or a revision", o.against).With(diag.NoSuchFile)
	}
	if err == nil {
		o.Document, err = planview.Read(data)
		if err != nil {
			return fmt.Errorf("--against %s: %w", o.against, err)
		}
	}
	if err != nil {
		return fmt.Errorf("--diff: %w", err)
	}
	return nil
}

// plan plans a revision. Files and directories are renamed to their names in the new plan.
func (o *Old) plan(cmd *cobra.Command, a *cli.Invocation, args []string, now *engine.Run, rev string, evaluate bool) error {
	start := "."
	if len(args) > 0 {
		start = args[0]
	}
	ctx := cmd.Context()
	tree, err := revision.Open(ctx, start, rev)
	if err != nil {
		return err
	}
	defer a.Exits.Add(tree.Close)()
	o.commit = tree.Commit()
	there, _, err := a.Find(cmd, engine.Search{Args: args, Tree: tree})
	if err != nil {
		return err
	}
	names := there.Dirs()
	cwd, err := os.Getwd()
	if err != nil {
		return diag.NotReadable.Errorf("the working directory does not exist")
	}
	roots := now.Scope().Roots
	dirs := roots.Dirs()
	absolute := len(dirs) > 0 && !slices.ContainsFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
	prefixes, err := shown(tree, cwd, absolute)
	if err != nil {
		return err
	}
	run, err := now.Beside(ctx, engine.Side{Tree: tree, Dirs: names})
	if err != nil {
		return err
	}
	plan := run.Plan()
	planview.HideSecrets(plan)
	var made *planview.Preview
	if evaluate {
		if made, _, err = preview.Run(ctx, run, preview.Options{Objects: true}); err != nil {
			return err
		}
	}
	if o.Document, err = planview.NewAs(plan, made, prefixes...); err != nil {
		return err
	}
	called := map[string]string{} // directories of roots by their names in the tree
	for _, name := range names {
		path := filepath.Join(tree.Top(), filepath.FromSlash(name))
		if rel, err := filepath.Rel(cwd, path); err == nil && !absolute {
			path = rel
		}
		called[diag.Redact(name)] = diag.Redact(path)
	}
	for _, dir := range dirs {
		if name, err := tree.Name(dir); err == nil {
			called[diag.Redact(name)] = diag.Redact(dir)
		}
	}
	o.rename(called)
	return nil
}

// rename renames the directories of roots.
func (o *Old) rename(called map[string]string) {
	as := func(dir *string) { *dir = cmp.Or(called[*dir], *dir) }
	for i := range o.Roots {
		as(&o.Roots[i].Dir)
	}
	for i := range o.Failed {
		as(&o.Failed[i].Dir)
	}
	for _, l := range o.Layers {
		for i := range l.Roots {
			as(&l.Roots[i])
		}
	}
}

// shown returns replacements for the prefixes of file names in a revision. In a plan of the
// work tree the same files have names relative to the working directory, or absolute names.
func shown(tree *revision.Tree, cwd string, absolute bool) (oldnew []string, err error) {
	if absolute {
		return []string{tree.Shown(), filepath.ToSlash(tree.Top()) + "/"}, nil
	}
	name, err := tree.Name(cwd)
	if err != nil { // the working directory is outside the repository
		rel, err := filepath.Rel(cwd, tree.Top())
		return []string{tree.Shown(), filepath.ToSlash(rel) + "/"}, err
	}
	up := ""
	for ; name != "."; name = filepath.ToSlash(filepath.Dir(name)) {
		oldnew = append(oldnew, tree.Shown()+name+"/", up)
		up += "../"
	}
	return append(oldnew, tree.Shown(), up), nil
}
