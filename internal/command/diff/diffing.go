// Package diff implements the diff command. It compares rendered directories with a revision,
// with other directories, or with earlier output, and formats the differences.
package diff

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/internal/command/diff/oldside"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// A Result is the difference between two sides.
type Result struct {
	// Against is the old side as the user named it. Commit is its commit, if it is a revision.
	Against, Commit string
	// Roots are the roots that differ, sorted by name. Same is the number of roots that do not.
	Roots []Root
	Same  int
	// Failed are the roots that could not be compared, sorted.
	Failed []string
}

// Any reports whether any root differs.
func (r *Result) Any() bool { return len(r.Roots) > 0 }

// A Root is a root that differs.
type Root struct {
	// Name is the directory of the root, on the old side if it exists only there.
	Name string
	// OnlyOld and OnlyNew report that the root exists on one side only.
	OnlyOld, OnlyNew bool
	Changes          *diff.Changes
	// Causes holds the position that causes each edit, if known. It is indexed by the resource
	// in Changes and the edit in the resource.
	Causes [][]diag.Pos
	// MoveCauses holds the position that causes each of the relocations in Changes, if known.
	MoveCauses []diag.Pos
	// Findings holds the dangers of the changes, by the resource in Changes.
	Findings [][]findings.Finding
}

// unit is a root with both of its sides.
type unit struct {
	name     string
	now, was string // names on each side, "" if absent
	old      *krm.List
	got      bool  // compared, or known to be the same
	broken   bool  // the same errors on both sides
	claimed  bool  // the cache claims that it is the same; verify it
	err      error // of reading the old side
	root     Root
	secrets  []func(*secret.Set) // each adds the Secret values in the steps of one side
}

// comparison is one comparison of two sides.
type comparison struct {
	*cli.Invocation
	cmd     *cobra.Command
	against string
	units   []*unit
	result  *Result

	engine      *engine.Engine
	run, before *engine.Run // the new side, and the old one if it is rendered
	counterpart func(file string) string
	nowFiles    func() map[string]*yaml.Source
	wasFiles    func() map[string]*yaml.Source
	configs     sync.Map // configurations of steps (krm.Digest) by side and id
	failed      []error
	ordered     bool // resources of both sides are in render order
	rules       *validation.Updates
}

// Compare compares the output of the directories in args with against. With KeepGoing it
// returns the result for the other roots along with the errors of failed ones; otherwise the
// result is nil on error. rules evaluates CEL rules, nil for none.
func Compare(a *cli.Invocation, cmd *cobra.Command, args []string, against string, rules *validation.Updates) (*Result, error) {
	c := &comparison{Invocation: a, cmd: cmd, against: against, result: &Result{Against: diag.Redact(against)}, rules: rules}
	c.nowFiles = sync.OnceValue(func() map[string]*yaml.Source { return sources(c.run.Plan()) })
	c.wasFiles = sync.OnceValue(func() map[string]*yaml.Source { return sources(c.before.Plan()) })
	rev, isRevision := strings.CutPrefix(against, revision.Prefix)
	var err error
	if c.engine, err = a.Engine(cmd); err != nil {
		return nil, err
	}
	switch {
	case isRevision:
		err = c.withRevision(args, rev)
	default:
		var dir bool
		if dir, err = c.isRendered(); err == nil && dir {
			err = c.withDirectory(args)
		} else if err == nil {
			err = c.withOutput(args)
		}
	}
	if err == nil {
		err = c.verifyClaims()
	}
	if rules != nil && c.run != nil && (err == nil || c.KeepGoing) {
		err = errors.Join(err, c.evaluate())
	}
	if err != nil && (!c.KeepGoing || c.run == nil) {
		return nil, err
	}
	return c.finish(), errors.Join(append(c.failed, err)...)
}

// verifyClaims returns an error if a root differs although the cache claims that it is the same:
// see [engine.Known].
func (c *comparison) verifyClaims() error {
	for _, u := range c.units {
		if u.claimed && u.got && u.root.Changes.Any() {
			return diag.Errorf(diag.Pos{File: u.name},
				"", "the cache says that this root is the same on both sides, but it differs").With(diag.NotDeterministic)
		}
	}
	return nil
}

