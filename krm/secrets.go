package krm

import (
	"slices"

	"github.com/krmflow/krmflow/krm/secret"
)

// HoldsSecrets reports whether [Resource.HoldsSecret] is true for any resource. It is false for a
// nil list.
func (l *List) HoldsSecrets() bool {
	return l != nil && slices.ContainsFunc(l.items, (*Resource).HoldsSecret)
}

// HoldsSecret reports whether the resource is a Secret, contains one (see [secret.In]), or contains
// a text that a step copied from one.
func (r *Resource) HoldsSecret() bool {
	return secret.In(r.value) || len(r.Taken) > 0 && !r.TakenSet().HideValue(r.value).Same(r.value)
}
