package edit

import (
	"errors"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A Patch is a patches entry from flags: a path or an inline patch, and its target.
type Patch struct {
	Path, Patch string
	Target      Target
}

// A Target selects the objects that a patch applies to. The zero Target means that the entry has
// no target.
type Target struct {
	Group, Version, Kind, Name, Namespace, LabelSelector, AnnotationSelector string
}

// AddPatch returns an edit that adds an entry to patches unless an equal one exists.
func AddPatch(p Patch) (Edit, error) {
	switch {
	case p.Path != "" && p.Patch != "":
		return nil, errors.New("--path and --patch are mutually exclusive")
	case p.Path == "" && p.Patch == "":
		return nil, errors.New("--path or --patch is required")
	}
	return func(k *Kustomization) error {
		there := k.items("patches")
		if slices.ContainsFunc(there, p.equals) {
			k.Warn("patches already has this entry")
			return nil
		}
		k.setItems("patches", append(slices.Clone(there), p.value()))
		return nil
	}, nil
}

// RemovePatch returns an edit that removes the patches entries equal to p. It warns if there are
// none.
func RemovePatch(p Patch) (Edit, error) {
	if p.Path != "" && p.Patch != "" {
		return nil, errors.New("--path and --patch are mutually exclusive")
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

// fields returns the fields of the target that are set, or all fields.
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

// equals reports whether an entry is equal to p. An entry with options is never equal, because
// flags cannot set options.
func (p Patch) equals(v yaml.Value) bool {
	target := get(v, "target")
	if get(v, "path").Text() != p.Path || get(v, "patch").Text() != p.Patch || !get(v, "options").IsNull() ||
		target.IsNull() != (p.Target == Target{}) {
		return false
	}
	for _, f := range p.Target.fields(true) {
		if get(target, f.Key).Text() != f.Value.Text() {
			return false
		}
	}
	return true
}
