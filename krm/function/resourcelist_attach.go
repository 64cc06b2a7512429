package function

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The annotations with which a generator sets options of the resources that it returns.
const (
	needsHashAnnotation = "kustomize.config.k8s.io/needs-hash"
	behaviorAnnotation  = "kustomize.config.k8s.io/behavior"

	// kustomizeID is the annotation by which kustomize matches resources after a transformer.
	// kustomize removes it from resources of the input as well.
	kustomizeID = "kustomize.config.k8s.io/id"
)

// attach turns the items into resources and restores their build state.
func (d *wireDecoder) attach(items []yaml.Item) error {
	if d.Files {
		return d.attachFiles(items)
	}
	rs := make([]*krm.Resource, len(items))
	d.carriers, d.owners = make([]*yaml.Item, d.in.Len()), make([]*yaml.Item, d.in.Len())
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
	list := krm.NewList(rs...)
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

// duplicate returns the error for the first resource of list whose identity occurs earlier in it.
// The items correspond to the resources of list.
func (d *wireDecoder) duplicate(list *krm.List, items []yaml.Item) error {
	for i := range list.Len() { // not All, which yields nothing from a list that is too large
		id := list.At(i).ID()
		if first := list.Find(id)[0]; first < i {
			return d.errorf(diag.FieldPath(items[i].Path), "duplicate resource %s: it is also %s", id, diag.FieldPath(items[first].Path))
		}
	}
	return nil
}

// owner returns the position of the input resource that an item continues, according to the item's
// id, or -1 if the item has no id of this call.
func (d *wireDecoder) owner(it *yaml.Item) (int, error) {
	i := d.carried(it)
	if i < 0 {
		return -1, nil
	}
	owner := d.meant(it, i)
	if other := cmp.Or(d.carriers[i], d.owners[owner]); other != nil {
		return -1, d.errorf(diag.FieldPath(it.Path), "%s has the same id as %s, %s", objectName(it.Value), diag.FieldPath(other.Path),
			objectName(other.Value)).
			Hint("remove the annotation %s from copies of a resource", idAnnotation)
	}
	d.carriers[i], d.owners[owner] = it, it
	return owner, nil
}

// carried returns the position of the input resource whose id an item has, -1 if there is none.
func (d *wireDecoder) carried(it *yaml.Item) int {
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

// meant returns the position of the input resource that an item continues. The item has the id of
// resource i, and normally continues it, even if the function has renamed it. But if the item has
// the name of a different resource and is more similar to that one, the id is wrong, and the item
// continues the resource with its name. Otherwise a function that swaps ids could move the build
// state of one resource to another.
func (d *wireDecoder) meant(it *yaml.Item, i int) int {
	carried := d.in.At(i)
	r := krm.NewResource(it.Value, carried.Schema())
	if r.ID().Key() == carried.ID().Key() {
		return i
	}
	at := d.known.Find(r.ID())
	if len(at) != 1 || d.distance(at[0], it) >= d.distance(i, it) {
		return i
	}
	d.warn(diag.FieldPath(it.Path), "%s has the id annotation of %s; its name takes precedence", r.ID(), carried.ID())
	return at[0]
}

// warnLocal warns if r is local-config and its input resource is not, because the function has
// then removed it from the output. from is the position of the input resource, -1 if unknown.
func (d *wireDecoder) warnLocal(it *yaml.Item, r *krm.Resource, from int) {
	if !r.IsLocal() {
		return
	}
	if at := d.known.Find(r.ID()); from < 0 && len(at) > 0 {
		from = at[0]
	}
	if from >= 0 && !d.in.At(from).IsLocal() {
		d.warn(diag.FieldPath(it.Path), "%s annotated %s with %s, so it will not be in the output", d.Name, d.in.At(from).ID(),
			krm.LocalConfigAnnotation)
	}
}

// resource returns the resource for an item, with the state of the input resource at position
// from, or without state if from is -1.
func (d *wireDecoder) resource(it *yaml.Item, from int) (*krm.Resource, error) {
	v := yaml.Refolded(it.Value)
	var r *krm.Resource
	if from >= 0 {
		old := d.in.At(from)
		r = old.Reborn(d.cleanAnnotations(v, old.Annotations()))
	} else {
		r = krm.NewResource(d.cleanAnnotations(v, yaml.Value{}), d.Schema)
		r.Pos = d.Pos
	}
	if d.Role == GeneratorRole {
		return r, d.options(r, it)
	}
	return r, nil
}

// options reads the options that a generator set on a resource.
func (d *wireDecoder) options(r *krm.Resource, it *yaml.Item) error {
	annotations := it.Value.At("metadata", "annotations")
	if a := annotations.Get(needsHashAnnotation); a.Exists() {
		needs, err := strconv.ParseBool(a.Text())
		if err != nil {
			path := append(it.Path[:len(it.Path):len(it.Path)], "metadata", "annotations", needsHashAnnotation)
			return d.errorf(diag.FieldPath(path), "must be true or false, not %q", a.Text())
		}
		r.NeedsHash = needs
	}
	switch a := annotations.Get(behaviorAnnotation).Text(); a {
	case "create", "merge", "replace":
		r.Behavior = a
	}
	return nil
}

// cleanAnnotations returns v with all annotations as strings and without those that control builds
// and function runners. With the latter, a function could pass a resource off as a different one.
// kept are the annotations before the call: those are kept, except ids.
func (d *wireDecoder) cleanAnnotations(v, kept yaml.Value) yaml.Value {
	meta := v.Get("metadata")
	old := meta.Get("annotations")
	if !old.Exists() {
		return v
	}
	fields := make([]yaml.Field, 0, old.Len())
	for _, f := range old.Fields() {
		if d.steers(f.Key) && (f.Key == idAnnotation || f.Key == kustomizeID || !kept.Get(f.Key).Exists()) {
			continue
		}
		fields = append(fields, yaml.Field{Key: f.Key, Value: annotationText(f.Value)})
	}
	if len(fields) == 0 {
		return v.With("metadata", meta.Without("annotations"))
	}
	return v.With("metadata", meta.With("annotations", yaml.MapOf(fields...)))
}

func (d *wireDecoder) steers(key string) bool {
	if d.Files {
		return isInternal(key) && !IsPlace(key)
	}
	switch key {
	case needsHashAnnotation, behaviorAnnotation:
		return d.Role == GeneratorRole
	case kustomizeID:
		return d.Role == TransformerRole
	}
	return isInternal(key)
}

// merge makes the output list of a transformer. A returned resource with the identity of an input
// resource takes its position. Others are appended. Input resources that were not returned are
// removed.
func (d *wireDecoder) merge(rs []*krm.Resource) error {
	places := make([]*krm.Resource, d.in.Len(), d.in.Len()+len(rs))
	for _, r := range rs {
		at := d.known.Find(r.ID())
		switch len(at) {
		case 0:
			places = append(places, r)
			continue
		case 1:
		default:
			return d.errorf("", "%s matches %d resources of the input", r.ID(), len(at))
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
	d.reply.List = krm.NewList(kept...)
	return nil
}
