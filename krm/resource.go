package krm

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Resource is one Kubernetes object with the state that a build keeps for it. Other lists may
// share a resource in a list. Change it only with [List.Change], or replace it with a changed copy
// ([Resource.Copy]).
//
// The state is for steps at the end of a build. References in other objects use the name that an
// object had when their file was written. At the end they must be updated to its final name, so
// each resource remembers the names that it had.
type Resource struct {
	value yaml.Value
	id    ID
	// scopes is the schema that was in effect when the resource was loaded. It decides whether the
	// kind is namespaced, even if a later layer sets a different schema. nil is the schema of
	// Kubernetes.
	scopes *schema.Schema
	size   int             // source text plus growth: see yaml.Value.Size
	linked bool            // value may contain linked strings
	owner  *owner          // the only list that may change this in place, or nil
	room   *yaml.FieldRoom // spare capacity after a mapping in value, or nil
	memory any             // see [List.Memory]
	// rewritten is a cache without other effects: see [Resource.Rewritten].
	rewritten yaml.Value

	// Prev holds the identities before each renaming step, oldest first. Patches, replacements and
	// references in every layer find the resource by the name that it had in that layer.
	Prev []ID
	// Prefixes and Suffixes are the name prefixes and suffixes that were added, innermost first.
	// They distinguish resources with the same original name from different layers.
	Prefixes, Suffixes []string
	// RefVars names the vars that take their value from this resource.
	RefVars []string
	// Taken holds texts that steps copied from values of Secrets into the object. They must not be
	// shown, and do not affect later steps.
	Taken []string
	// NameCopies are the names of other objects that replacements copied into the object.
	NameCopies []NameCopy
	// Behavior is how a generated resource combines with an existing one: "create", "merge",
	// "replace" or "".
	Behavior string
	// NeedsHash is true if the content hash must be appended to the name at the end of the build.
	NeedsHash bool
	// Origin is the source of the resource, and Transformations are the transformers that changed
	// it, both for buildMetadata. They are recorded only if the root asks for them.
	Origin          *Origin
	Transformations []*Origin
	// Pos is the start of the document. The items of a List share it: see [Resource.Start].
	Pos diag.Pos
	// The resource was read from document doc of src, nil if it was generated.
	src *yaml.Source
	doc int
}

// A NameCopy is the name of an object that a replacement copied into a field of another object. A
// later step may rename the first object.
type NameCopy struct {
	Kind, Name string // of the object whose name was copied
	Field      string // the path as it is in the replacement
	// Text returns the text at the field of an object, "" if there is none.
	Text func(object yaml.Value) string
	// Place returns the position of the replacement.
	Place func() diag.Pos
}

// An Origin is the provenance that buildMetadata's originAnnotations and transformerAnnotations
// print.
type Origin struct {
	// Path is the file, relative to the root of the build, or to the repository for remote files.
	Path string
	// Repo and Ref identify the remote repository, if any.
	Repo, Ref string
	// ConfiguredIn is the file of the generator or transformer configuration, and ConfiguredBy its
	// identity.
	ConfiguredIn string
	ConfiguredBy ID
}

// NewResource returns a resource for value. A nil schema is the schema of Kubernetes.
func NewResource(value yaml.Value, kinds *schema.Schema) *Resource {
	r := &Resource{scopes: kinds}
	r.SetValue(value)
	return r
}

// Locate returns the position of a field in the file that the resource was read from, or of its
// nearest parent that is there. For a generated resource it returns Pos.
func (r *Resource) Locate(path ...any) diag.Pos {
	if r.src == nil {
		return r.Pos
	}
	return r.src.Locate(r.doc, path...)
}

// Start returns the position where the object starts. It differs from Pos for an item of a List,
// whose line it finds by parsing the file again. It is meant for messages.
func (r *Resource) Start() diag.Pos {
	if r.src != nil && r.src.IsItem(r.doc) {
		return r.src.Locate(r.doc)
	}
	return r.Pos
}

// Original returns the object as it is in its file, and false for a generated resource.
func (r *Resource) Original() (yaml.Value, bool) {
	if r.src == nil {
		return yaml.Value{}, false
	}
	docs, err := r.src.Documents()
	if err != nil || r.doc >= len(docs) {
		return yaml.Value{}, false
	}
	return docs[r.doc].Value, true
}

// Value returns the object.
func (r *Resource) Value() yaml.Value { return r.value }

// Room returns the number of bytes by which the object may still grow, negative if it is too large
// already: see [yaml.Value.Size].
func (r *Resource) Room() int { return yaml.MaxResource - r.size }

// Rewritten returns the object as the last JSON patch left it, None if there was none. Parts that
// the object still shares with it are already in the form that a JSON patch produces.
func (r *Resource) Rewritten() yaml.Value { return r.rewritten }

