package edit

import (
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FixFunctions returns an edit that moves the specification of functions to the field runtime of
// their configurations, from the deprecated places: an annotation or a field in metadata. It
// changes the generators, transformers and validators in the file and in the files they name.
// For a Kustomization it includes [Fix].
func FixFunctions(told func(from, to string)) Edit {
	return func(k *Kustomization) error {
		if !k.isComposition() {
			if err := Fix(told)(k); err != nil {
				return err
			}
		}
		m := &mover{k, told, map[string]bool{}}
		for _, field := range []string{"generators", "transformers", "validators"} {
			if err := m.list(field); err != nil {
				return err
			}
		}
		return nil
	}
}

// A mover moves the function specifications of one layer.
type mover struct {
	*Kustomization
	told func(from, to string)
	done map[string]bool // files that were processed
}

// list processes a list of configurations, which are inline values or file names.
func (m *mover) list(name string) error {
	old := get(m.value, name)
	entries := slices.Clone(old.Items())
	for i, e := range entries {
		at := diag.FieldPath([]any{name, i})
		var err error
		switch {
		case e.Type() == yaml.Map:
			entries[i], err = m.config(e, at)
		// The entry is inline text, not a path.
		case strings.Contains(e.Text(), "\n") || strings.HasPrefix(e.Text(), "{"):
			var text []byte
			if text, err = m.documents(at, []byte(e.Text())); err == nil && string(text) != e.Text() {
				entries[i] = yaml.Str(string(text))
			}
		case e.Text() != "":
			err = m.file(e.Text())
		}
		if err != nil {
			e := *diag.AsError(err)
			e.Field = strings.TrimSuffix(at+": "+e.Field, ": ")
			return &e
		}
	}
	if is := yaml.SeqOf(entries...); len(entries) > 0 && !is.Equal(old) {
		m.value = put(m.value, name, is)
	}
	return nil
}

// file processes a file once. It ignores remote references, folders and missing files.
func (m *mover) file(name string) error {
	if m.IsRemote(name) || !m.IsFile(name) || m.done[path.Clean(name)] {
		return nil
	}
	m.done[path.Clean(name)] = true
	data, err := m.ReadFile(name)
	if err != nil {
		return err
	}
	text, err := m.documents(name, data)
	if err != nil {
		e := *diag.AsError(err)
		e.Msg = name + ": " + e.Msg
		return &e
	}
	return m.WriteFile(name, text)
}

// documents processes all YAML documents in a text and returns the new text.
func (m *mover) documents(name string, text []byte) ([]byte, error) {
	var all []byte
	for _, part := range inplace.Split(text) {
		d, err := inplace.Parse(name, part, []string{"apiVersion", "kind", "metadata", function.PlaceRuntime})
		if err != nil || !d.Value().Exists() { // not a configuration
			all = append(all, part...)
			continue
		}
		v, err := m.config(d.Value(), name)
		if err == nil && !v.Equal(d.Value()) {
			d, err = d.With(v)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d.Text()...)
	}
	return all, nil
}

// config returns a configuration with its function in the field runtime. For a legacy exec
// plugin it includes the program's arguments.
func (m *mover) config(v yaml.Value, name string) (yaml.Value, error) {
	if v.Get("apiVersion").Text() == "builtin" || v.Get("kind").Text() == "" {
		return v, nil
	}
	in, err := function.ReadInline(v, nil)
	switch {
	case err != nil:
		return v, err
	case in == nil:
		return m.legacy(v, name)
	case in.Starlark != "" || len(in.Deprecated()) == 0:
		return v, nil
	}
	runtime, err := named(v, in)
	if err != nil {
		return v, err
	}
	for _, place := range in.Deprecated() {
		v = function.Without(v, place)
		m.told(name+": "+place, function.PlaceRuntime)
	}
	if !v.Get(function.PlaceRuntime).Exists() && !v.Get(function.PlaceProvider).Exists() {
		v = v.With(function.PlaceRuntime, runtime)
	}
	return v, nil
}

// named returns the function specification of the place with the highest precedence, in its
// original form.
func named(v yaml.Value, in *function.Inline) (yaml.Value, error) {
	switch place := in.Places[0]; place {
	case function.PlaceAnnotation, function.PlaceAnnotation2:
		doc, err := (&yaml.Source{File: place, Data: []byte(v.At("metadata", "annotations", place).Text())}).Strict()
		if err != nil {
			return yaml.Value{}, err
		}
		return doc.Value, nil
	case function.PlaceConfigFn:
		return v.At("metadata", "configFn"), nil
	}
	return in.Value(), nil
}
