// Follows api/internal/target/kusttarget.go.

package builtins

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// SameResources returns an error if the resources differ before and after a validator. Their
// order may differ, and a validator may add the label validated-by.
func SameResources(before, after *krm.List) error {
	for _, r := range before.All() {
		at := after.Find(r.ID())
		switch {
		case len(at) == 0:
			return diag.ValidatorChanged.Errorf("a validator must not change resources, but it removed %s", r.ID())
		case len(at) > 1:
			return diag.ValidatorChanged.Errorf("a validator must not change resources, but it returned %s %d times", r.ID(), len(at))
		case !withoutValidatedBy(after.At(at[0]).Value()).Equal(r.Value()), !sameState(after.At(at[0]), r):
			return diag.ValidatorChanged.Errorf("a validator must not change resources, but it changed %s", r.ID())
		}
	}
	if before.Len() == after.Len() {
		return nil
	}
	for _, r := range after.All() {
		if len(before.Find(r.ID())) == 0 {
			return diag.ValidatorChanged.Errorf("a validator must not change resources, but it added %s", r.ID())
		}
	}
	return diag.ValidatorChanged.Errorf("a validator must not change resources, but it returned %d resources instead of %d", after.Len(),
		before.Len())
}

// sameState reports whether kustomize's state of a and b is equal. A recorded rename is a
// difference even if the name stayed the same.
func sameState(a, b *krm.Resource) bool {
	return slices.Equal(a.Prev, b.Prev) && slices.Equal(a.Prefixes, b.Prefixes) && slices.Equal(a.Suffixes, b.Suffixes) &&
		a.NeedsHash == b.NeedsHash && a.Behavior == b.Behavior
}

func withoutValidatedBy(v yaml.Value) yaml.Value {
	labels := v.At("metadata", "labels")
	if !labels.Get("validated-by").Exists() {
		return v
	}
	if labels.Len() == 1 {
		return v.With("metadata", v.Get("metadata").Without("labels"))
	}
	return v.WithAt(labels.Without("validated-by"), "metadata", "labels")
}
