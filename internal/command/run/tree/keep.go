package tree

import (
	"slices"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Bare returns v, an object from a function, without location annotations. It also removes
// metadata that only held these. was is the object in its file, or None for a new object.
func Bare(v, was yaml.Value) yaml.Value {
	meta := v.Get("metadata")
	a := meta.Get("annotations")
	for _, key := range []string{function.PathAnnotation, function.IndexAnnotation, function.LegacyPathAnnotation,
		function.LegacyIndexAnnotation} {
		a = a.Without(key)
	}
	old := was.At("metadata", "annotations")
	switch {
	case a.Len() > 0:
		meta = meta.With("annotations", a)
	case old.Exists() && withoutPlace(old).Len() == 0 && old.Len() == 0:
		meta = meta.With("annotations", old) // empty, or null
	default:
		meta = meta.Without("annotations")
	}
	if meta.Len() == 0 {
		if old := was.Get("metadata"); old.Exists() && old.Len() == 0 {
			return v.With("metadata", old)
		}
		return v.Without("metadata")
	}
	return v.With("metadata", meta)
}

func withoutPlace(a yaml.Value) yaml.Value {
	for _, f := range a.Fields() {
		if function.IsPlace(f.Key) {
			a = a.Without(f.Key)
		}
	}
	return a
}

// Keep returns now, with field order (RL-15) and scalar formatting taken from was where they
// agree. If nothing differs, the result is was itself, so that [yaml.Value.Same] detects it.
func Keep(was, now yaml.Value) yaml.Value {
	meta := was.Get("metadata")
	// stale location annotations do not matter, but are kept if nothing else changes
	if a := meta.Get("annotations"); withoutPlace(a).Len() != a.Len() && a.Exists() {
		if bare := was.With("metadata", meta.With("annotations", withoutPlace(a))); same(bare, now) || same(Bare(bare, yaml.Value{}), now) {
			return was
		}
	}
	return keep(was, now, 0)
}

func same(a, b yaml.Value) bool {
	return a.Equal(b) || keep(a, b, 0).Same(a)
}

// keep is Keep at a depth. Functions see all annotation values, at depth 3, as strings,
// whatever their type in the file.
func keep(was, now yaml.Value, depth int) yaml.Value {
	if _, same := yaml.Unchanged(was, now); same {
		return was
	}
	switch {
	case was.Type() == yaml.Map && now.Type() == yaml.Map:
		return keepFields(was, now, depth)
	case was.Type() == yaml.Seq && now.Type() == yaml.Seq:
		return keepItems(was, now)
	}
	return now
}

func keepFields(was, now yaml.Value, depth int) yaml.Value {
	fields := make([]yaml.Field, 0, now.Len())
	differ := false
	for _, f := range was.Fields() {
		is := now.Get(f.Key)
		if !is.Exists() {
			differ = true
			continue
		}
		v := is
		switch {
		case depth == 0 && f.Key == "metadata" || depth == 1 && f.Key == "annotations":
			v = keep(f.Value, is, depth+1)
		case depth == 2 && f.Value.IsScalar() && is.Type() == yaml.String && f.Value.SourceText() == is.Text():
			v = f.Value
		default:
			v = keep(f.Value, is, -1)
		}
		differ = differ || !v.Same(f.Value)
		fields = append(fields, yaml.Field{Key: f.Key, Value: v})
	}
	for _, f := range now.Fields() {
		if !was.Get(f.Key).Exists() {
			differ = true
			fields = append(fields, f)
		}
	}
	if !differ {
		return was
	}
	return yaml.MapOf(fields...)
}

// keepItems matches list items: by index if the lists have the same length, otherwise by
// equality or by name.
func keepItems(was, now yaml.Value) yaml.Value {
	items := slices.Clone(now.Items())
	if was.Len() == now.Len() {
		for i, x := range items {
			items[i] = keep(was.Items()[i], x, -1)
		}
		return yaml.SeqOf(items...)
	}
	used := make([]bool, was.Len())
	for i, x := range items {
		at := slices.IndexFunc(was.Items(), func(w yaml.Value) bool { _, same := yaml.Unchanged(w, x); return same })
		if at < 0 {
			name := x.Get("name")
			at = slices.IndexFunc(was.Items(), func(w yaml.Value) bool { return name.Exists() && w.Get("name").Equal(name) })
		}
		if at >= 0 && !used[at] {
			used[at] = true
			items[i] = keep(was.Items()[at], x, -1)
		}
	}
	return yaml.SeqOf(items...)
}
