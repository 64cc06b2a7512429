// Follows api/internal/builtins/HashTransformer.go, api/hasher/hasher.go.

package builtins

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A HashTransformer appends a content hash to the names of resources that need it. A changed
// ConfigMap thus becomes a new object, and workloads that refer to it roll over.
type HashTransformer struct{}

// Configure does nothing because there is nothing to configure.
func (*HashTransformer) Configure(Env) error { return nil }

// needsHashAnnotation is kustomize's annotation for NeedsHash. Users set it in files and patches
// for resources without a generator.
const needsHashAnnotation = "internal.config.kubernetes.io/needsHashSuffix"

// needsHash reports whether the name of r gets a hash, and whether r has the annotation that
// requests one.
func needsHash(r *krm.Resource) (needs, annotated bool) {
	annotated = r.Annotations().Get(needsHashAnnotation).Text() == "enabled"
	return annotated || r.NeedsHash, annotated
}

// Transform renames the resources of list with NeedsHash or kustomize's annotation.
func (*HashTransformer) Transform(list *krm.List, warn Warn) error {
	var buf []byte
	for i, r := range list.All() {
		needs, annotated := needsHash(r)
		if !needs {
			continue
		}
		if annotated {
			warn(diag.Deprecated,
				"%s: the annotation %s adds a content hash to its name, but is internal to kustomize and may change its meaning",
				r.ID(), needsHashAnnotation)
		}
		if kind := r.ID().Kind; kind != "ConfigMap" && kind != "Secret" {
			warn(diag.HashDiffers, "%s: the content hash in the name differs from kustomize's for this kind", r.ID())
		}
		if r.ID().Name == "" {
			return diag.Errorf(r.Pos, "", "%s: metadata.name is missing", r.ID()).With(diag.Nameless)
		}
		v := r.Value()
		if annotated {
			v = v.WithAt(r.Annotations().Without(needsHashAnnotation), "metadata", "annotations")
		}
		buf = appendHashed(buf[:0], v)
		r = r.Copy()
		r.NeedsHash = true
		r.PushID()
		r.SetName(r.ID().Name + "-" + nameHash(buf))
		list.Set(i, r)
	}
	return nil
}

// nameHash returns a hash of ten characters that are valid in a name. It replaces the vowels and
// the digits 0, 1 and 3 so that no words appear.
func nameHash(data []byte) string {
	sum := sha256.Sum256(data)
	var text [10]byte
	hex.Encode(text[:], sum[:5])
	for i, c := range text {
		switch c {
		case '0':
			text[i] = 'g'
		case '1':
			text[i] = 'h'
		case '3':
			text[i] = 'k'
		case 'a':
			text[i] = 'm'
		case 'e':
			text[i] = 't'
		}
	}
	return string(text[:])
}

// appendHashed appends the text that the hash of v is computed from. The text includes an empty
// name for historical reasons; correcting that mistake would change every hash.
func appendHashed(b []byte, v yaml.Value) []byte {
	switch kind := v.Get("kind").Text(); kind {
	case "ConfigMap":
		b = append(b, '{')
		b = appendOptionalData(b, "binaryData", v)
		b = append(b, `"data":`...)
		b = appendData(b, v.Get("data"))
		return append(b, `,"kind":"ConfigMap","name":""}`...)
	case "Secret":
		b = append(b, `{"data":`...)
		b = appendData(b, v.Get("data"))
		b = append(b, `,"kind":"Secret","name":"",`...)
		b = appendOptionalData(b, "stringData", v)
		b = append(b, `"type":`...)
		b = appendData(b, v.Get("type"))
		return append(b, '}')
	}
	return yaml.AppendJSON(b, v)
}

func appendOptionalData(b []byte, field string, v yaml.Value) []byte {
	x := v.Get(field)
	if x.Type() != yaml.Map && x.Type() != yaml.Seq {
		return b
	}
	b = append(b, '"')
	b = append(b, field...)
	b = append(b, `":`...)
	return append(appendData(b, x), ',')
}

// asFloats converts the long integers in v to floating point, as kustomize does before it
// computes a hash.
func asFloats(v yaml.Value) yaml.Value {
	if v.Type() == yaml.Int && len(v.Text()) > 15 {
		n, _ := strconv.ParseFloat(string(yaml.AppendJSON(nil, v)), 64)
		return yaml.Number(yaml.Float, strconv.FormatFloat(n, 'f', -1, 64))
	}
	if v.Type() == yaml.Seq {
		v, _ = v.EditItems(func(item yaml.Value) (yaml.Value, error) { return asFloats(item), nil })
		return v
	}
	return v.EditFields(func(f yaml.Field) yaml.Value { return asFloats(f.Value) })
}

func appendData(b []byte, x yaml.Value) []byte {
	switch x.Type() {
	case yaml.Map:
		return yaml.AppendJSON(b, asFloats(x))
	case yaml.Seq:
		return append(b, "null"...)
	}
	return yaml.AppendJSON(b, yaml.Str(x.SourceText()))
}
