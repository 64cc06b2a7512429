// Follows api/internal/accumulator/refvartransformer.go,
// api/internal/accumulator/resaccumulator.go, api/types/var.go.

package builtins

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Var is the value of a field of one resource. It replaces $(Name) in the fields listed in the
// varReference configuration.
type Var struct {
	Name     string      `json:"name"`
	ObjRef   VarObject   `json:"objref"`
	FieldRef VarFieldRef `json:"fieldref,omitempty"`
	// Pos is the position of the definition, for messages.
	Pos diag.Pos `json:"-"`
}

// A VarObject identifies the source of a var by the current or a previous name of the resource.
// An empty namespace matches any namespace.
type VarObject struct {
	// APIVersion takes precedence over Group and Version.
	APIVersion string `json:"apiVersion,omitempty"`
	Group      string `json:"group,omitempty"`
	Version    string `json:"version,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
}

// A VarFieldRef names the source field of a var.
type VarFieldRef struct {
	// FieldPath is a path such as spec.ports[0].port or spec.containers.[name=x].image. The
	// default is metadata.name.
	FieldPath string `json:"fieldPath,omitempty"`
}

// ID returns the identity in o. It ignores an apiVersion with more than one slash.
func (o VarObject) ID() krm.ID {
	group, version, slash := strings.Cut(o.APIVersion, "/")
	switch {
	case o.APIVersion == "" || strings.Contains(version, "/"):
		group, version = o.Group, o.Version
	case !slash:
		group, version = o.Group, o.APIVersion
	}
	return krm.ID{GVK: krm.GVK{Group: group, Version: version, Kind: o.Kind}, Name: o.Name, Namespace: o.Namespace}
}

func (f VarFieldRef) path() string { return cmp.Or(f.FieldPath, "metadata.name") }

// A VarSet is a list of vars with distinct names, sorted by name. Like [FieldSpecs], it is
// immutable and shared.
type VarSet []Var

// Merge returns s with others added. Two vars with the same name are an error, even if they are
// equal.
func (s VarSet) Merge(others []Var) (VarSet, error) {
	if len(others) == 0 {
		return s, nil
	}
	merged := slices.Concat(s, others)
	slices.SortStableFunc(merged, func(a, b Var) int { return cmp.Compare(a.Name, b.Name) })
	var errs []error
	for i := 1; i < len(merged); i++ {
		if merged[i].Name == merged[i-1].Name {
			errs = append(errs, diag.Errorf(merged[i].Pos, "", "var %q is defined twice",
				merged[i].Name).With(diag.VarTwice).Hint("the other one is at %s: rename or remove one", merged[i-1].Pos))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return merged, nil
}

// RecordVars records in the resources of list the names of the vars that take their value from
// them. It leaves a var that matches no resource to the layers above. It fails if a var matches
// several resources.
func RecordVars(list *krm.List, vars []Var) error {
	if len(vars) == 0 {
		return nil
	}
	anywhere := matchesByName(list, vars)
	for _, v := range vars {
		id := v.ObjRef.ID()
		found := anywhere[id]
		if id.Namespace != "" {
			found = list.FindAny(id)
		}
		switch len(found) {
		case 0:
		case 1:
			r := list.At(found[0]).Copy()
			r.RefVars = append(r.RefVars, v.Name)
			list.Set(found[0], r)
		default:
			err := diag.Errorf(v.Pos, "", "var %q matches %d resources", v.Name, len(found)).With(diag.VarSource)
			for _, i := range found {
				err.Hint("%s", list.At(i).ID())
			}
			return err.Hint("set the namespace of the intended resource in its objref")
		}
	}
	return nil
}

// matchesByName returns, for each var without a namespace, the positions of the resources with
// its kind and its name, current or previous.
func matchesByName(list *krm.List, vars []Var) map[krm.ID][]int {
	found := map[krm.ID][]int{}
	for _, v := range vars {
		if id := v.ObjRef.ID(); id.Namespace == "" {
			found[id] = nil
		}
	}
	if len(found) == 0 {
		return found
	}
	note := func(id krm.ID, i int) {
		id.Namespace, id.Cluster = "", false
		if at, wanted := found[id]; wanted && (len(at) == 0 || at[len(at)-1] != i) {
			found[id] = append(at, i)
		}
	}
	for i, r := range list.All() {
		note(r.ID(), i)
		for p := range r.Prev {
			note(r.PrevID(p), i)
		}
	}
	return found
}

// ResolveVars replaces $(NAME) in the fields at specs by the values of vars, whose sources
// [RecordVars] has recorded. A field that consists only of $(NAME) also gets the type of the
// value. $$ is an escaped $.
func ResolveVars(list *krm.List, vars VarSet, specs *FieldSpecs, warn Warn) error {
	if len(vars) == 0 {
		return nil
	}
	e := expander{values: make(map[string]*varValue, len(vars)), warn: warn}
	if err := e.lookUp(list, vars); err != nil {
		return err
	}
	for i, r := range list.All() {
		e.added, e.taken = 0, nil
		v, err := specs.edit(r.Value(), r.ID().GVK, yaml.None, e.edit)
		if e.added > yaml.MaxResource {
			err = errTooLarge()
		}
		if err != nil {
			return diag.Errorf(r.Pos, "", "replacing vars in %s: %w", r.ID(), err).With(diag.VarSource)
		}
		if !v.Same(r.Value()) {
			r = r.Copy()
			r.SetValue(v)
			r.Taken = append(r.Taken, e.taken...)
			list.Set(i, r)
		}
	}
	e.warnUnused(list, vars)
	return nil
}

// warnUnused warns about the vars that replace nothing although a text of the list has their name
// or a similar one. Without such a text, the var of a base is usually meant for its overlays.
func (e *expander) warnUnused(list *krm.List, vars VarSet) {
	var left map[string]krm.ID // objects with $(NAME), by name
	var names []string
	for _, v := range vars {
		if e.values[v.Name].used {
			continue
		}
		if left == nil {
			left = leftVars(list)
			names = slices.Sorted(maps.Keys(left))
		}
		err := diag.Errorf(v.Pos, "", "var %q is not used", v.Name)
		if in, ok := left[v.Name]; ok {
			err.Hint("%s %s has $(%s) in a field without vars: list the field in varReference of a configuration", in.Kind, in.Name, v.Name)
		} else if name := diag.Nearest(v.Name, names); name != "" {
			err.Hint("%s %s has $(%s): did you mean $(%s)?", left[name].Kind, left[name].Name, name, v.Name)
		} else {
			continue
		}
		e.warn(diag.UnusedVar, "%w", err)
	}
}

// leftVars returns the names of $(NAME) in all texts of a list, with the first object of each.
func leftVars(list *krm.List) map[string]krm.ID {
	left := map[string]krm.ID{}
	for _, r := range list.All() {
		var walk func(v yaml.Value)
		walk = func(v yaml.Value) {
			for _, f := range v.Fields() {
				walk(f.Value)
			}
			for _, item := range v.Items() {
				walk(item)
			}
			if v.Type() != yaml.String {
				return
			}
			for _, part := range strings.Split(v.Text(), "$(")[1:] {
				name, _, ok := strings.Cut(part, ")")
				if _, known := left[name]; ok && !known {
					left[name] = r.ID()
				}
			}
		}
		walk(r.Value())
	}
	return left
}

// namesOf returns the names of the resources of a kind.
func namesOf(kind string, list *krm.List) []string {
	var names []string
	for _, r := range list.All() {
		if id := r.ID(); id.Kind == kind {
			names = append(names, id.Name)
		}
	}
	return names
}

// lookUp finds the values of vars. The source of a var is the first resource in list for which
// the var was recorded.
func (e *expander) lookUp(list *krm.List, vars VarSet) error {
	sources := map[string]*krm.Resource{}
	for _, r := range list.All() {
		for _, name := range r.RefVars {
			if sources[name] == nil {
				sources[name] = r
			}
		}
	}
	for _, v := range vars {
		r := sources[v.Name]
		if r == nil {
			err := diag.Errorf(v.Pos, "", "var %q: resource %s not found", v.Name, v.ObjRef.ID()).With(diag.VarSource)
			if err.Hints = diag.DidYouMean(v.ObjRef.Name, namesOf(v.ObjRef.Kind, list)); err.Hints == nil {
				err.Hint("its objref must have the apiVersion, kind and name of a resource, or an earlier name")
			}
			return err
		}
		value, err := newVarValue(r.Value(), v.FieldRef.path())
		if err != nil {
			return diag.Errorf(v.Pos, "", "var %q: field %q of %s: %w", v.Name, v.FieldRef.path(), r.ID(), err).With(diag.VarSource)
		}
		if value.taken = takenFrom(r, varPath(v.FieldRef.path()), value.value); value.taken != nil {
			// A large number has a different form within a text.
			value.taken = append(value.taken, value.text)
		}
		e.values[v.Name] = value
	}
	return nil
}
