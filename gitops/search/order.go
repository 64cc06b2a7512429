package search

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/flux"
)

// A dependent is an object in the graph of dependencies.
type dependent struct {
	object *gitops.Object
	name   string
	root   *gitops.Root // nil if the object is left out
	on     []gitops.Dependency
	next   []*dependent // of on; nil for a missing object
	// before are the names of the roots that objects without a root lead to.
	before map[string]bool
	// number and low belong to Tarjan's algorithm for strongly connected components. number is 0
	// for an unvisited object. open reports that the object is on the stack.
	number, low int
	open        bool
}

// An orderer builds the graph of dependencies. Objects that are left out have an entry as well,
// because they pass on the order: if a depends on b and b on c, then c comes before a, even if b is
// left out.
type orderer struct {
	found    *Found
	env      *gitops.Env
	rendered *gitops.Env // the roots that replace objects in files
	all      map[*gitops.Object]*dependent
	stack    []*dependent
	visited  int
}

// order resolves the dependencies of all roots. It reports a missing dependency with warn, which
// may be nil, and fails the roots of a cycle, because a controller never applies them.
func (f *Found) order(env *gitops.Env, warn func(*diag.Error)) {
	s := &orderer{found: f, env: env, rendered: &gitops.Env{}, all: map[*gitops.Object]*dependent{}}
	var list []*dependent
	for _, name := range f.Names {
		r := f.Roots[name]
		d := &dependent{object: r.Object, name: name, root: r, on: r.DependsOn}
		s.all[r.Object] = d
		if list = append(list, d); r.Object.By != "" {
			s.rendered.Add(r.Object)
		}
	}
	for _, d := range list {
		s.visit(d)
		for i, next := range d.next {
			on := &d.on[i]
			switch {
			case next == nil && warn != nil:
				e := d.object.Errorf(on.At.At, "%s %s is not in the searched directories", on.Kind, path.Join(on.Namespace, on.Name))
				warn(e.With(diag.NoSuchFile).Hint("search the directory that declares it, or correct the name: "+
					"Flux does not apply %s %s without it", d.object.Kind, path.Join(d.object.Namespace, d.object.Name)))
			case next == nil:
			case next.root != nil:
				on.Roots = []string{next.name}
			default:
				on.Roots = slices.Sorted(maps.Keys(next.before))
			}
		}
	}
}

// of returns the entry of the object that a dependency of by names, or nil.
func (s *orderer) of(by *gitops.Object, on gitops.Dependency) *dependent {
	o := s.env.Find(by, on.Group, on.Kind, on.Namespace, on.Name)
	if d := s.all[o]; d != nil && d.root != nil {
		return d
	}
	if r := s.rendered.Find(by, on.Group, on.Kind, on.Namespace, on.Name); o != nil && r != nil {
		return s.all[r]
	}
	if o != nil && s.all[o] == nil {
		s.all[o] = &dependent{object: o, name: nameOf(o), on: flux.DependsOn(o)}
	}
	return s.all[o]
}

// visit resolves the dependencies of d and of the objects that it leads to, and fails the roots of
// cycles.
func (s *orderer) visit(d *dependent) {
	if d.number > 0 {
		return
	}
	s.visited++
	d.number, d.low, d.open = s.visited, s.visited, true
	from := len(s.stack)
	s.stack = append(s.stack, d)
	cyclic := false
	for _, on := range d.on {
		next := s.of(d.object, on)
		d.next = append(d.next, next)
		if next == nil {
			continue
		}
		s.visit(next)
		if next.open {
			d.low = min(d.low, next.low)
		}
		cyclic = cyclic || next == d
	}
	if d.low < d.number {
		return
	}
	component := slices.Clone(s.stack[from:])
	s.stack = s.stack[:from]
	before := map[string]bool{} // all members of a component lead to the same roots
	for _, m := range component {
		m.open, m.before = false, before
		if m.root != nil {
			continue
		}
		for _, next := range m.next {
			switch {
			case next == nil:
			case next.root != nil:
				before[next.name] = true
			case next.before != nil:
				maps.Copy(before, next.before)
			}
		}
	}
	if len(component) > 1 || cyclic {
		s.fail(component)
	}
}

// fail records an error in the roots of a strongly connected component.
func (s *orderer) fail(members []*dependent) {
	in := map[*dependent]bool{}
	for _, m := range members {
		in[m] = true
	}
	simple := true // each object depends on the next one only
	for i, m := range members {
		for _, next := range m.next {
			simple = simple && (!in[next] || next == members[(i+1)%len(members)])
		}
	}
	if !simple {
		slices.SortFunc(members, func(a, b *dependent) int { return strings.Compare(a.name, b.name) })
	}
	var names, hints []string
	var at []gitops.Dependency
	for _, m := range members {
		names = append(names, m.name)
		var on []string
		for i, next := range m.next {
			if in[next] && !slices.Contains(on, next.name) {
				if on = append(on, next.name); len(on) == 1 {
					at = append(at, m.on[i])
				}
			}
		}
		hints = append(hints, fmt.Sprintf("%s: %s depends on %s", at[len(at)-1].At.Pos(), m.name, strings.Join(on, ", ")))
	}
	message := "cycle: " + strings.Join(append(slices.Clone(names), names[0]), " -> ")
	if simple {
		hints = hints[1:]
	} else {
		message = "cycle: " + strings.Join(names, ", ") + " depend on one another"
	}
	err := diag.Errorf(at[0].At.Pos(), "spec.dependsOn", "%s", message)
	err.With(diag.Cycle).Hint("Flux applies none of these objects: remove one of the dependencies")
	for _, hint := range hints {
		err.Hint("%s", hint)
	}
	for _, m := range members {
		if m.root != nil {
			m.root.Errs = append(m.root.Errs, err)
		}
	}
}
