// Package argocd describes the rendering of Applications and ApplicationSets by Argo CD. It follows
// Argo CD v3.3.0 and runs no programs: config management plugins and Jsonnet are errors.
//
// Files are read in two places. Files that determine the sources of an Application are read while
// roots are found: overrides (.argocd-source.yaml), value files, and the files of git generators.
// The planner reads the kustomization file and the manifests of a directory, and calls
// [gitops.Part.Edit] for the edited file.
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

// Roots returns a root for each requested Application, and for each Application that a requested
// ApplicationSet generates, in the order of env.Requested. An ApplicationSet with errors also has a
// root, with the errors in Errs.
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

// setRoots returns the roots of the Applications that an ApplicationSet generates, and a root with
// the errors of the set, if any.
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

// uses adds objects to Uses, without duplicates.
func uses(root *gitops.Root, objects []*gitops.Object) {
	for _, o := range objects {
		if !slices.Contains(root.Uses, o) {
			root.Uses = append(root.Uses, o)
		}
	}
}

// reads adds files to Files, without duplicates.
func reads(root *gitops.Root, files ...*yaml.Source) {
	for _, src := range files {
		if !slices.Contains(root.Files, src) {
			root.Files = append(root.Files, src)
		}
	}
}
