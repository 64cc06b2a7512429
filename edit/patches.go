package edit

import (
	"errors"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A Patch is an entry of patches as flags give it: a path or a text, and the fields of its target.
type Patch struct {
	Path, Patch string
	Target      Target
}

// A Target says what a patch is for. Without any field there is no target.
type Target struct {
	Group, Version, Kind, Name, Namespace, LabelSelector, AnnotationSelector string
}

// AddPatch returns the edit that adds an entry to patches, unless it is there.
func AddPatch(p Patch) (Edit, error) {
	switch {
	case p.Path != "" && p.Patch != "":
		return nil, errors.New("--path and --patch exclude each other")
	case p.Path == "" && p.Patch == "":
		return nil, errors.New("--path or --patch is needed")
	}
	return func(k *Kustomization) error {
		there := k.items("patches")
		if slices.ContainsFunc(there, p.equals) {
			k.Warn("patches has this entry already")
			return nil
		}
		k.setItems("patches", append(slices.Clone(there), p.value()))
		return nil
	}, nil
}

// RemovePatch returns the edit that removes the entries of patches that are p.
func RemovePatch(p Patch) (Edit, error) {
	if p.Path != "" && p.Patch != "" {
		return nil, errors.New("--path and --patch exclude each other")
	}
	return func(k *Kustomization) error {
		there := k.items("patches")
		left := slices.DeleteFunc(slices.Clone(there), p.equals)
		if len(left) == len(there) {
			k.Warn("patches has no such entry")
			return nil
		}
		k.setItems("patches", left)
		return nil
	}, nil
}

// fields returns the fields of a target that are given, or all.
func (t Target) fields(all bool) []yaml.Field {
	var list []yaml.Field
	for _, f := range []struct{ key, text string }{
		{"group", t.Group}, {"version", t.Version}, {"kind", t.Kind}, {"name", t.Name}, {"namespace", t.Namespace},
		{"labelSelector", t.LabelSelector}, {"annotationSelector", t.AnnotationSelector},
	} {
		if all || f.text != "" {
			list = append(list, yaml.Field{Key: f.key, Value: yaml.Str(f.text)})
		}
	}
	return list
}

func (p Patch) value() yaml.Value {
	var fields []yaml.Field
	if p.Path != "" {
		fields = append(fields, yaml.Field{Key: "path", Value: yaml.Str(p.Path)})
	}
	if p.Patch != "" {
		fields = append(fields, yaml.Field{Key: "patch", Value: yaml.Str(p.Patch)})
	}
	if p.Target != (Target{}) {
		fields = append(fields, yaml.Field{Key: "target", Value: yaml.MapOf(p.Target.fields(false)...)})
	}
	return yaml.MapOf(fields...)
}

// equals reports whether an entry is p: one with options is none that flags can give.
func (p Patch) equals(v yaml.Value) bool {
	target := get(v, "target")
	if get(v, "path").Text() != p.Path || get(v, "patch").Text() != p.Patch || !get(v, "options").IsNull() || target.IsNull() != (p.Target == Target{}) {
		return false
	}
	for _, f := range p.Target.fields(true) {
		if get(target, f.Key).Text() != f.Value.Text() {
			return false
		}
	}
	return true
}
