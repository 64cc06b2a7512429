package edit

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Edit changes the content of a kustomization file. If it returns an error, the content must
// be discarded.
type Edit func(*Kustomization) error

// An Env provides access to the directory of the file. Paths are relative to it.
type Env struct {
	// Glob returns the sorted paths that match a pattern, like kustomize: hidden paths match
	// only hidden patterns.
	Glob func(pattern string) ([]string, error)
	// Exists reports whether a file or folder exists.
	Exists func(path string) bool
	// IsFile reports whether path is a file. It may be outside of the directory.
	IsFile func(path string) bool
	// ReadFile returns the content of a file. WriteFile sets the new content, which is written
	// when all edits have succeeded. The file may be outside of the directory.
	ReadFile  func(path string) ([]byte, error)
	WriteFile func(path string, data []byte) error
	// Check returns an error if an object of a kind cannot be generated from an entry.
	Check func(kind string, entry yaml.Value) error
	// IsRemote reports whether a reference is remote. Remote references are not resolved.
	IsRemote func(ref string) bool
	// Warn reports a warning about a successful edit.
	Warn func(format string, args ...any)
}

// Fields lists the fields of kustomization files in the order in which kustomize writes them.
var Fields = []string{
	"apiVersion", "kind", "metadata", "sortOptions", "resources", "bases", "namePrefix", "nameSuffix", "namespace", "crds", "commonLabels",
	"labels",
	"commonAnnotations", "patchesStrategicMerge", "patchesJson6902", "patches", "configMapGenerator", "secretGenerator", "helmCharts",
	"helmChartInflationGenerator", "helmGlobals", "generatorOptions", "vars", "images", "imageTags", "replacements", "replicas",
	"configurations",
	"generators", "transformers", "validators", "components", "openapi", "buildMetadata",
}

// A Kustomization is the content of a file during edits.
type Kustomization struct {
	Env
	// File is the name of the file without its directory.
	File    string
	value   yaml.Value
	renamed [][2]string // renamed fields, in order
	refused error       // first edit that a Composition does not support
}

// Apply applies edits to a document and returns the new document. It stops at the first error
// and then returns no document.
func Apply(d *inplace.Document, file string, env Env, edits ...Edit) (*inplace.Document, error) {
	k := &Kustomization{Env: env, File: file, value: d.Value()}
	for _, edit := range edits {
		err := edit(k)
		if k.refused != nil { // the first cause
			err = k.refused
		}
		if err != nil {
			e := *diag.AsError(err)
			top, _, _ := strings.Cut(e.Field, "[")
			e.Pos = diag.Pos{File: d.Name(), Line: d.Line(keyOf(d.Value(), top))}
			return nil, &e
		}
	}
	for _, names := range k.renamed {
		d = d.Renamed(names[0], names[1])
	}
	return d.With(k.value)
}

// mistake returns an error about a field.
func mistake(field, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Pos{}, field, format, args...)
}

// field returns a top-level field, or its counterpart in a Composition.
func (k *Kustomization) field(name string) yaml.Value {
	if k.isComposition() {
		return k.compositionField(name)
	}
	return get(k.value, name)
}

// items returns the items of a top-level list.
func (k *Kustomization) items(name string) []yaml.Value { return k.field(name).Items() }

// texts returns the items of a top-level list of strings.
func (k *Kustomization) texts(name string) []string { return texts(k.field(name)) }

// set sets a top-level field, or removes it if v is empty.
func (k *Kustomization) set(name string, v yaml.Value) {
	if v.IsEmpty() || v.Type() == yaml.String && v.Text() == "" {
		v = yaml.Value{}
	}
	switch {
	// An empty field need not be removed.
	case !v.Exists() && k.field(name).IsEmpty() && k.field(name).Type() != yaml.String:
		return
	case k.isComposition():
		k.setInComposition(name, v)
		return
	}
	k.value = put(k.value, name, v)
}

// setItems sets a top-level list.
func (k *Kustomization) setItems(name string, items []yaml.Value) { k.set(name, yaml.SeqOf(items...)) }

// absorb moves the items of a deprecated list to the end of the list that replaces it. kustomize
// adds new items there.
func (k *Kustomization) absorb(deprecated, name string) {
	items := k.items(deprecated)
	switch {
	case len(items) == 0:
	case !k.field(name).Exists():
		names := [2]string{keyOf(k.value, deprecated), name}
		k.renamed = append(k.renamed, names)
		k.value = inplace.WithName(k.value, names[0], name)
	default:
		k.setItems(name, slices.Concat(k.items(name), items))
		k.value = put(k.value, deprecated, yaml.Value{})
	}
}

// keyOf returns the spelling of a key in a mapping. Like kustomize, it is case-insensitive.
func keyOf(v yaml.Value, key string) string {
	if v.Get(key).Exists() {
		return key
	}
	for _, f := range v.Fields() {
		if strings.EqualFold(f.Key, key) {
			return f.Key
		}
	}
	return key
}

// get returns a field of a mapping.
func get(v yaml.Value, key string) yaml.Value { return v.Get(keyOf(v, key)) }

// put returns a mapping with a field set to x, or without the field if x is None.
func put(v yaml.Value, key string, x yaml.Value) yaml.Value {
	switch key = keyOf(v, key); {
	case !x.Exists():
		return v.Without(key)
	case !v.Exists():
		return yaml.MapOf(yaml.Field{Key: key, Value: x})
	}
	return v.With(key, x)
}

// texts returns the items of a list of strings.
func texts(v yaml.Value) []string {
	var list []string
	for _, item := range v.Items() {
		list = append(list, item.Text())
	}
	return list
}

// seq returns a list of strings.
func seq(list []string) yaml.Value {
	items := make([]yaml.Value, len(list))
	for i, s := range list {
		items[i] = yaml.Str(s)
	}
	return yaml.SeqOf(items...)
}
