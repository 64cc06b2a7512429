package krm

import (
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
func (d *wireDecoder) attach(items []wireItem) error {
	rs := make([]*Resource, len(items))
	owners := make([]*wireItem, d.in.Len())
	seen := make(map[ID]*wireItem, len(items))
	for i := range items {
		it := &items[i]
		from, err := d.owner(it, owners)
		if err != nil {
			return err
		}
		r, err := d.resource(it, from)
		if err != nil {
			return err
		}
		if other := seen[r.id.Key()]; other != nil {
			return d.errorf(printPath(it.path), "duplicate resource %s: it is also %s", r.id, printPath(other.path))
		}
		seen[r.id.Key()] = it
		rs[i] = r
	}
	switch d.Role {
	case GeneratorRole:
		d.reply.List = NewList(rs...)
		return nil
	case ValidatorRole:
		d.reply.List = d.in
		return d.checkUnchanged(rs)
	}
	return d.merge(rs, owners)
}

// owner returns the position of the resource whose id the item carries, -1 if it carries none that was given out in this
// call.
func (d *wireDecoder) owner(it *wireItem, owners []*wireItem) (int, error) {
	id := it.value.At("metadata", "annotations", idAnnotation).Text()
	if id == "" || len(owners) == 0 {
		return -1, nil
	}
	if d.prefix == "" {
		d.prefix = d.idPrefix()
	}
	number, ok := strings.CutPrefix(id, d.prefix)
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(owners) || strconv.Itoa(i) != number {
		return -1, nil
	}
	if other := owners[i]; other != nil {
		return -1, d.errorf(printPath(it.path), "%s has the same id as %s, %s", objectName(it.value), printPath(other.path), objectName(other.value)).
			Hint("remove the annotation %s from copies of a resource", idAnnotation)
	}
	owners[i] = it
	return i, nil
}

// resource returns the resource that an item describes, with the state of resource number from of the input.
func (d *wireDecoder) resource(it *wireItem, from int) (*Resource, error) {
	r := &Resource{scopes: d.Schema, Pos: d.Pos}
	var kept Value
	if from >= 0 {
		old := d.in.At(from)
		*r = *old.Copy()
		r.value, r.id, r.linked, r.RefVars = Value{}, ID{}, false, nil
		kept = old.Annotations()
	}
	v := rewritten(it.value)
	if d.Role == GeneratorRole {
		if err := d.options(r, it); err != nil {
			return nil, err
		}
	}
	r.SetValue(d.cleanAnnotations(v, kept))
	return r, nil
}

// options reads what a generator says about a resource that it made.
func (d *wireDecoder) options(r *Resource, it *wireItem) error {
	annotations := it.value.At("metadata", "annotations")
	if a := annotations.Get(needsHashAnnotation); a.Exists() {
		needs, err := strconv.ParseBool(a.Text())
		if err != nil {
			path := append(it.path[:len(it.path):len(it.path)], "metadata", "annotations", needsHashAnnotation)
			return d.errorf(printPath(path), "must be true or false, not %q", a.Text())
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

// rewritten returns v with the texts that writing and reading YAML changes: kustomize does it once more with what comes
// from a function.
func rewritten(v Value) Value {
	switch v.Type() {
	case String:
		if v.IsFolded() {
			return Str(v.outputText()).WithStyleOf(v)
		}
	case Seq:
		for i, x := range v.Items() {
			if y := rewritten(x); !y.Same(x) {
				v = v.WithItem(i, y)
			}
		}
	case Map:
		for _, f := range v.Fields() {
			if y := rewritten(f.Value); !y.Same(f.Value) {
				v = v.With(f.Key, y)
			}
		}
	}
	return v
}

// merge makes the list of a transformer: resources that have the identity of one before take its place, others go to the
// end, and what did not come back is gone.
func (d *wireDecoder) merge(rs []*Resource, owners []*wireItem) error {
	list := d.in.Clone()
	places := make([]*Resource, d.in.Len(), d.in.Len()+len(rs))
	for _, r := range rs {
		at := list.Find(r.id)
		switch len(at) {
		case 0:
			places = append(places, r)
			continue
		case 1:
		default:
			return d.errorf("", "%s is %d resources of the input", r.id, len(at))
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
		} else if owners[i] == nil {
			d.reply.Removed = append(d.reply.Removed, d.in.At(i).id)
		}
	}
	d.reply.List = NewList(kept...)
	return nil
}
