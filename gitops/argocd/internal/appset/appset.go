// Package appset generates the Applications of ApplicationSets.
package appset

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/appset/internal/gotemplate"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Set is the result of an ApplicationSet.
type Set struct {
	Applications []Application
	// Errs are the errors in the set. Generators without errors still have Applications.
	Errs []error
	// Uses and Files determine the result.
	Uses  []*gitops.Object
	Files []*yaml.Source
}

// An Application is a generated object.
type Application struct {
	Object *gitops.Object
	// Err is the reason why Argo CD would refuse the Application, or nil.
	Err error
	// Uses and Files are the objects and files that the generator used.
	Uses  []*gitops.Object
	Files []*yaml.Source
}

// Generate returns the Applications that the ApplicationSet o generates, in Argo CD's order.
func Generate(d *discovery.Discovery, o *gitops.Object) Set {
	var set applicationSet
	if errs := d.Decode(o.Value, o.Place(), &set); len(errs) > 0 {
		return Set{Errs: errs}
	}
	spec := set.Spec
	for i, option := range spec.GoTemplateOptions {
		if err := gotemplate.CheckOption(option); err != nil {
			e := diag.AsError(err)
			at := discovery.ErrorAt(o.Place("spec", "goTemplateOptions", i), "%s", e.Msg).With(e.Code)
			at.Hints = e.Hints
			return Set{Errs: []error{at}}
		}
	}
	var out Set
	all := node{o.Value, o.Place()}
	named := map[string][]int{}
	renderer := &gotemplate.Renderer{Golang: spec.GoTemplate, Options: spec.GoTemplateOptions}
	for i := range spec.Generators {
		g := &generation{Discovery: d, set: o, renderer: renderer}
		results, err := g.run(all.below("spec", "generators", i), 0, nil)
		if err != nil {
			out.Errs = append(out.Errs, err)
		}
		for _, r := range results {
			tmpl := g.template(all.below("spec", "template"), r.template)
			for _, p := range r.params {
				app, err := g.render(tmpl, p, spec.TemplatePatch)
				if err != nil {
					out.Errs = append(out.Errs, err)
					continue
				}
				named[app.Name] = append(named[app.Name], len(out.Applications))
				out.Applications = append(out.Applications, Application{Object: app, Uses: g.uses, Files: g.files})
			}
		}
		out.Uses, out.Files = append(out.Uses, g.uses...), append(out.Files, g.files...)
	}
	for name, indexes := range named {
		for _, i := range indexes {
			if len(indexes) > 1 {
				out.Applications[i].Err = out.Applications[i].Object.Errorf([]any{"metadata", "name"},
					"ApplicationSet %s generates %d Applications with the name %q", o.Name, len(indexes), name).With(diag.SameID)
			}
		}
	}
	return out
}

// template returns the template for a generator: base, the template of the set, changed by the
// non-empty fields of over, the template of the generator.
func (g *generation) template(base, over node) node {
	if over.value.Len() == 0 {
		return base
	}
	f := filler{at: over.at}
	v := f.fill(over.value, base.value, nil)
	places := append([]yaml.Place{discovery.RootPlace(base.at)}, f.places...)
	return node{v, yaml.Place{Source: yaml.Assemble(g.set.Source.File, v, places...)}}
}

// render returns the Application for a set of parameters.
func (g *generation) render(tmpl node, p *params, patch string) (*gitops.Object, error) {
	v, places := tmpl.value, []yaml.Place(nil)
	if len(p.values) > 0 { // without parameters, Argo CD keeps the text of the template
		var err error
		if v, places, err = g.value(tmpl.value, tmpl.at, p); err != nil {
			return nil, err
		}
	}
	places = append([]yaml.Place{discovery.RootPlace(tmpl.at)}, places...)
	if patch != "" {
		at := g.set.Place("spec", "templatePatch")
		text, _, err := g.renderer.Text(patch, p.values)
		if err != nil {
			return nil, discovery.ErrorAt(at, "%w", err).With(diag.BadValue)
		}
		w, err := (&yaml.Source{File: g.set.Source.File, Data: []byte(text)}).Value()
		if err != nil {
			return nil, discovery.InText(at, err)
		}
		if !w.IsNull() && w.Type() != yaml.Map {
			return nil, discovery.ErrorAt(at, "must be the text of a mapping").With(diag.WrongType)
		}
		patched := patcher{at: at}
		project := v.At("spec", "project")
		if !w.IsNull() {
			v = patched.patch(v, w, nil)
		}
		if project.Exists() { // a patch cannot change the project
			v = v.WithAt(project, "spec", "project")
		} else {
			v = v.With("spec", v.Get("spec").Without("project"))
		}
		places = append(places, patched.places...)
	}
	meta := v.Get("metadata")
	name := meta.Get("name").Text()
	if name == "" {
		return nil, discovery.ErrorAt(tmpl.at.Below("metadata", "name"), "the name of the Application is empty").With(diag.Nameless)
	}
	if g.set.Namespace != "" {
		meta = meta.With("namespace", yaml.Str(g.set.Namespace))
	} else {
		meta = meta.Without("namespace")
	}
	v = yaml.MapOf(yaml.Field{Key: "apiVersion", Value: g.set.Value.Get("apiVersion")},
		yaml.Field{Key: "kind", Value: yaml.Str("Application")}, yaml.Field{Key: "metadata", Value: meta},
		yaml.Field{Key: "spec", Value: v.Get("spec")})
	o := &gitops.Object{Group: g.set.Group, Kind: "Application", Namespace: g.set.Namespace, Name: name, Value: v,
		Source: yaml.Assemble(g.set.Source.File, v, places...), Tree: g.set.Tree}
	if !g.renderer.Golang {
		g.warnKept(o, v, p, nil)
	}
	return o, nil
}

