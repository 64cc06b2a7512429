package krm

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Resource is one Kubernetes object together with what a build must remember about it. A resource that is in a list is
// changed by [List.Change] only, or copied ([Resource.Copy]) and replaced by the copy: other lists may have it, too.
//
// What is remembered serves the steps at the end of a build: references in other objects hold the name that an object had when
// their file was written, and are to hold the one that it has in the end.
type Resource struct {
	value yaml.Value
	id    ID
	// scopes is the schema that was in effect when the resource was loaded. It decides whether the kind has a namespace, also
	// if a later layer brings another schema; nil is Kubernetes' own.
	scopes *schema.Schema
	size   int             // of the text that it was read from, and what steps have added: see Value.Size
	linked bool            // value may hold linked strings
	owner  *owner          // of the list that this is a copy for; no other has it
	room   *yaml.FieldRoom // behind a mapping in value, nil if there is none
	// rewritten saves work and means nothing: see [Resource.Rewritten].
	rewritten yaml.Value

	// Prev holds the identities that the resource had before renaming steps, oldest first: by them patches, replacements and
	// references of all layers find it, each by the name that it had in that layer.
	Prev []ID
	// Prefixes and Suffixes are the name prefixes and suffixes that were added, innermost first. They tell apart
	// resources of one original name from different layers.
	Prefixes, Suffixes []string
	// RefVars names the vars that take their value from this resource.
	RefVars []string
	// Taken are texts that steps copied from values of Secrets into the object. They must not be
	// shown, and do not affect later steps.
	Taken []string
	// Behavior is how a generated resource combines with one that exists: "create", "merge", "replace" or "".
	Behavior string
	// NeedsHash is true when the content hash must be appended to the name at the end of the build.
	NeedsHash bool
	// Origin is where the resource came from and Transformations which transformers touched it, for buildMetadata;
	// both are recorded only if the root asks for them.
	Origin          *Origin
	Transformations []*Origin
	// Pos is where the document starts.
	Pos diag.Pos
}

// An Origin is the provenance that buildMetadata's originAnnotations and transformerAnnotations print.
type Origin struct {
	// Path is the file, relative to the root of the build (of the repository for remote ones).
	Path string
	// Repo and Ref name the remote repository, if there is one.
	Repo, Ref string
	// ConfiguredIn is the file of the generator or transformer configuration and ConfiguredBy its identity.
	ConfiguredIn string
	ConfiguredBy ID
}

// NewResource returns a resource for value. A nil schema stands for Kubernetes' own.
func NewResource(value yaml.Value, kinds *schema.Schema) *Resource {
	r := &Resource{scopes: kinds}
	r.SetValue(value)
	return r
}

// Value returns the object.
func (r *Resource) Value() yaml.Value { return r.value }

// Room returns by how many bytes the object may still grow, negative if it has grown too large: see [yaml.Value.Size].
func (r *Resource) Room() int { return yaml.MaxResource - r.size }

// Rewritten returns the object as the last JSON patch left it, None if there was none. Parts of it that the object still has are
// in the form that such a patch gives them.
func (r *Resource) Rewritten() yaml.Value { return r.rewritten }

// SetRewritten keeps v for [Resource.Rewritten].
func (r *Resource) SetRewritten(v yaml.Value) { r.rewritten = v }

// Copy returns a copy of r that shares the Value; its slices are capped, so that append never writes to shared memory.
func (r *Resource) Copy() *Resource {
	c := *r
	c.owner, c.room = nil, nil
	c.Prev = c.Prev[:len(c.Prev):len(c.Prev)]
	c.Prefixes = c.Prefixes[:len(c.Prefixes):len(c.Prefixes)]
	c.Suffixes = c.Suffixes[:len(c.Suffixes):len(c.Suffixes)]
	c.RefVars = c.RefVars[:len(c.RefVars):len(c.RefVars)]
	c.Taken = c.Taken[:len(c.Taken):len(c.Taken)]
	c.Transformations = c.Transformations[:len(c.Transformations):len(c.Transformations)]
	return &c
}

// SetValue replaces the object by v; the current identity follows. A string made by [yaml.Linked] that is another one in v in
// one place changes in all places. So if v was not made from the current object, call [Resource.Unlink] before.
func (r *Resource) SetValue(v yaml.Value) {
	r.setValue(v, false)
}

// SetLinkedValue is [Resource.SetValue] for a value to which strings made by [yaml.Linked] were added.
func (r *Resource) SetLinkedValue(v yaml.Value) {
	r.setValue(v, true)
	r.linked = true
}

