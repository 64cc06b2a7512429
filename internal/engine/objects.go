package engine

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/search"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/roots"
	"github.com/krmflow/krmflow/reference"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// objects are the roots that are GitOps objects, by name. here has the objects in the files of this
// machine, and there has the objects of each revision.
type objects struct {
	here  Objects
	there map[*revision.Tree]Objects
}

// withObjects returns a selection that also finds GitOps objects in tree. A nil tree means the
// files of this machine. warn reports likely mistakes in objects; it may be nil.
func (e *Engine) withObjects(s roots.Selection, tree *revision.Tree, warn func(*diag.Error)) roots.Selection {
	if tree == nil {
		s.Dirs = &e.places
	}
	o := e.o.GitOps
	if o.Mode == search.None || o.Mode == "" {
		return s
	}
	o.Jobs, o.Warn = s.Jobs, warn
	o.Charts = e.o.Plan.Functions.Policy.Helm
	if tree != nil {
		o.FS, o.Top, o.Prefix = tree, tree.Top(), tree.Shown()
	}
	s.Objects = func(ctx context.Context, files []roots.File, layers func() ([]roots.Layer, error)) ([]roots.Object, []roots.Skipped,
		error) {
		o.Layers, o.Render = layers, func(ctx context.Context, names []string, objects map[string]*gitops.Root) (map[string]*krm.List,
			error) {
			return e.renderObjects(ctx, tree, names, objects)
		}
		list := make([]search.File, len(files))
		for i, f := range files {
			list[i] = search.File{Name: f.Path, Tree: f.Top, Rel: f.Rel, Traits: f.Traits}
		}
		found, err := search.Find(ctx, list, o)
		if err != nil {
			return nil, nil, err
		}
		if tree == nil {
			e.objects.here = found.Roots
			if w := e.host.Watch; w != nil {
				w.gitops = found.Roots // for the next round, which has a different engine
			}
		} else {
			if e.objects.there == nil {
				e.objects.there = map[*revision.Tree]Objects{}
			}
			e.objects.there[tree] = found.Roots
		}
		var all []roots.Object
		for _, name := range found.Names {
			r := found.Roots[name]
			object := roots.Object{Name: name, File: strings.TrimPrefix(r.Object.Place().Origin().File, o.Prefix),
				Key: search.Digest(r).String()}
			for _, p := range r.Parts {
				object.Dirs = append(object.Dirs, p.Dir)
			}
			all = append(all, object)
		}
		return all, found.Skipped, nil
	}
	return s
}

// warn prints a warning about an object.
func (e *Engine) warn(w *diag.Error) { e.host.Log.Warn(planner.WarningOf(w)) }

// renderObjects renders roots without functions, to find objects in the output. The result lacks
// roots that cannot be rendered.
func (e *Engine) renderObjects(ctx context.Context, tree *revision.Tree, names []string,
	objects map[string]*gitops.Root) (map[string]*krm.List, error) {
	sources := e.o.Sources
	o := render.Options{Dirs: names, Plan: e.o.Plan, Sources: &sources}
	o.Plan.Objects = objects
	o.Plan.Fetch = func(string, reference.Use, remote.Origin) (*remote.Content, error) {
		return nil, diag.Offline.Errorf("the search for objects fetches nothing")
	}
	if tree != nil {
		o.Plan.FS, o.Plan.FSName = tree, tree.Shown()
	}
	plan, err := render.Compile(ctx, o)
	if err != nil {
		return nil, err
	}
	lists := map[string]*krm.List{}
	var mu sync.Mutex
	scheduler.Run(ctx, plan.Graph, scheduler.Options{Pure: true, KeepGoing: true, Jobs: e.o.Jobs,
		Root: func(at graph.Root, list *krm.List) error {
			mu.Lock()
			defer mu.Unlock()
			lists[at.Dir] = list
			return nil
		}})
	return lists, context.Cause(ctx)
}

// mayBeObject reports whether an argument has the form of the name of a GitOps object. An absolute
// path, a path that starts with ./ or ../ and a remote reference always name a directory.
func mayBeObject(arg string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(arg), "/")
	if filepath.IsAbs(arg) || first == "." || first == ".." || loaders.IsRemote(arg) {
		return false
	}
	return slices.ContainsFunc(search.Kinds, func(kind string) bool { return strings.Contains("/"+arg, "/"+kind+"/") })
}

// layerNames are the names of files that make a directory a layer.
var layerNames = slices.Concat(layerfile.Names, layerfile.CompositionNames)

// isLayer reports whether a path is a directory with a file that makes it a layer.
func isLayer(path string) bool {
	return slices.ContainsFunc(layerNames, func(name string) bool {
		_, err := os.Lstat(filepath.Join(path, name))
		return err == nil
	})
}

