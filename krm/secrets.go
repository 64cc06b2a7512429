package krm

import (
	"slices"

	"github.com/krmflow/krmflow/krm/secret"
)

// HoldsSecrets reports whether a resource of the list is a Secret or contains one: see
// [secret.In]. A nil list contains none.
func (l *List) HoldsSecrets() bool {
	return l != nil && slices.ContainsFunc(l.items, func(r *Resource) bool { return secret.In(r.value) })
}
