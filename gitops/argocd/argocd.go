// Package argocd describes what Argo CD renders for the Applications and ApplicationSets in a tree.
// It follows Argo CD v3.3.0. It runs nothing: it refuses config management
// plugins and jsonnet.
//
// Files are read in two places. Files that decide about the sources of an Application are read
// while roots are found: overrides (.argocd-source.yaml), value files, and the files of git
// generators. The kustomization file and the manifests of a directory are read by the planner,
// which calls [gitops.Part.Edit] for the edited file.
package argocd

import (
	"slices"

	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/appset"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// group is the API group of Argo CD.
const group = "argoproj.io"

// Roots returns a root for each Application in env.Objects and for each Application that an
// ApplicationSet there generates, in the order of env.Objects. An ApplicationSet with mistakes has
// a root of its own, whose Errs report them.
func Roots(env *gitops.Env) []*gitops.Root {
	d := discovery.New(env)
	var roots []*gitops.Root
	for _, o := range env.Requested() {
		switch {
		case o.Group != group:
		case o.Kind == "Application":
			roots = append(roots, applicationRoot(d, o))
		case o.Kind == "ApplicationSet":
			roots = append(roots, setRoots(d, o)...)
		}
	}
	return roots
}

// setRoots returns the roots of the Applications that an ApplicationSet generates.
func setRoots(d *discovery.Discovery, o *gitops.Object) []*gitops.Root {
	set := appset.Generate(d, o)
	var roots []*gitops.Root
	for _, app := range set.Applications {
		root := applicationRoot(d, app.Object)
		if app.Err != nil {
			root.Errs = append(root.Errs, app.Err)
		}
		uses(root, append([]*gitops.Object{o}, app.Uses...))
		reads(root, app.Files...)
		roots = append(roots, root)
	}
	if len(set.Errs) > 0 {
		own := &gitops.Root{Object: o, Errs: set.Errs}
		uses(own, set.Uses)
		reads(own, set.Files...)
		roots = append(roots, own)
	}
	return roots
}

// uses adds objects that determine a root.
func uses(root *gitops.Root, objects []*gitops.Object) {
	for _, o := range objects {
		if !slices.Contains(root.Uses, o) {
			root.Uses = append(root.Uses, o)
		}
	}
}

// reads adds files that determine a root.
func reads(root *gitops.Root, files ...*yaml.Source) {
	for _, src := range files {
		if !slices.Contains(root.Files, src) {
			root.Files = append(root.Files, src)
		}
	}
}
