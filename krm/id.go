package krm

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A GVK is a kind of object: its API group, version and kind.
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

// String returns apiVersion and kind on one line, without empty parts.
func (g GVK) String() string {
	if v := g.APIVersion(); v != "" {
		return diag.OneLine(v + " " + g.Kind)
	}
	return diag.OneLine(g.Kind)
}

// Selects reports whether the selector g matches o. An empty field of g matches any value.
func (g GVK) Selects(o GVK) bool {
	return (g.Group == "" || g.Group == o.Group) && (g.Version == "" || g.Version == o.Version) && (g.Kind == "" || g.Kind == o.Kind)
}

// The results of [ID.EffectiveNamespace] for objects without a namespace.
const (
	ClusterScope     = "_non_namespaceable_"
	DefaultNamespace = "default"
)

// An ID identifies a resource within a list. IDs are comparable, but two IDs of the same object
// may differ as Go values (namespace "" and "default"): compare [ID.Key] instead. An ID keeps the
// namespace as it was written, because some steps must see whether a namespace was given.
type ID struct {
	GVK
	Name, Namespace string
	// Cluster is true if the kind is known to be cluster-scoped.
	Cluster bool
}

// EffectiveNamespace returns the namespace for comparisons: [ClusterScope] for cluster-scoped
// kinds, [DefaultNamespace] if none was given.
func (id ID) EffectiveNamespace() string {
	switch {
	case id.Cluster:
		return ClusterScope
	case id.Namespace == "":
		return DefaultNamespace
	}
	return id.Namespace
}

// Key returns id in canonical form: equal identities have equal keys.
func (id ID) Key() ID {
	id.Namespace, id.Cluster = id.EffectiveNamespace(), false
	return id
}

// String returns the form for messages, on one line: apiVersion kind namespace/name.
func (id ID) String() string {
	if id.Namespace != "" && id.Namespace != ClusterScope {
		return diag.OneLine(id.GVK.String() + " " + id.Namespace + "/" + id.Name)
	}
	return diag.OneLine(strings.TrimSuffix(id.GVK.String()+" "+id.Name, " "))
}
