package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/reference"
	"github.com/krmflow/krmflow/render"
)

// A Side is the other side of a comparison: names of directories in the tree of a revision or,
// if Tree is nil, other directories.
type Side struct {
	Tree *revision.Tree
	Dirs []string
}

// Beside plans another side with the same options as this run. It prints and records nothing.
// With a Tree, the lock file and all other files of the repository are read from the revision.
// Remote content that is missing from this machine's vendor folder is fetched. Functions that
// are programs in the tree cannot run.
func (r *Run) Beside(ctx context.Context, s Side) (*Run, error) {
	sources := *r.options.Sources
	sources.Found, sources.Moved = nil, nil
	o := render.Options{Dirs: s.Dirs, Plan: r.options.Plan, Sources: &sources}
	o.Plan.Fetch, o.Plan.Rendered = r.request.Fetch, nil
	o.Plan.Objects = r.e.objects.here
	if s.Tree != nil {
		if err := r.inRevision(ctx, s.Tree, &o); err != nil {
			return nil, err
		}
	}
	plan, err := render.Compile(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Run{e: r.e, request: Request{Fetch: r.request.Fetch}, roots: unplaced(s.Dirs), dirs: s.Dirs, options: o,
		keepGoing: r.keepGoing, log: r.log, seen: r.seen, plan: plan}, nil
}

// inRevision changes options to read the tree of a revision.
func (r *Run) inRevision(ctx context.Context, tree *revision.Tree, o *render.Options) error {
	vendor := o.Sources.Vendor
	o.Sources.Vendor = ""
	var err error
	if o.Sources.Lock, err = r.lockIn(tree); err != nil {
		return err
	}
	o.Sources.Locked = r.e.o.Locked || o.Sources.Lock != nil && !r.e.o.LockedSet && os.Getenv("CI") == "true"
	o.Plan.FS, o.Plan.FSName, o.Plan.Instead = tree, tree.Shown(), nil
	o.Plan.Objects = r.e.objects.there[tree]
	if vendor != "" && o.Plan.Fetch == nil {
		vendored := *o.Sources
		vendored.Vendor = vendor
		o.Plan.Fetch = r.firstFrom(ctx, vendored, *o.Sources)
	}
	o.Plan.Rendered = []string{tree.Top()} // files of the repository must not grant trust
	if free := o.Plan.Free; free != nil {
		o.Plan.Free = func(real string) bool {
			name, ok := loaders.GivenName(real)
			return ok && free(filepath.Join(tree.Top(), filepath.FromSlash(name)))
		}
	}
	return nil
}

// firstFrom returns a fetch function that looks in a vendor folder first, and fetches other
// content from the usual sources.
func (r *Run) firstFrom(ctx context.Context, vendored, others render.Sources) loaders.Fetch {
	here, endHere := vendored.Fetching(ctx)
	there, endThere := others.Fetching(ctx)
	r.e.host.Exits.Add(endHere)
	r.e.host.Exits.Add(endThere)
	return func(text string, use reference.Use, from remote.Origin) (*remote.Content, error) {
		c, err := here(text, use, from)
		if err != nil && diag.CodeOf(err) == diag.NotVendored {
			return there(text, use, from)
		}
		return c, err
	}
}

// lockIn returns the lock file of a revision, or nil if it has none. A lock file outside the
// repository is read from this machine.
func (r *Run) lockIn(tree *revision.Tree) (*lock.File, error) {
	path := r.e.o.LockFile.Path
	name, err := tree.Name(path)
	if path == "" || err != nil {
		return r.options.Sources.Lock, nil
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

// findIn returns the directories selected by args in the tree of a revision, as names in it:
// see [Search.Tree].
func (e *Engine) findIn(ctx context.Context, tree *revision.Tree, args []string) ([]string, error) {
	var names []string
	for _, arg := range args {
		if loaders.IsRemote(arg) {
			if _, err := os.Stat(arg); err != nil {
				return nil, &revision.RemoteError{Arg: arg, Tree: tree}
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
	if !e.o.Recursive {
		objects, err := e.namedIn(ctx, tree, args)
		return append(names, objects...), err
	}
	if len(names) == 0 {
		return nil, nil
	}
	if e.o.Fresh || e.asked == nil || debugs("cacheverify") { // the place of the cache is checked against asked
		return e.searchIn(ctx, tree, names)
	}
	s := e.o.Selection
	key := krm.DigestOf(fmt.Appendf(nil, "%x %q %t %q %q %q %t %q %q", tree.Listing(), names, s.Leaves, s.Keep, s.Only, s.Exclude,
		s.Hidden, e.o.GitOps.Mode, e.o.Version+records.Executable()))
	return records.Names(e.cache(), key, func() ([]string, bool, error) {
		names, err := e.searchIn(ctx, tree, names)
		return names, err == nil && e.objects.there[tree] == nil && tree.Complete(), err
	})
}

// searchIn returns the roots below directories in the tree of a revision. Without objects, they
// depend on the tree and the options of the search alone.
func (e *Engine) searchIn(ctx context.Context, tree *revision.Tree, names []string) ([]string, error) {
	selection := e.withObjects(e.o.Selection, tree, nil)
	selection.Visit, selection.FS = nil, tree
	found, err := selection.Find(ctx, names)
	if err != nil && ctx.Err() == nil && diag.CodeOf(err) == diag.NoRoots {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return found.Dirs, e.distinctIn(tree, found.Dirs, onlyDirectories)
}