// SetRewritten sets the value that [Resource.Rewritten] returns.
func (r *Resource) SetRewritten(v yaml.Value) { r.rewritten = v }

// Copy returns a copy of r that shares its Value. The slices of the copy are capped, so that
// append never writes to shared memory.
func (r *Resource) Copy() *Resource {
	c := *r
	c.owner, c.room, c.memory = nil, nil, nil
	c.Prev = c.Prev[:len(c.Prev):len(c.Prev)]
	c.Prefixes = c.Prefixes[:len(c.Prefixes):len(c.Prefixes)]
	c.Suffixes = c.Suffixes[:len(c.Suffixes):len(c.Suffixes)]
	c.RefVars = c.RefVars[:len(c.RefVars):len(c.RefVars)]
	c.Taken = c.Taken[:len(c.Taken):len(c.Taken)]
	c.NameCopies = c.NameCopies[:len(c.NameCopies):len(c.NameCopies)]
	c.Transformations = c.Transformations[:len(c.Transformations):len(c.Transformations)]
	return &c
}

// SetValue replaces the object with v and updates the current identity. A change to a string made
// by [yaml.Linked] in one place of v is applied in all its places. Call [Resource.Unlink] first if
// v was not derived from the current object.
func (r *Resource) SetValue(v yaml.Value) {
	r.setValue(v, false)
}

// SetLinkedValue is [Resource.SetValue] for a v to which strings made by [yaml.Linked] were added.
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

// adopt makes v the object. It recomputes only the parts of the identity whose fields changed,
// because few steps change any.
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

// OrigID returns the oldest identity, or the current one if the resource was never renamed.
func (r *Resource) OrigID() ID {
	if len(r.Prev) > 0 {
		return r.PrevID(0)
	}
	return r.id
}

// PrevID returns previous identity i with the current group and version. Like kustomize, a
// resource remembers only kind, name and namespace.
func (r *Resource) PrevID(i int) ID {
	id := r.Prev[i]
	id.Group, id.Version = r.id.Group, r.id.Version
	return id
}

// hasID reports whether key is the key of the current or a previous identity of r.
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

// PushID records the current identity as a previous one. A step calls it before it renames the
// resource.
func (r *Resource) PushID() {
	id := r.id
	id.Namespace = id.EffectiveNamespace()
	id.Cluster = false
	if r.Prev == nil {
		r.Prev = make([]ID, 0, 3) // often one each for namespace, prefix and suffix
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

// Reborn returns a new resource for v, the object that a function returned for r. It keeps the
// state of r, but not its links, and no var takes its value from it.
func (r *Resource) Reborn(v yaml.Value) *Resource {
	c := r.Copy()
	c.value, c.id, c.size, c.linked, c.rewritten, c.RefVars = yaml.Value{}, ID{}, 0, false, yaml.Value{}, nil
	c.SetValue(v)
	return c
}

// LocalConfigAnnotation marks resources that are not part of the output: see [Resource.IsLocal].
const LocalConfigAnnotation = "config.kubernetes.io/local-config"

// IsLocal reports whether the resource is used during the build but omitted from the output: it
// has [LocalConfigAnnotation] with any value except "false".
func (r *Resource) IsLocal() bool {
	local := r.Annotations().Get(LocalConfigAnnotation)
	return local.Exists() && local.Text() != "false"
}

// Schema returns the schema that was in effect when the resource was loaded, nil for the schema of
// Kubernetes.
func (r *Resource) Schema() *schema.Schema { return r.scopes }

// IsLinked reports whether the object may contain linked strings: see [Resource.SetValue].
func (r *Resource) IsLinked() bool { return r.linked }

// NoteGrowth records that the object has grown by n bytes, because the caller, who owns r, has
// changed scalars in parts of the object that nothing else shares. They must not be parts of the
// identity or the metadata.
func (r *Resource) NoteGrowth(n int) { r.size = max(0, r.size+n) }

// Unlink turns the linked strings of r into ordinary ones.
func (r *Resource) Unlink() {
	if r.linked {
		r.linked = false
		r.value = r.value.Unlinked()
	}
}

// WithField returns v, a mapping within the object of r, with a new field key, which v must not
// have. It is [yaml.Value.With] for callers that add many fields. The caller must own r: see
// [List.Change].
func (r *Resource) WithField(v yaml.Value, key string, x yaml.Value) yaml.Value {
	return r.fieldRoom().With(v, key, x)
}

func (r *Resource) fieldRoom() *yaml.FieldRoom {
	if r.room == nil {
		r.room = new(yaml.FieldRoom)
	}
	return r.room
}
