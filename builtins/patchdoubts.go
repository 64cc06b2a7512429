package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A doubter compares a strategic merge patch with its target. It warns about parts of the patch
// that were probably meant for an existing field or container.
type doubter struct {
	patch *smPatch
	warn  Warn
}

// A step is the last element of a path in a patch: a field or, if field is empty, an item. A
// linked list is enough because only warnings need the complete path.
type step struct {
	up    *step
	field string
	item  int
}

// path returns the path in the form used by messages and files.
func (s *step) path() []any {
	if s == nil {
		return nil
	}
	if s.field == "" {
		return append(s.up.path(), s.item)
	}
	return append(s.up.path(), s.field)
}

// doubts warns about additions of the patch to r that were probably not intended.
func (p *smPatch) doubts(kinds *schema.Schema, r *krm.Resource, warn Warn) {
	if n := kinds.For(schema.Kind(r.ID().GVK)); n.Exists() {
		(&doubter{p, warn}).mapping(p.value, r.Value(), n, nil)
	}
}

// mapping compares two mappings. dest may be None.
func (d *doubter) mapping(patch, dest yaml.Value, n schema.Node, at *step) {
	for _, f := range patch.Fields() {
		next := n.Field(f.Key)
		if !next.Exists() {
			if !dest.Get(f.Key).Exists() && !f.Value.IsNull() && !strings.HasPrefix(f.Key, "$") {
				d.unknown(f.Key, dest, n, &step{up: at, field: f.Key})
			}
			continue
		}
		switch f.Value.Type() {
		case yaml.Map:
			d.mapping(f.Value, dest.Get(f.Key), next, &step{up: at, field: f.Key})
		case yaml.Seq:
			d.list(f.Value, dest.Get(f.Key), next, &step{up: at, field: f.Key})
		}
	}
}

func (d *doubter) list(patch, dest yaml.Value, n schema.Node, at *step) {
	elem := n.Elem()
	if !elem.Exists() {
		return
	}
	keys := n.MergeKeys()
	for i, item := range patch.Items() {
		var old yaml.Value
		if id, ok := itemID(keys, item); ok && len(keys) > 0 {
			if j := slices.IndexFunc(dest.Items(), func(x yaml.Value) bool { other, _ := itemID(keys, x); return other == id }); j >= 0 {
				old = dest.Items()[j]
			} else {
				d.container(item, dest, at, i)
			}
		}
		d.mapping(item, old, elem, &step{up: at, item: i})
	}
}

// container warns about item i of a list of containers in the patch if it matches no existing
// container and is not a complete container itself.
func (d *doubter) container(item, dest yaml.Value, at *step, i int) {
	if field := at.field; field != "containers" && field != "initContainers" || dest.Len() == 0 || item.Get("image").Exists() ||
		item.Get(directiveKey).Exists() {
		return
	}
	var names []string
	for _, c := range dest.Items() {
		names = append(names, c.Get("name").Text())
	}
	name := item.Get("name").Text()
	d.say(diag.PatchTypes, append(at.path(), i, "name"), "the patch adds a container %q without an image%s",
		name, diag.Next(func() []string {
			if near := diag.DidYouMean(name, names); near != nil {
				return near
			}
			return []string{"containers are matched by name; the containers are: " + diag.Some(names)}
		}))
}

// unknown warns about a field unknown to Kubernetes whose name is similar to that of a known
// field.
func (d *doubter) unknown(key string, dest yaml.Value, n schema.Node, at *step) {
	names := n.Names()
	if near := diag.Nearest(key, names); near != "" && diag.Near(key, near, max(1, min(2, len(key)/4))) {
		d.say(diag.PatchTypes, at.path(), "the patch adds a field %q that Kubernetes does not know%s",
			key, diag.Next(func() []string { return diag.DidYouMean(key, names) }))
	}
}

// say warns about a place in the patch.
func (d *doubter) say(code diag.Code, path []any, format string, args ...any) {
	w := diag.Errorf(diag.Pos{}, diag.FieldPath(path), format, args...)
	if src := d.patch.text.src; src.File != "" {
		w.Pos = src.Locate(d.patch.doc, path...)
	}
	d.warn(code, "%w", d.patch.text.at(w, d.patch.doc, path...))
}
