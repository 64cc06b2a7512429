package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A doubter compares a strategic merge patch with what it is applied to, and warns about what was probably meant for something that is
// there: a field, or a container.
type doubter struct {
	patch *smPatch
	warn  Warn
}

// doubts warns about what the patch adds to r and was probably not meant to add.
func (p *smPatch) doubts(kinds *schema.Schema, r *krm.Resource, warn Warn) {
	if n := kinds.For(schema.Kind(r.ID().GVK)); n.Exists() {
		(&doubter{p, warn}).mapping(p.value, r.Value(), n, nil)
	}
}

// mapping compares mappings; there may be none in dest.
func (d *doubter) mapping(patch, dest yaml.Value, n schema.Node, path []any) {
	for _, f := range patch.Fields() {
		next := n.Field(f.Key)
		if !next.Exists() {
			if !dest.Get(f.Key).Exists() && !f.Value.IsNull() && !strings.HasPrefix(f.Key, "$") {
				d.unknown(f.Key, dest, n, append(path, f.Key))
			}
			continue
		}
		switch f.Value.Type() {
		case yaml.Map:
			d.mapping(f.Value, dest.Get(f.Key), next, append(path, f.Key))
		case yaml.Seq:
			d.list(f.Value, dest.Get(f.Key), next, append(path, f.Key))
		}
	}
}

func (d *doubter) list(patch, dest yaml.Value, n schema.Node, path []any) {
	elem := n.Elem()
	if !elem.Exists() {
		return
	}
	keys := n.MergeKeys()
	for i, item := range patch.Items() {
		var old yaml.Value
		if id, ok := itemID(keys, item); ok && len(keys) > 0 {
			if at := slices.IndexFunc(dest.Items(), func(x yaml.Value) bool { other, _ := itemID(keys, x); return other == id }); at >= 0 {
				old = dest.Items()[at]
			} else {
				d.container(item, dest, path, i)
			}
		}
		d.mapping(item, old, elem, append(path, i))
	}
}

// container warns about item i of a patch's list of containers that stands for none that there is, and is no whole container.
func (d *doubter) container(item, dest yaml.Value, path []any, i int) {
	field, _ := path[len(path)-1].(string)
	if field != "containers" && field != "initContainers" || dest.Len() == 0 || item.Get("image").Exists() || item.Get(directiveKey).Exists() {
		return
	}
	var names []string
	for _, c := range dest.Items() {
		names = append(names, c.Get("name").Text())
	}
	name := item.Get("name").Text()
	d.say(diag.PatchTypes, append(path, i, "name"), "the patch adds a container %q, which has no image%s", name, diag.Next(func() []string {
		if near := diag.DidYouMean(name, names); near != nil {
			return near
		}
		return []string{"a container is changed by its name: " + diag.Some(names)}
	}))
}

// unknown warns about a field that Kubernetes does not know, if it is nearly called as one that it does.
func (d *doubter) unknown(key string, dest yaml.Value, n schema.Node, path []any) {
	names := n.Names()
	if near := diag.Nearest(key, names); near != "" && diag.Near(key, near, max(1, min(2, len(key)/4))) {
		d.say(diag.PatchTypes, path, "the patch adds a field %q that Kubernetes does not know%s", key, diag.Next(func() []string { return diag.DidYouMean(key, names) }))
	}
}

// say warns about a place in the patch.
func (d *doubter) say(code diag.Code, path []any, format string, args ...any) {
	w := diag.Errorf(diag.Pos{}, diag.FieldPath(path), format, args...)
	if d.patch.src != nil && d.patch.src.File != "" {
		w.Pos = d.patch.src.Locate(d.patch.doc, path...)
	}
	d.warn(code, "%w", w)
}
