package search

import (
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
)

// order resolves the dependencies of all roots. It reports a missing dependency with warn, which
// may be nil, and fails the roots of a cycle, because a controller never applies them.
func (f *Found) order(env *gitops.Env, warn func(*diag.Error)) {
	names := map[*gitops.Object]string{}
	rendered := &gitops.Env{} // the roots that replace objects in files
	for _, name := range f.Names {
		o := f.Roots[name].Object
		if names[o] = name; o.By != "" {
			rendered.Add(o)
		}
	}
	for _, name := range f.Names {
		r := f.Roots[name]
		for i := range r.DependsOn {
			d := &r.DependsOn[i]
			found := env.Find(r.Object, d.Group, d.Kind, d.Namespace, d.Name)
			d.Root = names[found]
			switch o := rendered.Find(r.Object, d.Group, d.Kind, d.Namespace, d.Name); {
			case found == nil && warn != nil:
				e := r.Object.Errorf(d.At.At, "%s %s is not in the searched directories", d.Kind, path.Join(d.Namespace, d.Name))
				warn(e.With(diag.NoSuchFile).Hint("search the directory that declares it, or correct the name: "+
					"Flux does not apply %s %s without it", r.Object.Kind, path.Join(r.Object.Namespace, r.Object.Name)))
			case d.Root == "" && o != nil:
				d.Root = names[o]
			}
		}
	}
	f.cycles()
}

// cycles fails the roots that depend on themselves.
func (f *Found) cycles() {
	var stack []string
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if i := slices.Index(stack, name); i >= 0 {
			f.fail(stack[i:])
		}
		if done[name] {
			return
		}
		done[name] = true
		stack = append(stack, name)
		for _, on := range f.Roots[name].After() {
			visit(on)
		}
		stack = stack[:len(stack)-1]
	}
	for _, name := range f.Names {
		visit(name)
	}
}

// fail records an error in the roots of a cycle. Each one depends on the next.
func (f *Found) fail(cycle []string) {
	var places []diag.Pos
	for i, name := range cycle {
		list := f.Roots[name].DependsOn
		next := slices.IndexFunc(list, func(d gitops.Dependency) bool { return d.Root == cycle[(i+1)%len(cycle)] })
		places = append(places, list[next].At.Pos())
	}
	err := diag.Errorf(places[0], "spec.dependsOn", "cycle: %s", strings.Join(append(slices.Clone(cycle), cycle[0]), " -> "))
	err.With(diag.Cycle).Hint("Flux applies none of these objects: remove one of the dependencies")
	for i := 1; i < len(cycle); i++ {
		err.Hint("%s: %s depends on %s", places[i], cycle[i], cycle[(i+1)%len(cycle)])
	}
	for _, name := range cycle {
		f.Roots[name].Errs = append(f.Roots[name].Errs, err)
	}
}
