package argocd

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// applicationSet returns the roots of the Applications that an ApplicationSet generates. If a
// generator has an error, the set has a root of its own, which reports it.
func (d *discovery) applicationSet(o *gitops.Object) []*gitops.Root {
	own := &gitops.Root{Object: o}
	var set applicationSet
	if own.Errs = d.decode(o.Value, o.Place(), &set); len(own.Errs) > 0 {
		return []*gitops.Root{own}
	}
	spec := set.Spec
	if err := checkOptions(spec.GoTemplateOptions, o.Place("spec", "goTemplateOptions")); err != nil {
		own.Errs = append(own.Errs, err)
		return []*gitops.Root{own}
	}
	g := &generation{discovery: d, set: o, renderer: renderer{golang: spec.GoTemplate, options: spec.GoTemplateOptions,
		parsed: map[string]*parsedText{}}}
	all := node{o.Value, o.Place()}
	base := all.below("spec", "template")
	var roots []*gitops.Root
	named := map[string][]*gitops.Root{}
	for i := range spec.Generators {
		before := *g
		g.uses, g.files = nil, nil
		results, err := g.run(all.below("spec", "generators", i), 0, nil)
		if err != nil {
			own.Errs = append(own.Errs, err)
		}
		for _, r := range results {
			for _, p := range r.params {
				app, err := g.render(base, r.template, p, spec.TemplatePatch)
				if err != nil {
					own.Errs = append(own.Errs, err)
					continue
				}
				root := d.application(app)
				uses(root, o)
				uses(root, g.uses...)
				for _, src := range g.files {
					reads(root, src)
				}
				roots = append(roots, root)
				named[app.Name] = append(named[app.Name], root)
			}
		}
		g.uses, g.files = append(before.uses, g.uses...), append(before.files, g.files...)
	}
	for _, list := range named {
		if len(list) == 1 {
			continue
		}
		for _, root := range list {
			root.Errs = append(root.Errs, root.Object.Errorf([]any{"metadata", "name"},
				"ApplicationSet %s generates %d Applications with the name %q", o.Name, len(list), root.Object.Name).With(diag.SameID))
		}
	}
	if len(own.Errs) > 0 {
		uses(own, g.uses...)
		for _, src := range g.files {
			reads(own, src)
		}
		roots = append(roots, own)
	}
	return roots
}

// render returns the Application for a set of parameters. base is the template of the set, and over
// that of the generator, whose fields take precedence.
func (g *generation) render(base, over node, p *params, patch string) (*gitops.Object, error) {
	v, places, err := g.value(base.value, base.at, p)
	if err != nil {
		return nil, err
	}
	places = append([]yaml.Place{rootPlace(base.at)}, places...)
	if over.value.Len() > 0 {
		w, more, err := g.value(over.value, over.at, p)
		if err != nil {
			return nil, err
		}
		f := filler{at: over.at}
		v = f.fill(w, v, nil)
		for _, at := range more {
			if slices.ContainsFunc(f.places, func(o yaml.Place) bool {
				return len(o.Path) <= len(at.Path) && slices.Equal(o.Path, at.Path[:len(o.Path)])
			}) {
				f.places = append(f.places, at)
			}
		}
		places = append(places, f.places...)
	}
	if patch != "" {
		at := g.set.Place("spec", "templatePatch")
		text, _, err := g.text(patch, p)
		if err != nil {
			return nil, errorAt(at, "%w", err).With(diag.BadValue)
		}
		w, err := (&yaml.Source{File: g.set.Source.File, Data: []byte(text)}).Value()
		if err != nil {
			return nil, errorAt(at, "%s", diag.AsError(err).Msg).With(diag.InvalidYAML)
		}
		if !w.IsNull() && w.Type() != yaml.Map {
			return nil, errorAt(at, "must be the text of a mapping").With(diag.WrongType)
		}
		patched := patcher{at: at}
		project := v.At("spec", "project")
		if !w.IsNull() {
			v = patched.patch(v, w, nil)
		}
		if project.Exists() { // cannot be patched
			v = v.WithAt(project, "spec", "project")
		}
		places = append(places, patched.places...)
	}
	meta := v.Get("metadata")
	name := meta.Get("name").Text()
	if name == "" {
		return nil, errorAt(base.at.Below("metadata", "name"), "the name of the Application is empty").With(diag.Nameless)
	}
	if g.set.Namespace != "" {
		meta = meta.With("namespace", yaml.Str(g.set.Namespace))
	} else {
		meta = meta.Without("namespace")
	}
	v = yaml.MapOf(yaml.Field{Key: "apiVersion", Value: g.set.Value.Get("apiVersion")},
		yaml.Field{Key: "kind", Value: yaml.Str("Application")}, yaml.Field{Key: "metadata", Value: meta},
		yaml.Field{Key: "spec", Value: v.Get("spec")})
	return &gitops.Object{Group: group, Kind: "Application", Namespace: g.set.Namespace, Name: name, Value: v,
		Source: yaml.Assemble(g.set.Source.File, v, places...), Tree: g.set.Tree}, nil
}

// A filler merges the template of a generator with that of the set, and collects the places of the
// values taken from the former.
type filler struct {
	at     yaml.Place
	places []yaml.Place
}

// fill returns v with its empty fields set to those of base.
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

// A patcher applies a templatePatch, and collects the places of the values taken.
type patcher struct {
	at     yaml.Place
	places []yaml.Place
}

// patch returns v with a strategic merge patch for Applications. All lists are replaced, except for
// finalizers, which are merged.
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
