package edit

import (
	"slices"
	"testing"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/edit/inplace"
)

// TestFixReplacesFieldsOfBuiltins checks that edit fix replaces each field that a built-in declares
// deprecated with the field that it names.
func TestFixReplacesFieldsOfBuiltins(t *testing.T) {
	values := map[string]string{
		"commonLabels": "{a: b}", "imageTags": "[{name: a, newTag: b}]", "patchesStrategicMerge": `["kind: A\nmetadata: {name: a}\n"]`,
		"patchesJson6902": "[{target: {kind: A, name: a}, patch: '[]'}]",
	}
	fixed := map[string]bool{}
	for _, kind := range builtins.Kinds() {
		form, ok := builtins.New(kind).(builtins.FieldForm)
		if !ok {
			continue
		}
		for _, f := range form.StandsFor() {
			if f.Instead == "" {
				continue
			}
			fixed[f.Name] = true
			var told []string
			d, err := inplace.Parse("kustomization.yaml", []byte(f.Name+": "+values[f.Name]+"\n"), Fields)
			if err == nil {
				env := Env{IsFile: func(string) bool { return false }}
				_, err = Apply(d, "kustomization.yaml", env, Fix(func(from, to string) { told = append(told, from+" -> "+to) }))
			}
			if want := f.Name + " -> " + f.Instead; err != nil || !slices.Contains(told, want) {
				t.Errorf("%s: edit fix replaced %q (%v), not %q: add it to Fix, and a value for this test", kind, told, err, want)
			}
		}
	}
	if len(fixed) != len(values) {
		t.Errorf("%v are deprecated, and there are values for %v", fixed, values)
	}
}