func (r *Resource) setValue(v yaml.Value, linksAdded bool) {
	if r.linked {
		v = yaml.KeepLinks(r.value, v, linksAdded)
	}
	r.size = max(0, r.size+yaml.Growth(r.value, v))
	r.adopt(v)
}

// adopt makes v the object. Few steps change what its identity is made of.
func (r *Resource) adopt(v yaml.Value) {
	old := r.value
	r.value = v
	if v.Get("apiVersion") != old.Get("apiVersion") || v.Get("kind") != old.Get("kind") {
		if gvk := gvkOf(v); gvk != r.id.GVK {
			r.id.GVK, r.id.Cluster = gvk, r.scopes.ClusterScoped(schema.Kind(gvk))
		}
	}
	if meta := v.Get("metadata"); meta != old.Get("metadata") {
		r.id.Name, r.id.Namespace = meta.Get("name").Text(), meta.Get("namespace").Text()
	}
}

func gvkOf(v yaml.Value) GVK { return ParseGVK(v.Get("apiVersion").Text(), v.Get("kind").Text()) }

// ID returns the current identity.
func (r *Resource) ID() ID { return r.id }

// OrigID returns the oldest identity, the current one if the resource was never renamed.
func (r *Resource) OrigID() ID {
	if len(r.Prev) > 0 {
		return r.PrevID(0)
	}
	return r.id
}

// PrevID returns previous identity i. Its group and version are the current ones, as kustomize has it: only kind, name
// and namespace are remembered.
func (r *Resource) PrevID(i int) ID {
	id := r.Prev[i]
	id.Group, id.Version = r.id.Group, r.id.Version
	return id
}

// hasID reports whether r has or had an identity.
func (r *Resource) hasID(key ID) bool {
	if r.id.Key() == key {
		return true
	}
	for i := range r.Prev {
		if r.PrevID(i).Key() == key {
			return true
		}
	}
	return false
}

// PushID records the current identity as a previous one, before a step that may rename the resource.
func (r *Resource) PushID() {
	id := r.id
	id.Namespace = id.EffectiveNamespace()
	id.Cluster = false
	if r.Prev == nil {
		r.Prev = make([]ID, 0, 3) // often one for the namespace, one for a prefix and one for a suffix
	}
	r.Prev = append(r.Prev, id)
}

// SetName replaces metadata.name.
func (r *Resource) SetName(name string) {
	r.SetValue(r.value.WithAt(yaml.Str(name), "metadata", "name"))
}

// Labels returns metadata.labels, None if there are none.
func (r *Resource) Labels() yaml.Value { return r.value.At("metadata", "labels") }

// Annotations returns metadata.annotations, None if there are none.
func (r *Resource) Annotations() yaml.Value { return r.value.At("metadata", "annotations") }

// Reborn returns what r becomes when a function returns v for it: a resource of its own that has the object v and what the build
// remembers about r. Links are cut, and no var takes its value from it.
func (r *Resource) Reborn(v yaml.Value) *Resource {
	c := r.Copy()
	c.value, c.id, c.size, c.linked, c.rewritten, c.RefVars = yaml.Value{}, ID{}, 0, false, yaml.Value{}, nil
	c.SetValue(v)
	return c
}

// LocalConfigAnnotation marks resources that are for the build alone: see [Resource.IsLocal].
const LocalConfigAnnotation = "config.kubernetes.io/local-config"

// IsLocal reports whether the resource is for the build alone, and not part of its output: it is annotated as local-config, with any
// value but "false".
func (r *Resource) IsLocal() bool {
	local := r.Annotations().Get(LocalConfigAnnotation)
	return local.Exists() && local.Text() != "false"
}

// Schema returns the schema that the resource was loaded with, nil for Kubernetes' own.
func (r *Resource) Schema() *schema.Schema { return r.scopes }

// Unlink makes the links of r ordinary values.
func (r *Resource) Unlink() {
	if r.linked {
		r.linked = false
		r.value = r.value.Unlinked()
	}
}

// WithField returns v, a mapping within the object of r, with a field that it does not have. It is [Value.With] for one who adds
// many, and owns r: see [List.Change].
func (r *Resource) WithField(v yaml.Value, key string, x yaml.Value) yaml.Value {
	if r.room == nil {
		r.room = new(yaml.FieldRoom)
	}
	return r.room.With(v, key, x)
}
