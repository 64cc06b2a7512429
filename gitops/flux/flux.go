// Package flux decodes objects of Flux and describes their rendering: Kustomizations as in
// kustomize-controller, and HelmReleases as in helm-controller.
package flux

import (
	"cmp"
	"path"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The API groups of Flux.
const (
	KustomizeGroup = "kustomize.toolkit.fluxcd.io"
	HelmGroup      = "helm.toolkit.fluxcd.io"
	SourceGroup    = "source.toolkit.fluxcd.io"
)

// Roots returns a root for each requested Kustomization and HelmRelease of Flux, in the order of
// env.Requested. It warns about suspended objects and leaves them out, because Flux does not apply
// them. It also warns about unknown fields. All other errors are in Errs of the root.
func Roots(env *gitops.Env) []*gitops.Root {
	f := &finder{env: env, decoded: map[*gitops.Object]*source{}}
	var list []*gitops.Root
	for _, o := range env.Requested() {
		var r *gitops.Root
		switch {
		case o.Group == KustomizeGroup && o.Kind == "Kustomization":
			r = f.kustomization(o)
		case o.Group == HelmGroup && o.Kind == "HelmRelease":
			r = f.release(o)
		}
		if r != nil {
			list = append(list, r)
		}
	}
	return list
}

// A finder resolves references between objects. It decodes each source once.
type finder struct {
	env     *gitops.Env
	decoded map[*gitops.Object]*source
}

// A root collects the parts, steps and errors for an object.
type root struct {
	*gitops.Root
	f *finder
}

// root decodes an object into a struct, which has the field suspend. It reports false if there is
// nothing to render: Root is then nil for a suspended object, or has the mistakes.
func (f *finder) root(o *gitops.Object, into any, suspend *bool) (*root, bool) {
	r := &root{&gitops.Root{Object: o}, f}
	errs := f.decode(o, into)
	if *suspend {
		f.warn(o.Errorf([]any{"spec", "suspend"}, "%s %s is suspended: Flux does not apply it, and it is left out", o.Kind,
			path.Join(o.Namespace, o.Name)).With(diag.General))
		return &root{f: f}, false
	}
	for _, e := range errs {
		r.fail(e)
	}
	return r, len(errs) == 0
}

func (r *root) fail(err *diag.Error) { r.Errs = append(r.Errs, err) }

// use adds an object to Uses, unless Uses contains it.
func (r *root) use(o *gitops.Object) {
	for _, u := range r.Uses {
		if u == o {
			return
		}
	}
	r.Uses = append(r.Uses, o)
}

// DependsOn returns the objects in spec.dependsOn of an object, without a check of the object. They
// must be ready before the object is applied, and have its group and kind.
func DependsOn(o *gitops.Object) (list []gitops.Dependency) {
	for i, d := range o.Value.At("spec", "dependsOn").Items() {
		list = append(list, gitops.Dependency{Group: o.Group, Kind: o.Kind, Namespace: cmp.Or(d.Get("namespace").Text(), o.Namespace),
			Name: d.Get("name").Text(), At: o.Place("spec", "dependsOn", i)})
	}
	return list
}

type dependency struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Name       string     `json:"name"`
	Namespace  string     `json:"namespace"`
	ReadyExpr  yaml.Value `json:"readyExpr"`
}

// A reference names an object, by default in the namespace of the referring object.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
}

type metadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// decode stores an object in the struct that into points to. It warns about unknown fields and
// returns all other errors.
func (f *finder) decode(o *gitops.Object, into any) (errs []*diag.Error) {
	for _, m := range yaml.Decode(o.Value, into) {
		e := o.Errorf(m.Path, "%s", m.Msg).With(m.Code)
		e.Hints = m.Hints
		if m.Code == diag.UnknownField {
			f.warn(e)
		} else {
			errs = append(errs, e)
		}
	}
	return errs
}

func (f *finder) warn(e *diag.Error) {
	if f.env.Warn != nil {
		f.env.Warn(e)
	}
}
