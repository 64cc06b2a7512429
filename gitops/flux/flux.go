// Package flux decodes the objects of Flux and describes what its controllers render for them: a
// Kustomization as kustomize-controller, and a HelmRelease as helm-controller.
package flux

import (
	"path"
	"strings"

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

// Roots returns a root for each Kustomization and HelmRelease of Flux in env, in the order of
// env.Objects. Suspended objects are not applied: Roots reports them with env.Warn and leaves them
// out. Unknown fields are warnings as well. All other mistakes are in Errs of the root.
func Roots(env *gitops.Env) []*gitops.Root {
	f := &finder{env: env, index: map[key][]*gitops.Object{}, decoded: map[*gitops.Object]*source{}}
	for _, o := range env.Objects {
		k := key{o.Group, o.Kind, o.Namespace, o.Name}
		f.index[k] = append(f.index[k], o)
	}
	var list []*gitops.Root
	for _, o := range env.Objects {
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

// A finder finds the objects that others refer to.
type finder struct {
	env     *gitops.Env
	index   map[key][]*gitops.Object
	decoded map[*gitops.Object]*source
}

type key struct{ group, kind, namespace, name string }

// find returns an object that from refers to, nil if there is none. A repository may hold several
// clusters, each with objects of the same names. Then the object that is nearest to from in the
// tree takes precedence, and of equally near objects the first.
func (f *finder) find(from *gitops.Object, group, kind, namespace, name string) *gitops.Object {
	var best *gitops.Object
	most := -1
	for _, o := range f.index[key{group, kind, namespace, name}] {
		if n := shared(from, o); n > most {
			best, most = o, n
		}
	}
	return best
}

// shared returns the number of directories that contain the files of both objects.
func shared(a, b *gitops.Object) (n int) {
	if a.Tree != b.Tree {
		return 0
	}
	x, y := strings.Split(a.Place().Source.File, "/"), strings.Split(b.Place().Source.File, "/")
	for n < len(x)-1 && n < len(y)-1 && x[n] == y[n] {
		n++
	}
	return n + 1
}

// A root collects what a controller renders for an object.
type root struct {
	*gitops.Root
	f *finder
}

func (f *finder) root(o *gitops.Object) *root { return &root{&gitops.Root{Object: o}, f} }

func (r *root) fail(err *diag.Error) { r.Errs = append(r.Errs, err) }

// use records that another object determines the root.
func (r *root) use(o *gitops.Object) {
	for _, u := range r.Uses {
		if u == o {
			return
		}
	}
	r.Uses = append(r.Uses, o)
}

// after records the objects that must be ready before the root is applied.
func (r *root) after(group, kind string, list []dependency) {
	for i, d := range list {
		namespace := d.Namespace
		if namespace == "" {
			namespace = r.Object.Namespace
		}
		o := r.f.find(r.Object, group, kind, namespace, d.Name)
		if o == nil {
			r.fail(r.Object.Errorf([]any{"spec", "dependsOn", i}, "%s %s is not in the searched directories", kind,
				path.Join(namespace, d.Name)).With(diag.NoSuchFile).
				Hint("search the directory that declares it, or correct the name: it is never applied without its dependency"))
			continue
		}
		r.After = append(r.After, o)
	}
}

type dependency struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Name       string     `json:"name"`
	Namespace  string     `json:"namespace"`
	ReadyExpr  yaml.Value `json:"readyExpr"`
}

// A reference names an object, by default in the namespace of the object that refers to it.
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

// decode stores an object in the struct that into points to. It reports unknown fields as warnings
// and returns the other mistakes.
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

// suspended reports whether a controller ignores the object, with a warning.
func (f *finder) suspended(o *gitops.Object, suspend bool) bool {
	if suspend {
		f.warn(o.Errorf([]any{"spec", "suspend"}, "%s %s is suspended: Flux does not apply it, and it is left out", o.Kind,
			path.Join(o.Namespace, o.Name)).With(diag.General))
	}
	return suspend
}