// findNamed searches the working directory if args contain names of unknown GitOps objects. A name
// without an object is an error. Warnings about objects that args do not name are not printed: the
// search also runs for a directory such as overlays/Application/prod.
func (e *Engine) findNamed(ctx context.Context, args []string) error {
	if !slices.ContainsFunc(args, func(arg string) bool { return e.objects.here[arg] == nil && mayBeObject(arg) }) {
		return nil
	}
	s := e.o.Selection
	e.o.GitOps.Mode = search.All
	var warnings []*diag.Error
	_, err := e.withObjects(roots.Selection{Jobs: s.Jobs, Hidden: s.Hidden}, nil, func(w *diag.Error) {
		warnings = append(warnings, w)
	}).Find(ctx, []string{"."})
	objects := e.objects.here
	missing := func(arg string) bool {
		_, err := os.Lstat(arg)
		return err != nil && mayBeObject(arg) && objects[arg] == nil
	}
	failed := err != nil && diag.CodeOf(err) != diag.NoRoots || slices.ContainsFunc(args, missing)
	for _, w := range warnings {
		if failed || slices.ContainsFunc(args, func(arg string) bool { return objects.Has(arg) && search.Contains(objects[arg], w.Pos) }) {
			e.warn(w)
		}
	}
	if err != nil && diag.CodeOf(err) != diag.NoRoots {
		return err
	}
	for _, arg := range args {
		if o := objects[arg]; o != nil && isLayer(arg) {
			return sameName(o, arg, arg, "to name the directory, write ./"+diag.ShellWord(arg))
		}
		if missing(arg) {
			if err := objects.ambiguous(arg, "below the working directory"); err != nil {
				return err
			}
			e := diag.AsError(diag.NoRoots.Errorf("there is no object %s in the files below the working directory", diag.Redact(arg)))
			e.Hints = diag.DidYouMean(arg, slices.Sorted(maps.Keys(objects)))
			return e
		}
	}
	return nil
}

// ambiguous returns an error if several objects have a name. It does not have the code NoRoots,
// because callers take that code to mean that the object was removed.
func (o Objects) ambiguous(name, where string) error {
	several := slices.DeleteFunc(slices.Sorted(maps.Keys(o)), func(root string) bool { return !strings.HasSuffix(root, "/"+name) })
	if len(several) == 0 {
		return nil
	}
	e := diag.AsError(diag.BadValue.Errorf("there is no object %s in the files %s", diag.Redact(name), where))
	return e.Hint("several objects have this name: write %s", strings.Join(several, " or "))
}

// namedIn returns the names among args that GitOps objects have in a revision of the working
// directory.
func (e *Engine) namedIn(ctx context.Context, tree *revision.Tree, args []string) (names []string, err error) {
	if !slices.ContainsFunc(args, mayBeObject) {
		return nil, nil
	}
	dir, err := tree.Name(".")
	if err != nil {
		return nil, err
	}
	e.o.GitOps.Mode = search.All
	s := e.withObjects(roots.Selection{Jobs: e.o.Selection.Jobs, Hidden: e.o.Selection.Hidden, FS: tree}, tree, nil)
	if _, err = s.Find(ctx, []string{dir}); err != nil && diag.CodeOf(err) != diag.NoRoots {
		return nil, err
	}
	for _, arg := range args {
		switch objects := e.objects.there[tree]; {
		case slices.Contains(names, arg) || !mayBeObject(arg):
		case objects.Has(arg):
			names = append(names, arg)
		default:
			if err := objects.ambiguous(arg, "of "+strings.TrimSuffix(tree.Shown(), ":")); err != nil {
				return nil, err
			}
		}
	}
	return names, e.distinctIn(tree, names, "to name the directory, write ./NAME")
}

// distinctIn returns an error if one of names is both an object and a directory in a revision.
func (e *Engine) distinctIn(tree *revision.Tree, names []string, hint string) error {
	objects := e.objects.there[tree]
	wd, err := tree.Name(".")
	if err != nil {
		wd = "."
	}
	for _, name := range names {
		if !objects.Has(name) {
			continue
		}
		for _, dir := range []string{name, path.Join(wd, name)} {
			if slices.ContainsFunc(layerNames, func(file string) bool {
				_, err := tree.Stat(path.Join(dir, file))
				return err == nil
			}) {
				return sameName(objects[name], name, tree.Shown()+dir, hint)
			}
		}
	}
	return nil
}

