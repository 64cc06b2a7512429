package krm

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// GVK names a kind of object: API group, version and kind.
type GVK struct{ Group, Version, Kind string }

// ParseGVK splits apiVersion at its first slash, as Kubernetes does.
func ParseGVK(apiVersion, kind string) GVK {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	return GVK{group, version, kind}
}

// APIVersion returns group/version, or version alone for the core group.
func (g GVK) APIVersion() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// String returns apiVersion and kind, without empty parts, in one line.
func (g GVK) String() string {
	if v := g.APIVersion(); v != "" {
		return diag.OneLine(v + " " + g.Kind)
	}
	return diag.OneLine(g.Kind)
}

// Selects reports whether g, whose empty fields match anything, matches o.
func (g GVK) Selects(o GVK) bool {
	return (g.Group == "" || g.Group == o.Group) && (g.Version == "" || g.Version == o.Version) && (g.Kind == "" || g.Kind == o.Kind)
}

// The namespaces that [ID.EffectiveNamespace] returns for objects that name none.
const (
	ClusterScope     = "_non_namespaceable_"
	DefaultNamespace = "default"
)

// An ID identifies a resource within a list. IDs are comparable, but two IDs that mean the same object may differ as Go values
// (namespace "" and "default"): compare their [ID.Key]. They are kept as they are written, because a step that looks at the
// namespace must see whether there is one.
type ID struct {
	GVK
	Name, Namespace string
	// Cluster is true for objects of a kind that is known to have no namespace.
	Cluster bool
}

// EffectiveNamespace returns the namespace that decides about identity: [ClusterScope] for cluster-scoped kinds,
// [DefaultNamespace] for none.
func (id ID) EffectiveNamespace() string {
	switch {
	case id.Cluster:
		return ClusterScope
	case id.Namespace == "":
		return DefaultNamespace
	}
	return id.Namespace
}

// Key returns the form of id in which equal identities are equal Go values.
func (id ID) Key() ID {
	id.Namespace, id.Cluster = id.EffectiveNamespace(), false
	return id
}

// String returns the form that messages show, in one line: apiVersion kind namespace/name.
func (id ID) String() string {
	if id.Namespace != "" && id.Namespace != ClusterScope {
		return diag.OneLine(id.GVK.String() + " " + id.Namespace + "/" + id.Name)
	}
	return diag.OneLine(strings.TrimSuffix(id.GVK.String()+" "+id.Name, " "))
}