// warnKept warns about placeholders in v that do not name a parameter. v is the value at path in a
// generated object.
func (g *generation) warnKept(o *gitops.Object, v yaml.Value, p *params, path []any) {
	switch v.Type() {
	case yaml.String:
		_, rest, _ := strings.Cut(v.Text(), "{{")
		name, _, found := strings.Cut(rest, "}}")
		if name = strings.TrimSpace(name); !found || strings.ContainsAny(name, "{\n") {
			return
		}
		e := o.Errorf(path, "no generator has the parameter %q: {{%s}} is kept", name, name).With(diag.BadReference)
		e.Hints = diag.DidYouMean(name, slices.Sorted(maps.Keys(p.values)))
		g.Warn(e)
	case yaml.Seq:
		for i, x := range v.Items() {
			g.warnKept(o, x, p, append(path[:len(path):len(path)], i))
		}
	case yaml.Map:
		for _, f := range v.Fields() {
			g.warnKept(o, f.Value, p, append(path[:len(path):len(path)], f.Key))
		}
	}
}

// A filler merges the template of a generator with the template of the set, and collects the places
// of values from the generator.
type filler struct {
	at     yaml.Place
	places []yaml.Place
}

// fill returns v, with the values of base for its empty and missing fields.
func (f *filler) fill(v, base yaml.Value, path []any) yaml.Value {
	switch {
	case isZero(v):
		return base
	case v.Type() != yaml.Map || base.Type() != yaml.Map || len(path) > 0 && path[len(path)-1] == "valuesObject":
		at := f.at.Below(path...)
		at.Path = path
		f.places = append(f.places, at)
		return v
	}
	out := base
	for _, x := range v.Fields() {
		out = out.With(x.Key, f.fill(x.Value, base.Get(x.Key), append(path[:len(path):len(path)], x.Key)))
	}
	return out
}

// isZero reports whether a value is the zero value of its type in Go.
func isZero(v yaml.Value) bool {
	switch v.Type() {
	case yaml.Bool:
		return v.Equal(yaml.BoolValue(false))
	case yaml.String:
		return v.Text() == ""
	case yaml.Int:
		n, ok := v.AsInt()
		return ok && n == 0
	}
	return v.IsEmpty()
}

// A patcher applies a templatePatch, and collects the places of its values.
type patcher struct {
	at     yaml.Place
	places []yaml.Place
}

// patch returns v after w, a strategic merge patch for Applications. The patch replaces all lists
// except for finalizers, which are merged.
func (p *patcher) patch(v, w yaml.Value, path []any) yaml.Value {
	taken := func() {
		at := p.at
		at.Path = path
		p.places = append(p.places, at)
	}
	if w.Type() != yaml.Map {
		taken()
		return w
	}
	switch w.Get("$patch").Text() {
	case "delete":
		return yaml.MapOf()
	case "replace":
		taken()
		return w.Without("$patch")
	}
	w = w.Without("$patch")
	if v.Type() != yaml.Map {
		v = yaml.MapOf()
	}
	for _, f := range w.Fields() {
		below := append(path[:len(path):len(path)], f.Key)
		switch {
		case f.Value.IsNull():
			v = v.Without(f.Key)
		case f.Key == "finalizers" && len(path) == 1 && path[0] == "metadata":
			list := v.Get(f.Key)
			for _, x := range f.Value.Items() {
				if !slices.ContainsFunc(list.Items(), x.Equal) {
					list = yaml.SeqOf(append(slices.Clone(list.Items()), x)...)
				}
			}
			v = v.With(f.Key, list)
		default:
			v = v.With(f.Key, p.patch(v.Get(f.Key), f.Value, below))
		}
	}
	return v
}