// place returns the output folders of roots. The folder of a GitOps object has the name of the
// object. It is an error if an object has the name or the output folder of a directory.
func (e *Engine) place(names []string, base string) (render.Roots, error) {
	if len(e.objects.here) == 0 {
		return render.PlaceIn(&e.places, names, base)
	}
	var dirs []string
	var objects render.Roots
	seen := map[string]bool{}
	for _, name := range names {
		switch o := e.objects.here[name]; {
		case o == nil:
			dirs = append(dirs, name)
		case isLayer(name):
			return nil, sameName(o, name, name, onlyDirectories)
		case !seen[name]:
			seen[name] = true
			objects = append(objects, render.Root{Dir: name, Out: name, Kind: o.Object.Kind})
		}
	}
	placed, err := render.PlaceIn(&e.places, dirs, base)
	if err != nil {
		return nil, err
	}
	for _, r := range placed {
		if seen[r.Out] {
			return nil, sameName(e.objects.here[r.Out], r.Out, r.Dir, onlyDirectories)
		}
	}
	placed = append(placed, objects...)
	slices.SortStableFunc(placed, func(a, b render.Root) int { return strings.Compare(a.Dir, b.Dir) })
	return e.objects.here.inOrder(placed), nil
}

// sameName returns the error for an object with the name of a directory: reports and output folders
// could not distinguish them.
func sameName(o *gitops.Root, name, dir, hint string) error {
	return o.Object.Errorf([]any{"metadata", "name"}, "the object %s and the directory %s are roots with the same name", name, dir).
		With(diag.OutputRefused).Hint("%s", hint)
}

const onlyDirectories = "rename the directory, or render directories only: --gitops none"

// inOrder moves the roots that others depend on before these. Otherwise the order remains.
func (o Objects) inOrder(list render.Roots) render.Roots {
	number := make(map[string]int, len(list))
	for i, r := range list {
		number[r.Dir] = i
	}
	sorted, done := make(render.Roots, 0, len(list)), map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		for _, before := range o[name].After() {
			visit(before) // even if it is not in the list: it can depend on others that are
		}
		if i, ok := number[name]; ok {
			sorted = append(sorted, list[i])
		}
	}
	for _, r := range list {
		if o.Has(r.Dir) {
			visit(r.Dir)
		} else {
			sorted = append(sorted, r)
		}
	}
	return sorted
}

// directories returns the directories of roots: for a GitOps object, the local directories of its
// parts.
func (e *Engine) directories(names []string) []string {
	if len(e.objects.here) == 0 {
		return names
	}
	var dirs []string
	for _, name := range names {
		o := e.objects.here[name]
		if o == nil {
			dirs = append(dirs, name)
			continue
		}
		for _, p := range o.Parts {
			if filepath.IsAbs(p.Dir) && !slices.Contains(dirs, p.Dir) {
				dirs = append(dirs, p.Dir)
			}
		}
	}
	return dirs
}

// named returns the roots that are directories, not GitOps objects.
func (e *Engine) named(names []string) []string {
	if len(e.objects.here) == 0 {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return e.objects.here[name] != nil })
}

// Objects are GitOps objects, by the names of their roots.
type Objects map[string]*gitops.Root

// GitOps returns the GitOps objects from the last [Engine.Find] in a revision. A nil tree means the
// files of this machine.
func (e *Engine) GitOps(tree *revision.Tree) Objects {
	if tree == nil {
		return e.objects.here
	}
	return e.objects.there[tree]
}

// Has reports whether a root is a GitOps object.
func (o Objects) Has(root string) bool { return o[root] != nil }

// Files returns the sorted paths of the files that determine a GitOps object. It returns nil for a
// directory.
func (o Objects) Files(root string) (files []string) {
	r := o[root]
	if r == nil {
		return nil
	}
	for _, src := range r.Sources() {
		files = append(files, src.File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// NameIn returns the name of a root in a revision: for a directory its path in the revision, for a
// GitOps object its name.
func (o Objects) NameIn(tree *revision.Tree, root string) (string, error) {
	if o.Has(root) {
		return root, nil
	}
	return tree.Name(root)
}

// Change reports whether a GitOps object, or another object or file that determines it, differs
// from was. It also returns the file of the object. For a directory, it returns false.
func (o Objects) Change(was Objects, root string) (file string, changed bool) {
	r := o[root]
	if r == nil {
		return "", false
	}
	old := was[root]
	return r.Object.Place().Origin().File, old == nil || search.Content(old) != search.Content(r)
}

// recordPath returns the key for records of a root: the absolute path of a directory, or the name
// and digest of a GitOps object. It returns "" if the working directory was removed.
func (e *Engine) recordPath(name, cwd string) string {
	if o := e.objects.here[name]; o != nil {
		return "object " + name + " " + search.Digest(o).String()
	}
	return absolute(name, cwd)
}
