package images

import (
	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A use is a field of an object that names an image.
type use struct {
	// image is the value of the field.
	image string
	// container is the name of the container or volume, and list the name of its list.
	container, list string
	// path is the path of the field.
	path []any
}

// field returns the path of the field as text.
func (u *use) field() string { return diag.FieldPath(u.path) }

// find returns the images of an object in the order of its fields: images in all lists named
// containers, initContainers or ephemeralContainers, and image volumes in all lists named volumes,
// at any depth. This includes the default fields of images in a Kustomization.
// CustomResourceDefinitions are skipped, because a schema may have fields with these names.
func find(object yaml.Value) []use {
	if object.Get("kind").Text() == "CustomResourceDefinition" {
		return nil
	}
	var uses []use
	collect(object, nil, &uses)
	return uses
}

// collect adds the images in v, the value at path.
func collect(v yaml.Value, path []any, uses *[]use) {
	at := func(step any) []any { return append(path[:len(path):len(path)], step) }
	for _, f := range v.Fields() {
		if f.Value.Len() == 0 {
			continue
		}
		below := at(f.Key)
		switch f.Key {
		case "containers", "initContainers", "ephemeralContainers":
			items(f, below, uses, "image")
		case "volumes":
			items(f, below, uses, "image", "reference")
		}
		collect(f.Value, below, uses)
	}
	for i, item := range v.Items() {
		if item.Len() > 0 {
			collect(item, at(i), uses)
		}
	}
}

// items adds the image in a field of each list item.
func items(list yaml.Field, path []any, uses *[]use, field ...any) {
	for i, item := range list.Value.Items() {
		v := item
		for _, name := range field {
			v = v.Get(name.(string))
		}
		if !v.IsScalar() || v.Text() == "" {
			continue
		}
		at := append(append(path[:len(path):len(path)], i), field...)
		*uses = append(*uses, use{image: v.Text(), container: item.Get("name").Text(), list: list.Key, path: at})
	}
}

// A name is an image in the JSON forms.
type name struct {
	Image string `json:"image"`
	// Name, Tag and Digest are its parts. Tag and Digest may be absent.
	Name   string `json:"name"`
	Tag    string `json:"tag,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// nameOf splits an image as kustomize does.
func nameOf(image string) name {
	n := name{Image: image}
	n.Name, n.Tag, n.Digest = builtins.SplitImage(image)
	return n
}
