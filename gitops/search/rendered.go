package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/roots"
)

// Objects are often not applied as written in a file: a Kustomization or an object of a controller
// renders them, with changes. The search then uses the rendered objects. To find them, it renders
// roots that lead to files with objects, without functions:
//
//   - an object whose directory contains or uses such a file,
//   - a directory that no other layer uses and no object renders.
//
// If a layer lists the file of an object, the object in the file is not a root. Otherwise, a
// changed object in the output of a root replaces the object in the file.

// maxDepth limits the nesting of objects in the output of other objects. A chain that never ends is
// possible: an object that renders itself with a different name.
const maxDepth = 10

// closure collects the roots of objects in files and in the output of other roots.
type closure struct {
	*search
	env    *gitops.Env
	layers map[string]*roots.Layer // by real path
	marked map[string]bool         // real paths of files with objects
	reach  map[string]bool         // layers that lead to marked files; see reaches
	listed map[string]bool         // files that layers list
	// files are the sorted keys of marked, and dirs the sorted keys of layers.
	files, dirs []string

	roots    []*gitops.Root
	known    map[string]bool           // objects that have a root, by keyOf
	wanted   map[*gitops.Object]bool   // objects in files that no layer lists
	replaced map[*gitops.Object]bool   // wanted objects that a root renders with changes
	rendered map[string]bool           // real paths of rendered directories
	origin   map[*gitops.Object]string // the directory whose output led to an object
	written  map[string]*gitops.Object // objects in files, by writtenKey
	deep     []*gitops.Object          // nested deeper than maxDepth
}

// writtenKey identifies an object in a file.
func writtenKey(file, kind, name string) string { return file + "//" + kind + "/" + name }

// collect returns the roots of all objects.
func (s *search) collect(ctx context.Context, env *gitops.Env, files []File) ([]*gitops.Root, error) {
	c := &closure{search: s, env: env, layers: map[string]*roots.Layer{}, marked: map[string]bool{}, reach: map[string]bool{},
		listed: map[string]bool{}, known: map[string]bool{}, wanted: map[*gitops.Object]bool{}, replaced: map[*gitops.Object]bool{},
		rendered: map[string]bool{},
		written:  map[string]*gitops.Object{}, origin: map[*gitops.Object]string{}}
	layers, err := s.Layers()
	if err != nil {
		return nil, err
	}
	for i := range layers {
		c.layers[layers[i].Real] = &layers[i]
		for _, used := range layers[i].Uses {
			c.listed[used] = true
		}
	}
	real := map[string]string{}
	for _, f := range files {
		real[s.Prefix+f.Name] = filepath.Join(f.Tree, filepath.FromSlash(f.Rel))
	}
	var wanted []*gitops.Object
	for _, o := range env.Objects {
		c.written[writtenKey(o.Source.File, o.Kind, o.Name)] = o
		if !isController(o) {
			continue
		}
		file := real[o.Source.File]
		c.marked[file] = true
		if !c.listed[file] {
			wanted, c.wanted[o] = append(wanted, o), true
		}
	}
	c.files, c.dirs = slices.Sorted(maps.Keys(c.marked)), slices.Sorted(maps.Keys(c.layers))
	if err := c.add(ctx, wanted); err != nil {
		return nil, err
	}
	dirs := map[string]*roots.Layer{}
	var names []string
	for i := range layers {
		if l := &layers[i]; l.Root && !l.Used && !c.rendered[l.Real] && c.reaches(l.Real, 0) {
			dirs[l.Dir], names = l, append(names, l.Dir)
		}
	}
	if len(names) > 0 {
		lists, err := s.Render(ctx, names, nil)
		if err != nil {
			return nil, err
		}
		var objects []*gitops.Object
		for _, dir := range names {
			objects = append(objects, c.objectsIn(lists[dir], dir, path.Clean(dirs[dir].Rel), nil)...)
		}
		if err := c.add(ctx, objects); err != nil {
			return nil, err
		}
	}
	// If an object also renders a directory, the objects in the output of the directory would be
	// roots twice.
	again := func(r *gitops.Root) bool {
		l := dirs[c.origin[r.Object]]
		return l != nil && c.rendered[l.Real]
	}
	once := map[string]bool{}
	for _, r := range c.roots {
		once[nameOf(r.Object)] = once[nameOf(r.Object)] || !again(r)
	}
	list := slices.DeleteFunc(c.roots, func(r *gitops.Root) bool {
		if again(r) {
			key := nameOf(r.Object)
			if once[key] {
				return true
			}
			if key = contentOf(r.Object); once[key] {
				return true // rendered by several objects
			}
			once[key] = true
		}
		return c.replaced[r.Object] || slices.ContainsFunc(r.Uses, func(o *gitops.Object) bool {
			return o.Kind == "ApplicationSet" && c.replaced[o]
		})
	})
	c.warnDeep(list)
	return list, nil
}

