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

// A Role is what a function is used as.
type Role uint8

// The roles of functions. Only a validator may answer with nothing; what it returns must be what it got.
const (
	TransformerRole Role = iota
	GeneratorRole
	ValidatorRole
)

// The versions of the ResourceList that functions understand.
const (
	ResourceListV1       = "config.kubernetes.io/v1"
	ResourceListV1beta1  = "config.kubernetes.io/v1beta1"
	ResourceListV1alpha1 = "config.kubernetes.io/v1alpha1"
)

// WireOptions describe one call of a function. [EncodeResourceList] and [DecodeResourceList] of a call need the same ones.
type WireOptions struct {
	Role Role
	// Version is the apiVersion of the list that the function gets, [ResourceListV1] if empty. Every version is accepted
	// as an answer.
	Version string
	// Seed makes the ids by which the answer finds its resources again. A digest of all that decides about the call makes
	// its input, and what a function copies from there, the same in every run; the zero Digest stands for a random one of
	// this process.
	Seed krm.Digest
	// Name is what messages call the function.
	Name string
	// Pos is where resources that the function made count as written: its configuration.
	Pos diag.Pos
	// Files tells that the resources are what files hold: annotations say in which one each is, and the answer may say otherwise; names may be
	// there several times, or be missing, and a validator's list does not count.
	Files bool
	// Comments are those of the resources of files, nil if they have none.
	Comments Comments
	// Output is how many bytes the function may write.
	Output int64
	// Schema belongs to the resources that the function made; nil stands for Kubernetes' own.
	Schema *schema.Schema
}

// Comments add the comments of resources to the list that a function gets, and take those of its
// answer. Other functions get no comments: values have none.
type Comments interface {
	// Text returns v with the comments of r, as YAML in block style, or nil if r has none. v is the
	// value of r with additional annotations. It may be called several times for a call.
	Text(r *krm.Resource, v yaml.Value) []byte
	// Answered takes the answer of a function and the resources that were read from it, in their
	// order.
	Answered(answer yaml.Chunks, list []*krm.Resource)
}

// idAnnotation carries the id of an item through a function: what a build remembers about a resource does not go to functions, and
// a name does not tell which resource came back if a function may rename it. Libraries of functions keep annotations that start like
// this one. kustomize's own config.k8s.io/id is not used, because those libraries overwrite and remove it.
const idAnnotation = internalPrefix + "krmflow-id"

const internalPrefix = "internal.config.kubernetes.io/"

var processSeed = sync.OnceValue(func() (d krm.Digest) {
	rand.Read(d[:])
	return d
})

// idPrefix returns what the ids of a call start with; the position of the resource follows.
func (o WireOptions) idPrefix() string {
	seed := o.Seed
	if seed == (krm.Digest{}) {
		seed = processSeed()
	}
	d := krm.DigestOf(append(seed[:], "id"...))
	return hex.EncodeToString(d[:10]) + "-"
}

// EncodeResourceList returns the ResourceList that a function gets: the resources of list, nil for
// none, each with an id, and config, which may be None. config is marked as local-config, so that a
// function that returns it among its items adds nothing to the output. It is not marked if the
// resources belong to files: a function may copy config into a file, and a later build would
// silently leave out that resource. Numbers and dates in config keep their text. A generator finds
// config in place of its items, as with kustomize.
//
// The internal state of a resource is not part of the list; [DecodeResourceList] attaches it again.
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

// text returns v, the value of r as the list has it, with its comments, nil if it has none.
func (o WireOptions) text(r *krm.Resource, v yaml.Value) []byte {
	if o.Comments == nil {
		return nil
	}
	return o.Comments.Text(r, v)
}

// annotate returns the object v with one more annotation. All others become strings, as a function expects them.
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

// annotationText returns an annotation as the string that kustomize makes of it.
func annotationText(v yaml.Value) yaml.Value {
	if v.Type() == yaml.String {
		return v
	}
	return yaml.Str(v.SourceText())
}

// The annotations that say where a resource stands, if it is one of a file: its path in the directory, with slashes, and its place in the file,
// from 0. Functions get them under their older names, too.
const (
	PathAnnotation        = internalPrefix + "path"
	IndexAnnotation       = internalPrefix + "index"
	LegacyPathAnnotation  = "config.kubernetes.io/path"
	LegacyIndexAnnotation = "config.kubernetes.io/index"
)

// IsPlace reports whether an annotation says where a resource stands.
func IsPlace(key string) bool {
	switch key {
	case PathAnnotation, IndexAnnotation, LegacyPathAnnotation, LegacyIndexAnnotation:
		return true
	}
	return false
}

// isInternal reports whether an annotation is for those who run functions, not for users.
func isInternal(key string) bool {
	switch key {
	case "config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id":
		return true
	}
	return strings.HasPrefix(key, internalPrefix)
}
