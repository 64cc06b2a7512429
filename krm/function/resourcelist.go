package function

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Role is the purpose for which a function is called.
type Role uint8

// The roles of functions. Only a validator may return an empty answer. If it returns resources,
// they must equal its input.
const (
	TransformerRole Role = iota
	GeneratorRole
	ValidatorRole
)

// The supported versions of the ResourceList.
const (
	ResourceListV1       = "config.kubernetes.io/v1"
	ResourceListV1beta1  = "config.kubernetes.io/v1beta1"
	ResourceListV1alpha1 = "config.kubernetes.io/v1alpha1"
)

// WireOptions are the options of one function call. [EncodeResourceList] and [DecodeResourceList]
// must receive the same ones.
type WireOptions struct {
	Role Role
	// Version is the apiVersion of the list that the function receives, [ResourceListV1] if empty.
	// The answer may have any supported version.
	Version string
	// Seed determines the ids that match returned resources to input resources. With a digest of
	// everything that affects the call, the function's input is the same in every run, as are any
	// ids that the function copies from it. For the zero Digest, a seed is chosen at random per
	// process.
	Seed krm.Digest
	// Name identifies the function in messages.
	Name string
	// Pos is the position for resources that the function created: its configuration.
	Pos diag.Pos
	// Files is true if the resources are the contents of files. Their annotations contain the path
	// of the file, and the answer may change it. Names may be missing or occur several times. The
	// list that a validator returns is ignored.
	Files bool
	// Comments are the comments of the resources of files, nil if there are none.
	Comments Comments
	// Output is the maximum size of the function's output in bytes.
	Output int64
	// Schema is the schema of resources that the function created. nil is the schema of
	// Kubernetes.
	Schema *schema.Schema
}

// Comments adds the comments of resources to the list that a function receives, and reads those in
// its answer. Without it, functions receive no comments, because values do not contain them.
type Comments interface {
	// Text returns v with the comments of r, as YAML in block style, or nil if r has none. v is
	// the value of r with additional annotations. It may be called several times per call of the
	// function.
	Text(r *krm.Resource, v yaml.Value) []byte
	// Answered receives the answer of a function and the resources that were decoded from it, in
	// order.
	Answered(answer yaml.Chunks, list []*krm.Resource)
}

// idAnnotation carries the id of an item through a function. The state of a resource is not sent
// to functions, and names cannot match a returned resource to its original if the function may
// rename it. Function libraries keep annotations with this prefix. kustomize's own
// config.k8s.io/id is not used because those libraries overwrite and remove it.
const idAnnotation = internalPrefix + "krmflow-id"

const internalPrefix = "internal.config.kubernetes.io/"

var processSeed = sync.OnceValue(func() (d krm.Digest) {
	rand.Read(d[:])
	return d
})

// idPrefix returns the prefix of the ids of a call. The position of the resource follows.
func (o WireOptions) idPrefix() string {
	seed := o.Seed
	if seed == (krm.Digest{}) {
		seed = processSeed()
	}
	d := krm.DigestOf(append(seed[:], "id"...))
	return hex.EncodeToString(d[:10]) + "-"
}

// EncodeResourceList returns the ResourceList that a function receives: the resources of list, nil
// for none, each with an id, and config, which may be None.
//
// config is marked as local-config, so that a function that returns it among its items adds
// nothing to the output. It is not marked if the resources belong to files: a function may copy
// config into a file, and a later build would silently leave out that resource. Numbers and dates
// in config keep their text. If there are no resources, a generator finds config among its items,
// as with kustomize.
//
// The internal state of a resource is not part of the list. [DecodeResourceList] attaches it
// again.
func EncodeResourceList(list *krm.List, config yaml.Value, o WireOptions) yaml.Chunks {
	if config.Exists() && !o.Files {
		config = annotate(config, krm.LocalConfigAnnotation, "true")
	}
	var w yaml.ListWriter
	w.Field("apiVersion", yaml.Str(cmp.Or(o.Version, ResourceListV1)))
	w.Field("kind", yaml.Str("ResourceList"))
	switch {
	case list != nil && list.Len() > 0:
		prefix := o.idPrefix()
		for i, r := range list.All() {
			v := annotate(r.Value(), idAnnotation, prefix+strconv.Itoa(i))
			if text := o.text(r, v); text != nil {
				w.ItemText("items", text)
			} else {
				w.Item("items", v)
			}
		}
	case o.Role == GeneratorRole && config.At("metadata", "name").Text() != "" && config.Get("kind").Text() != "":
		w.Item("items", config)
	default:
		w.Field("items", yaml.SeqOf())
	}
	if config.Exists() {
		w.FieldAsWritten("functionConfig", config)
	}
	return w.Chunks()
}

// text returns v, the value of r in the list, with its comments as text. It returns nil if there
// are none.
func (o WireOptions) text(r *krm.Resource, v yaml.Value) []byte {
	if o.Comments == nil {
		return nil
	}
	return o.Comments.Text(r, v)
}

// annotate returns the object v with an additional annotation. The values of all others become
// strings, as functions expect.
func annotate(v yaml.Value, key, text string) yaml.Value {
	old := v.At("metadata", "annotations").Fields()
	fields := make([]yaml.Field, 0, len(old)+1)
	for _, f := range old {
		if f.Key != key {
			fields = append(fields, yaml.Field{Key: f.Key, Value: annotationText(f.Value)})
		}
	}
	return v.WithAt(yaml.MapOf(append(fields, yaml.Field{Key: key, Value: yaml.Str(text)})...), "metadata", "annotations")
}

// annotationText returns the value of an annotation as a string, with the same text as in
// kustomize.
func annotationText(v yaml.Value) yaml.Value {
	if v.Type() == yaml.String {
		return v
	}
	return yaml.Str(v.SourceText())
}

// The annotations with the place of a resource in a directory: the slash-separated path of its
// file and its index in the file, from 0. Functions also receive them under their legacy names.
const (
	PathAnnotation        = internalPrefix + "path"
	IndexAnnotation       = internalPrefix + "index"
	LegacyPathAnnotation  = "config.kubernetes.io/path"
	LegacyIndexAnnotation = "config.kubernetes.io/index"
)

// IsPlace reports whether key is one of the annotations with the place of a resource.
func IsPlace(key string) bool {
	switch key {
	case PathAnnotation, IndexAnnotation, LegacyPathAnnotation, LegacyIndexAnnotation:
		return true
	}
	return false
}

// isInternal reports whether the annotation key is for function runners rather than users.
func isInternal(key string) bool {
	switch key {
	case "config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id":
		return true
	}
	return strings.HasPrefix(key, internalPrefix)
}
