package krm

import (
	"cmp"
	"strconv"
	"strings"
)

// The annotations by which the resources of a generator say how they are to be treated.
const (
	needsHashAnnotation = "kustomize.config.k8s.io/needs-hash"
	behaviorAnnotation  = "kustomize.config.k8s.io/behavior"

	// kustomizeID is what kustomize finds resources by after a transformer; it takes it from those of the input, too.
	kustomizeID = "kustomize.config.k8s.io/id"
)

// attach makes resources of the items and gives them back what the build knows about them.
func (d *wireDecoder) attach(items []Item) error {
	rs := make([]*Resource, len(items))
	d.carriers, d.owners = make([]*Item, d.in.Len()), make([]*Item, d.in.Len())
	for i := range items {
		it := &items[i]
		from, err := d.owner(it)
		if err != nil {
			return err
		}
		r, err := d.resource(it, from)
		if err != nil {
			return err
		}
		d.warnLocal(it, r, from)
		rs[i] = r
	}
	list := NewList(rs...)
	if list.CheckUnique() != nil {
		return d.duplicate(list, items)
	}
	switch d.Role {
	case GeneratorRole:
		d.reply.List = list
		return nil
	case ValidatorRole:
		d.reply.List = d.in
		return d.checkUnchanged(rs)
	}
	return d.merge(rs)
}

// duplicate returns the error for the first resource of list that has the identity of another one; items are in the same order.
func (d *wireDecoder) duplicate(list *List, items []Item) error {
	for i, r := range list.All() {
		if first := list.Find(r.ID())[0]; first < i {
			return d.errorf(FieldPath(items[i].Path), "duplicate resource %s: it is also %s", r.ID(), FieldPath(items[first].Path))
		}
	}
	return nil
}

// owner returns the position of the resource that an item is, by the id that it carries, -1 if it carries none that was given
// out in this call.
func (d *wireDecoder) owner(it *Item) (int, error) {
	i := d.carried(it)
	if i < 0 {
		return -1, nil
	}
	owner := d.meant(it, i)
	if other := cmp.Or(d.carriers[i], d.owners[owner]); other != nil {
		return -1, d.errorf(FieldPath(it.Path), "%s has the same id as %s, %s", objectName(it.Value), FieldPath(other.Path), objectName(other.Value)).
			Hint("remove the annotation %s from copies of a resource", idAnnotation)
	}
	d.carriers[i], d.owners[owner] = it, it
	return owner, nil
}

// carried returns the position of the resource that has got the id of an item, -1 if none has.
func (d *wireDecoder) carried(it *Item) int {
	id := it.Value.At("metadata", "annotations", idAnnotation).Text()
	if id == "" || d.in.Len() == 0 {
		return -1
	}
	if d.prefix == "" {
		d.prefix = d.idPrefix()
	}
	number, ok := strings.CutPrefix(id, d.prefix)
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= d.in.Len() || strconv.Itoa(i) != number {
		return -1
	}
	return i
}

// meant returns the position of the resource that an item is which carries the id of resource i. The id tells it if a function
// has renamed the resource. But an item that has the name of another resource, and is more like that one, got the wrong id:
// ids that are exchanged do not move what the build knows about a resource to another one.
func (d *wireDecoder) meant(it *Item, i int) int {
	carried := d.in.At(i)
	r := NewResource(it.Value, carried.Schema())
	if r.ID().Key() == carried.ID().Key() {
		return i
	}
	at := d.known.Find(r.ID())
	if len(at) != 1 || d.distance(at[0], it) >= d.distance(i, it) {
		return i
	}
	d.warn(FieldPath(it.Path), "%s has the id of %s; it counts as what its name says", r.ID(), carried.ID())
	return at[0]
}