// finish returns the result after both sides are done.
func (c *comparison) finish() *Result {
	r := c.result
	for _, u := range c.units {
		switch {
		case !u.got:
			r.Failed = append(r.Failed, u.name)
		case u.root.Changes == nil || !u.root.Changes.Any():
			r.Same++
		default:
			r.Roots = append(r.Roots, u.root)
		}
	}
	slices.SortFunc(r.Roots, func(x, y Root) int { return strings.Compare(x.Name, y.Name) })
	slices.Sort(r.Failed)
	return r
}

// fail records the errors of a side with KeepGoing. Otherwise it returns them, which ends the
// command.
func (c *comparison) fail(err error) error {
	if err == nil || !c.KeepGoing || c.cmd.Context().Err() != nil {
		return err
	}
	c.failed = append(c.failed, err)
	return nil
}

// isRendered reports whether the old side is a directory to be rendered, as opposed to output.
func (c *comparison) isRendered() (bool, error) {
	info, err := os.Stat(c.against)
	if err != nil {
		return false, diag.Errorf(diag.Pos{}, "", "--against: %q is not a file, a directory or a revision",
			diag.Redact(c.against)).With(diag.NoSuchFile)
	}
	if !info.IsDir() {
		return false, nil
	}
	if isLayer(os.Stat, c.against) {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(c.against, manifest.Name)); err == nil || !c.Recursive {
		return false, nil
	}
	_, _, err = c.Find(c.cmd, engine.Search{Args: []string{c.against}, Below: true})
	return err == nil, nil
}