// add adds the roots of objects, then the roots of the objects in their output, and so on.
func (c *closure) add(ctx context.Context, objects []*gitops.Object) error {
	for depth := 0; len(objects) > 0 && depth < maxDepth; depth++ {
		c.env.Wanted = objects
		list := c.rootsOf(c.env)
		objects = nil
		producers := map[string]*gitops.Root{}
		var names []string
		for _, r := range list {
			for _, o := range r.Uses {
				if o.Kind == "ApplicationSet" { // the ApplicationSet has generated the object
					r.Object.Near, r.Object.By, c.origin[r.Object] = o.Near, o.By, c.origin[o]
				}
			}
			key := keyOf(r.Object)
			if c.known[key] && r.Object.By != "" {
				continue
			}
			c.known[key] = true
			c.roots = append(c.roots, r)
			if len(r.Errs) == 0 && c.leads(r) {
				producers[key] = r
				names = append(names, key)
			}
		}
		if len(names) == 0 {
			return nil
		}
		lists, err := c.Render(ctx, names, producers)
		if err != nil {
			return err
		}
		for _, name := range names {
			r := producers[name]
			objects = append(objects, c.objectsIn(lists[name], name, r.Object.Near, r.Object)...)
		}
	}
	c.deep = append(c.deep, objects...)
	return nil
}

// warnDeep reports the objects that have no root because they are nested too deeply: one for each
// chain of objects.
func (c *closure) warnDeep(list []*gitops.Root) {
	found := map[string]bool{}
	for _, r := range list {
		found[contentOf(r.Object)] = true
	}
	for _, o := range c.deep {
		if !found[contentOf(o)] && c.Warn != nil {
			c.Warn(o.Errorf([]any{"metadata", "name"}, "%s is nested in the output of %d other objects, which is the limit: it is not rendered",
				nameOf(o), maxDepth).With(diag.Limit).Hint("if the nesting ends, search the directory that declares it"))
			found[contentOf(o)] = true // several chains can lead to it
		}
	}
}

// keyOf identifies an object with its place, and contentOf without it.
func keyOf(o *gitops.Object) string {
	return fmt.Sprintf("%s//%s//%s", o.Tree, o.Near, contentOf(o))
}

func contentOf(o *gitops.Object) string {
	return fmt.Sprintf("%s//%x", nameOf(o), krm.DigestOf(yaml.AppendJSON(nil, o.Value)))
}

// leads reports whether the directories of a root lead to files with objects. It marks the
// directories as rendered.
func (c *closure) leads(r *gitops.Root) (leads bool) {
	for _, p := range r.Parts {
		if p.Chart || p.Dir == "" {
			continue
		}
		c.use(p.Dir, 0)
		leads = leads || c.reaches(p.Dir, 0)
	}
	return leads
}

// use marks a directory, and the layers that it uses, as rendered.
func (c *closure) use(dir string, depth int) {
	if c.rendered[dir] || depth > maxUses {
		return
	}
	c.rendered[dir] = true
	if l := c.layers[dir]; l != nil {
		for _, used := range l.Uses {
			c.use(used, depth+1)
		}
		return
	}
	for _, other := range below(c.dirs, dir) { // a directory without a kustomization file uses the layers below it
		c.use(other, depth+1)
	}
}

// below returns the paths below a directory in a sorted list.
func below(paths []string, dir string) []string {
	dir += string(filepath.Separator)
	from, _ := slices.BinarySearch(paths, dir)
	to := from
	for to < len(paths) && strings.HasPrefix(paths[to], dir) {
		to++
	}
	return paths[from:to]
}

// maxUses limits the depth of layers.
const maxUses = 1000

// reaches reports whether a layer, or a directory without a kustomization file, leads to a file
// with objects.
func (c *closure) reaches(dir string, depth int) bool {
	if c.marked[dir] || roots.IsYAML(dir) {
		return c.marked[dir]
	}
	if known, ok := c.reach[dir]; ok || depth > maxUses {
		return known
	}
	c.reach[dir] = false // ends cycles
	found := false
	if l := c.layers[dir]; l != nil {
		for _, used := range l.Uses {
			found = found || c.reaches(used, depth+1)
		}
	} else {
		found = len(below(c.files, dir)) > 0
	}
	c.reach[dir] = found
	return found
}

// objectsIn adds the objects in the output of a root to env, and returns the objects of
// controllers.
func (c *closure) objectsIn(list *krm.List, by, near string, producer *gitops.Object) (objects []*gitops.Object) {
	if list == nil {
		return nil
	}
	for _, r := range list.All() {
		o := objectOf(r.Value())
		if o == nil {
			continue
		}
		file := c.written[writtenKey(r.Pos.File, o.Kind, r.OrigID().Name)]
		if c.wanted[file] {
			if o.Value.Equal(file.Value) {
				continue
			}
			c.replaced[file] = true
		}
		at := yaml.Place{Source: &yaml.Source{File: cmp.Or(r.Pos.File, by)}}
		switch {
		case file != nil:
			at = file.Place()
		case producer != nil:
			at = producer.Place()
		}
		o.By, o.Near, o.Tree, o.Source = by, near, c.tree, yaml.Assemble(by, o.Value, at)
		if producer != nil {
			o.Tree = producer.Tree
		}
		c.origin[o] = by
		if producer != nil {
			c.origin[o] = c.origin[producer]
		}
		c.env.Add(o)
		if isController(o) {
			objects = append(objects, o)
		}
	}
	return objects
}

// isController reports whether a controller renders resources for an object.
func isController(o *gitops.Object) bool {
	switch o.Kind {
	case "Application", "ApplicationSet":
		return o.Group == "argoproj.io"
	case "Kustomization":
		return o.Group == "kustomize.toolkit.fluxcd.io"
	case "HelmRelease":
		return o.Group == "helm.toolkit.fluxcd.io"
	}
	return false
}