// warnLocal warns if r, which a function returned for a resource of the input, will for the first time not be in the output. from
// is the resource whose id it has, -1 for none.
func (d *wireDecoder) warnLocal(it *Item, r *Resource, from int) {
	if !r.IsLocal() {
		return
	}
	if at := d.known.Find(r.ID()); from < 0 && len(at) > 0 {
		from = at[0]
	}
	if from >= 0 && !d.in.At(from).IsLocal() {
		d.warn(FieldPath(it.Path), "%s has annotated %s with %s: it will not be in the output", d.Name, d.in.At(from).ID(), LocalConfigAnnotation)
	}
}

// resource returns the resource that an item describes, with the state of resource number from of the input.
func (d *wireDecoder) resource(it *Item, from int) (*Resource, error) {
	v := Refolded(it.Value)
	var r *Resource
	if from >= 0 {
		old := d.in.At(from)
		r = old.Reborn(d.cleanAnnotations(v, old.Annotations()))
	} else {
		r = NewResource(d.cleanAnnotations(v, Value{}), d.Schema)
		r.Pos = d.Pos
	}
	if d.Role == GeneratorRole {
		return r, d.options(r, it)
	}
	return r, nil
}

// options reads what a generator says about a resource that it made.
func (d *wireDecoder) options(r *Resource, it *Item) error {
	annotations := it.Value.At("metadata", "annotations")
	if a := annotations.Get(needsHashAnnotation); a.Exists() {
		needs, err := strconv.ParseBool(a.Text())
		if err != nil {
			path := append(it.Path[:len(it.Path):len(it.Path)], "metadata", "annotations", needsHashAnnotation)
			return d.errorf(FieldPath(path), "must be true or false, not %q", a.Text())
		}
		r.NeedsHash = needs
	}
	switch a := annotations.Get(behaviorAnnotation).Text(); a {
	case "create", "merge", "replace":
		r.Behavior = a
	}
	return nil
}

// cleanAnnotations returns v with annotations that are strings and without those that steer builds and runners, which a
// function could use to pass a resource off as another one. kept are those that the resource had before the call.
func (d *wireDecoder) cleanAnnotations(v, kept Value) Value {
	meta := v.Get("metadata")
	old := meta.Get("annotations")
	if !old.Exists() {
		return v
	}
	fields := make([]Field, 0, old.Len())
	for _, f := range old.Fields() {
		if d.steers(f.Key) && (f.Key == idAnnotation || f.Key == kustomizeID || !kept.Get(f.Key).Exists()) {
			continue
		}
		fields = append(fields, Field{f.Key, annotationText(f.Value)})
	}
	if len(fields) == 0 {
		return v.With("metadata", meta.Without("annotations"))
	}
	return v.With("metadata", meta.With("annotations", MapOf(fields...)))
}

func (d *wireDecoder) steers(key string) bool {
	switch key {
	case needsHashAnnotation, behaviorAnnotation:
		return d.Role == GeneratorRole
	case kustomizeID:
		return d.Role == TransformerRole
	}
	return isInternal(key)
}

// merge makes the list of a transformer: resources that have the identity of one before take its place, others go to the
// end, and what did not come back is gone.
func (d *wireDecoder) merge(rs []*Resource) error {
	places := make([]*Resource, d.in.Len(), d.in.Len()+len(rs))
	for _, r := range rs {
		at := d.known.Find(r.ID())
		switch len(at) {
		case 0:
			places = append(places, r)
			continue
		case 1:
		default:
			return d.errorf("", "%s is %d resources of the input", r.ID(), len(at))
		}
		old := d.in.At(at[0])
		r.RefVars = old.RefVars
		if r.Pos == d.Pos {
			r.Pos = old.Pos
		}
		places[at[0]] = r
	}
	kept := places[:0]
	for i, r := range places {
		if r != nil {
			kept = append(kept, r)
		} else if d.owners[i] == nil {
			d.reply.Removed = append(d.reply.Removed, d.in.At(i).ID())
		}
	}
	d.reply.List = NewList(kept...)
	return nil
}