// isLayer reports whether a directory has a layer file, or an unreadable entry with the name of
// one.
func isLayer(stat func(string) (fs.FileInfo, error), dir string) bool {
	return slices.ContainsFunc(slices.Concat(layerfile.Names, layerfile.CompositionNames), func(name string) bool {
		_, err := stat(path.Join(filepath.ToSlash(dir), name))
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// withDirectory compares with the output of other directories.
func (c *comparison) withDirectory(args []string) error {
	ctx := c.cmd.Context()
	roots, _, err := c.Find(c.cmd, engine.Search{Args: args})
	if err != nil {
		return err
	}
	var others []string
	if c.Recursive {
		below, _, err := c.Find(c.cmd, engine.Search{Args: []string{c.against}, Below: true})
		if err != nil && diag.CodeOf(err) != diag.NoRoots {
			return err
		}
		others = below.Dirs()
	}
	left := map[string]bool{}
	sideOf := func(r render.Root) (string, error) { return filepath.Join(c.against, filepath.FromSlash(r.Out)), nil }
	for _, dir := range c.engine.Split().OldSide(others, sideOf) {
		left[dir] = true
	}
	for _, root := range roots {
		u := &unit{name: root.Dir, now: root.Dir}
		was := c.against
		if c.Recursive || len(c.engine.Split().All) > 1 {
			was = filepath.Join(c.against, filepath.FromSlash(root.Out))
		}
		if info, err := os.Stat(was); left[was] || !c.Recursive && err == nil && info.IsDir() {
			u.was = was
			delete(left, was)
		}
		c.units = append(c.units, u)
	}
	for _, dir := range slices.Sorted(maps.Keys(left)) {
		c.units = append(c.units, &unit{name: dir, was: dir})
	}
	if c.run, err = c.Plan(c.cmd, engine.Request{Dirs: c.names(now)}); err != nil {
		return err
	}
	if c.before, err = c.run.Beside(ctx, engine.Side{Dirs: c.names(was)}); err != nil {
		return err
	}
	c.ordered = true
	return c.both()
}

// withRevision compares with a revision of the repository that contains the directories. Roots
// with the same inputs in the revision have the same output, so they are not rendered. If an
// earlier run recorded their inputs, they are not even planned.
func (c *comparison) withRevision(args []string, rev string) error {
	ctx := c.cmd.Context()
	start := "."
	if len(args) > 0 {
		start = args[0]
	}
	tree, err := revision.Open(ctx, start, rev)
	if err != nil {
		return err
	}
	defer c.Exits.Add(tree.Close)()
	c.result.Commit = tree.Commit()
	roots, _, errRoots := c.Find(c.cmd, engine.Search{Args: args})
	if errRoots != nil && diag.CodeOf(errRoots) != diag.NoRoots {
		return errRoots
	}
	if errRoots == nil {
		if _, err := c.engine.Prepare(ctx, roots.Dirs()); err != nil {
			return err
		}
	}
	there, _, err := c.Find(c.cmd, engine.Search{Args: args, Tree: tree})
	if err != nil {
		return err
	}
	names := there.Dirs()
	if errRoots != nil && len(names) == 0 {
		return errRoots
	}
	if err := c.pair(roots, tree, names); err != nil {
		return err
	}
	seen := oldside.NewSeen(c.engine, c.LockFile, tree)
	onBoth := map[string]bool{}
	for _, u := range c.units {
		onBoth[u.now] = u.now != "" && u.was != ""
	}
	q := engine.Request{Dirs: c.names(now), Observe: true, Unseen: true}
	q.Reuse = func(dir string, r *records.Record) bool {
		return onBoth[dir] && !c.objectChanged(tree, dir) && seen.SameRecord(dir, r)
	}
	if c.run, err = c.Plan(c.cmd, q); err != nil {
		return err
	}
	c.leaveOut(tree, seen)
	seen.Save()
	if c.before, err = c.run.Beside(ctx, engine.Side{Tree: tree, Dirs: c.names(was)}); err != nil {
		return err
	}
	c.ordered = true
	c.counterpart = func(file string) string {
		name, err := tree.Name(file)
		if err != nil {
			return ""
		}
		return tree.Shown() + name
	}
	return c.both()
}

// objectChanged reports whether a root is a GitOps object that differs in the revision.
func (c *comparison) objectChanged(tree *revision.Tree, root string) bool {
	_, changed := c.engine.GitOps(nil).Change(c.engine.GitOps(tree), root)
	return changed
}

// leaveOut marks the roots whose files are the same in the revision.
func (c *comparison) leaveOut(tree *revision.Tree, seen *oldside.Seen) {
	failed := map[string]bool{}
	for _, f := range c.run.Plan().Failed {
		failed[f.Dir] = true
	}
	for _, u := range c.units {
		if u.now == "" || u.was == "" || c.objectChanged(tree, u.now) {
			continue
		}
		known := c.run.Known(u.now)
		u.claimed = known.Claimed
		if known.Record != nil || seen.Same(c.run.Plan(), u.now) {
			if known.Record != nil {
				c.Log.Unchanged(u.now)
			}
			u.broken = failed[diag.Redact(u.now)]
			u.got = !u.broken && !u.claimed
		}
	}
}

// pair creates one unit per root, for roots on either side.
func (c *comparison) pair(roots render.Roots, tree *revision.Tree, names []string) error {
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}
	for _, root := range roots {
		u := &unit{name: root.Dir, now: root.Dir}
		name, err := c.engine.GitOps(nil).NameIn(tree, root.Dir)
		if err != nil {
			return err
		}
		if root.Kind != "" {
			if left[name] {
				u.was = name
				delete(left, name)
			}
			c.units = append(c.units, u)
			continue
		}
		if err := oldside.Askable(tree, root.Dir, name); err != nil {
			if err := c.fail(err); err != nil {
				return err
			}
			c.units = append(c.units, &unit{name: root.Dir})
			continue
		}
		if left[name] {
			u.was = name
			delete(left, name)
		}
		if _, err := os.Stat(root.Dir); err != nil && u.was != "" {
			u.now = "" // deleted
		} else if !c.Recursive && u.was != "" { // the directory may exist on a side on which it is not a root
			now, was := isLayer(os.Stat, root.Dir), isLayer(tree.Stat, name)
			switch {
			case was && !now:
				u.now = ""
			case now && !was:
				u.was = ""
			}
		}
		c.units = append(c.units, u)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		shown := filepath.Join(tree.Top(), filepath.FromSlash(name))
		if c.engine.GitOps(tree).Has(name) {
			shown = name
		} else if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, shown); err == nil {
				shown = rel
			}
		}
		c.units = append(c.units, &unit{name: shown, was: name})
	}
	return nil
}

