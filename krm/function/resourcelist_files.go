package function

import (
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// attachFiles turns the items of a call with files into resources. An item continues the input
// resource whose id it has. If several items have the same id, the one with the resource's name
// continues it. An item without an id is matched by name or place. All other items are new. Copies
// are also new, although most functions keep all annotations, including the id, when they copy a
// resource.
func (d *wireDecoder) attachFiles(items []yaml.Item) error {
	if d.Role == ValidatorRole {
		d.reply.List = d.in
		return nil
	}
	of := make([]int, len(items)) // for each item, the resource that it continues
	d.owners = make([]*yaml.Item, d.in.Len())
	claim := func(i, at int) {
		of[i], d.owners[at] = at, &items[i]
	}
	for i := range items {
		of[i] = -1
		if at := d.carried(&items[i]); at >= 0 && d.owners[at] == nil && d.isNamed(at, items[i].Value) {
			claim(i, at)
		}
	}
	for i := range items {
		if at := d.carried(&items[i]); of[i] < 0 && at >= 0 && d.owners[at] == nil {
			claim(i, at)
		}
	}
	places := map[string]int{}
	for at, r := range d.in.All() {
		places[placeOf(r.Value())] = at
	}
	for i, it := range items {
		if of[i] >= 0 || d.carried(&items[i]) >= 0 {
			continue
		}
		if at := d.nameless(it.Value, places); at >= 0 {
			claim(i, at)
		}
	}
	rs := make([]*krm.Resource, len(items))
	for i := range items {
		var err error
		if rs[i], err = d.resource(&items[i], of[i]); err != nil {
			return err
		}
	}
	d.made = rs
	d.reply.List = krm.NewList(rs...)
	for at, r := range d.in.All() {
		if d.owners[at] == nil {
			d.reply.Removed = append(d.reply.Removed, r.ID())
		}
	}
	return nil
}

// nameless returns the position of the input resource that v, an item without an id, continues, or
// -1 if there is none.
func (d *wireDecoder) nameless(v yaml.Value, places map[string]int) int {
	place := placeOf(v)
	at, known := places[place]
	if known && place != "" && d.owners[at] == nil && d.isNamed(at, v) {
		return at
	}
	path, _ := Place(v)
	for _, at := range d.known.Find(krm.NewResource(v, d.Schema).ID()) {
		if in, _ := Place(d.in.At(at).Value()); d.owners[at] == nil && (path == "" || path == in) {
			return at
		}
	}
	if known && place != "" && d.owners[at] == nil && d.in.At(at).Value().Get("kind").Text() == v.Get("kind").Text() {
		return at
	}
	return -1
}

// isNamed reports whether v has the identity of input resource at.
func (d *wireDecoder) isNamed(at int, v yaml.Value) bool {
	old := d.in.At(at)
	return krm.NewResource(v, old.Schema()).ID().Key() == old.ID().Key()
}

// Place returns the path and the index in the annotations of v, empty if not present. For objects
// in a function's answer, use [MovedPlace].
func Place(v yaml.Value) (path, index string) {
	a := v.At("metadata", "annotations")
	text := func(key, legacy string) string {
		if x := a.Get(key); x.Exists() {
			return x.Text()
		}
		return a.Get(legacy).Text()
	}
	return text(PathAnnotation, LegacyPathAnnotation), text(IndexAnnotation, LegacyIndexAnnotation)
}

// MovedPlace returns the path that a function wants for a resource whose path was before. A
// function may set either of the two path annotations: the one that has changed takes precedence.
func MovedPlace(v yaml.Value, before string) string {
	a := v.At("metadata", "annotations")
	path, legacy := a.Get(PathAnnotation).Text(), a.Get(LegacyPathAnnotation).Text()
	if path == "" || path == before && legacy != "" {
		return legacy
	}
	return path
}

// placeOf returns the place of v as one string, "" if it has none.
func placeOf(v yaml.Value) string {
	path, index := Place(v)
	if path == "" {
		return ""
	}
	return path + "#" + index
}
