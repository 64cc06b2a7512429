package convert

import (
	"slices"
	"testing"

	"github.com/krmflow/krmflow/builtins"
)

// TestConvertsFieldsOfBuiltins checks that convert makes items from each field that is short for a
// built-in.
func TestConvertsFieldsOfBuiltins(t *testing.T) {
	for _, kind := range builtins.Kinds() {
		form, ok := builtins.New(kind).(builtins.FieldForm)
		if !ok {
			continue
		}
		for _, f := range form.StandsFor() {
			if !slices.ContainsFunc(order, func(s step) bool { return s.name == f.Name }) {
				t.Errorf("%s stands for %s, which has no place in the order of fields", kind, f.Name)
			}
		}
	}
}