// withOutput compares with earlier output.
func (c *comparison) withOutput(args []string) error {
	base := output.Base(c.against)
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	roots, _, err := c.Find(c.cmd, engine.Search{Args: args, Base: base})
	if err != nil {
		return err
	}
	old, err := oldside.Open(c.against, roots.Outs())
	if err != nil {
		return err
	}
	found := map[string]render.Root{}
	outs := map[string]bool{}
	for _, root := range roots {
		u := &unit{name: root.Dir, now: root.Dir}
		if old.Has(root.Out) {
			u.was = root.Out
		}
		found[root.Dir], outs[root.Out] = root, true
		c.units = append(c.units, u)
	}
	if c.Recursive && !c.Filtered() || old.File {
		outOf := func(r render.Root) (string, error) { return r.Out, nil }
		for _, out := range c.engine.Split().OldSide(old.Roots(), outOf) {
			if !outs[out] && oldside.Asked(base, args, out) {
				c.units = append(c.units, &unit{name: filepath.Join(c.against, filepath.FromSlash(out)), was: out})
			}
		}
	}
	q := engine.Request{Dirs: c.names(now), Reuse: func(dir string, r *records.Record) bool { return old.Same(c.engine, found[dir], r) }}
	if c.run, err = c.Plan(c.cmd, q); err != nil {
		return err
	}
	compare := func(u *unit, list *krm.List) {
		if u.old, u.err = old.List(u.was); u.err == nil {
			c.compare(u, list)
		}
	}
	for _, u := range c.units {
		if u.now == "" {
			compare(u, nil)
		} else if c.run.Known(u.now).Record != nil {
			c.Log.Unchanged(u.now)
			u.got = true
		}
	}
	err = c.make(c.run, now, compare)
	for _, u := range c.units {
		err = errors.Join(err, c.fail(u.err))
	}
	return err
}

// now and was return the name of a unit on one side, "" if it is absent there.
func now(u *unit) string { return u.now }
func was(u *unit) string { return u.was }

// names returns the names on one side of the units that still have to be compared.
func (c *comparison) names(side func(*unit) string) []string {
	names := []string{}
	for _, u := range c.units {
		if name := side(u); name != "" && !u.got && !u.broken {
			names = append(names, name)
		}
	}
	return names
}

// both runs the plans of both sides, the old one first, and compares each root once both of its
// lists exist.
func (c *comparison) both() error {
	if err := c.fail(c.before.Plan().Err()); err != nil {
		return err
	}
	if err := c.fail(c.run.Plan().Err()); err != nil {
		return err
	}
	err := c.make(c.before, was, func(u *unit, list *krm.List) { u.old = list })
	for _, u := range c.units {
		if u.was != "" && u.now == "" && u.old != nil {
			c.compare(u, nil)
		}
	}
	if err != nil {
		return err
	}
	return c.make(c.run, now, func(u *unit, list *krm.List) {
		if u.was == "" || u.old != nil {
			c.compare(u, list)
		}
	})
}

// make renders the roots of a side that still have to be compared, and passes their lists to
// take, concurrently.
func (c *comparison) make(run *engine.Run, side func(*unit) string, take func(*unit, *krm.List)) error {
	by := map[string]*unit{}
	for _, u := range c.units {
		if name := side(u); name != "" && !u.got && !u.broken {
			by[diag.Redact(name)] = u
		}
	}
	secrets := &history.Secrets{}
	hooks := engine.Hooks{
		Only:   func(dir string) bool { return by[dir] != nil },
		Seen:   secrets.Seen,
		Silent: run == c.before, // nobody can fix the warnings of the old side
	}
	hooks.Root = func(root graph.Root, list *krm.List) {
		u := by[root.Dir]
		u.secrets = append(u.secrets, func(s *secret.Set) { secrets.Add(s, run.Plan().Graph, root) })
		take(u, list)
	}
	var failed error
	for _, err := range run.Results(c.cmd.Context(), hooks) {
		failed = errors.Join(failed, err)
	}
	return c.fail(failed)
}

// compare compares the lists of a root.
func (c *comparison) compare(u *unit, list *krm.List) {
	u.compare(list, c.rules)
	if !c.ordered {
		u.root.Changes.Reordered = nil
	}
	if u.root.Changes.Any() {
		c.explain(u)
	}
}

func (u *unit) compare(list *krm.List, rules *validation.Updates) {
	hide := secret.NewSet(func(s *secret.Set) {
		u.old.AddSecrets(s)
		list.AddSecrets(s)
		for _, add := range u.secrets {
			add(s)
		}
	})
	u.root = Root{Name: u.name, OnlyOld: u.now == "", OnlyNew: u.was == "", Changes: diff.ListsWithMoves(u.old, list, hide)}
	rules.Add(diag.Redact(u.now), u.old, list, u.root.Changes, hide)
	u.old, u.secrets, u.got = nil, nil, true
}
