package gitops

import (
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A DestinationTransformer sets the namespace in which a controller applies resources. A resource
// with a namespace keeps it, unless the resource is cluster-scoped. An unknown kind is namespaced,
// unless its CustomResourceDefinition in the list says otherwise.
type DestinationTransformer struct {
	// Namespace is the namespace to set. If it is empty, no namespace is set.
	Namespace string
	// KeepLast keeps only the last of several resources with the same identity, as Argo CD does.
	KeepLast bool
}

// Step returns the step with the configuration at a place.
func (t *DestinationTransformer) Step(at yaml.Place) Step {
	return Step{Transformer: t, At: at, Summary: fmt.Sprintf("destination namespace %q", t.Namespace)}
}

// Configure implements [builtins.Builtin].
func (t *DestinationTransformer) Configure(builtins.Env) error { return nil }

// Transform implements [builtins.Transformer].
func (t *DestinationTransformer) Transform(list *krm.List, warn builtins.Warn) error {
	clusterScoped := clusterScopes(list)
	for i, r := range list.All() {
		id := r.ID()
		cluster := clusterScoped(id)
		meta := r.Value().Get("metadata")
		old := meta.Get("namespace")
		switch {
		case meta.Type() != yaml.Map:
			continue
		case cluster && old.Exists():
			meta = meta.Without("namespace")
		case !cluster && t.Namespace != "" && old.Text() == "":
			meta = meta.With("namespace", yaml.SetStr(t.Namespace))
		default:
			continue
		}
		list.Change(i, func(r *krm.Resource) { r.SetValue(r.Value().With("metadata", meta)) })
	}
	if t.KeepLast {
		keepLast(list, warn)
		return nil
	}
	return t.checkUnique(list)
}

// checkUnique returns an error if a resource that had no namespace now has the identity of a
// different one.
func (t *DestinationTransformer) checkUnique(list *krm.List) error {
	err := list.CheckUnique()
	if d := (*krm.DuplicateError)(nil); errors.As(err, &d) {
		e := d.Diag().With(diag.SameID)
		e.Hints = nil
		if d.First != d.Second {
			e.Hint("the other one is at %s", d.Second)
		}
		return e.Hint("resources without a namespace are applied in %q: give one of them a different name, or remove it", t.Namespace)
	}
	return err
}

// clusterScopes returns a function that reports whether a kind is cluster-scoped. A
// CustomResourceDefinition in the list takes precedence over the built-in kinds.
func clusterScopes(list *krm.List) func(krm.ID) bool {
	scopes := map[[2]string]bool{} // by group and kind
	for _, r := range list.All() {
		if id := r.ID(); id.Kind == "CustomResourceDefinition" && id.Group == "apiextensions.k8s.io" {
			spec := r.Value().Get("spec")
			scopes[[2]string{spec.Get("group").Text(), spec.At("names", "kind").Text()}] = spec.Get("scope").Text() == "Cluster"
		}
	}
	return func(id krm.ID) bool {
		cluster, known := scopes[[2]string{id.Group, id.Kind}]
		return cluster || !known && id.Cluster
	}
}

// keepLast removes all resources of an identity except for the last one, with a warning.
func keepLast(list *krm.List, warn builtins.Warn) {
	type key struct{ group, kind, namespace, name string }
	keyOf := func(r *krm.Resource) key {
		id := r.ID()
		return key{id.Group, id.Kind, id.Namespace, id.Name}
	}
	count := make(map[key]int, list.Len())
	twice := false
	for _, r := range list.All() {
		k := keyOf(r)
		count[k]++
		twice = twice || count[k] > 1
	}
	if !twice {
		return
	}
	left := make(map[key]int, len(count))
	for k, n := range count {
		left[k] = n
	}
	list.Filter(func(r *krm.Resource) bool {
		k := keyOf(r)
		if count[k] > 1 && left[k] == count[k] {
			warn(diag.SameID, "%s %s appears %d times, and only the last one is applied", k.kind, k.name, count[k])
		}
		left[k]--
		return left[k] == 0
	})
}
