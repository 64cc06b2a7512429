package builtins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The fields that images and replicas change are listed for the kinds of Kubernetes. The same
// fields of other kinds need an entry in a transformer configuration. The hints below find such
// fields and print the entry.

// unlisted returns hints at images with the name of t in fields that are not listed, nil if there
// are none.
func (t *ImageTagTransformer) unlisted(list *krm.List) []string {
	for _, r := range list.All() {
		if kind := r.ID().Kind; kind == "Secret" || kind == "CustomResourceDefinition" {
			continue
		}
		path := findScalar(r.Value(), func(first, _ string, v yaml.Value) bool {
			return v.Type() == yaml.String && first != "metadata" && t.pattern.match(v.SourceText())
		})
		switch {
		case path == nil:
			continue
		case path[len(path)-1] == "repository" || path[len(path)-1] == "name":
			return []string{fmt.Sprintf(
				"%s has this name, without a tag: change the field beside it that has the tag, with a patch or a replacement",
				placeIn(r, path))}
		}
		return []string{placeIn(r, path) + " has this name, but is not among the fields of images", entryFor("images", r, path, false)}
	}
	return nil
}

// unlisted returns hints at a resource with the name of t whose kind is not listed, nil if there is
// none.
func (t *ReplicaCountTransformer) unlisted(list *krm.List) []string {
	for _, i := range list.Named(t.Replica.Name) {
		r := list.At(i)
		path := findScalar(r.Value(), func(first, last string, v yaml.Value) bool {
			return v.Type() == yaml.Int && (last == "replicas" || strings.HasSuffix(last, "Replicas") && first == "spec")
		})
		if path != nil {
			return []string{placeIn(r, path) + " has replicas, but is not among the fields of replicas",
				entryFor("replicas", r, path, false)}
		}
		if spec := r.Value().Get("spec"); spec.Type() == yaml.Map && r.ID().Group != "" && strings.Contains(r.ID().Group, ".") {
			return []string{fmt.Sprintf("%s has this name; if the kind has replicas, name their field", describe(r)),
				entryFor("replicas", r, []any{"spec", "replicas"}, true)}
		}
	}
	return nil
}

// entryFor returns the hint to write an entry of a transformer configuration for the field at path
// of the kind of r.
func entryFor(field string, r *krm.Resource, path []any, create bool) string {
	var names []string
	for _, step := range path {
		if name, ok := step.(string); ok {
			names = append(names, strings.ReplaceAll(name, "/", `\/`))
		}
	}
	more := ""
	if create {
		more = ", create: true"
	}
	return fmt.Sprintf("to change it, write %s: [{kind: %s, path: %s%s}] to a file and list that under configurations",
		field, r.ID().Kind, strings.Join(names, "/"), more)
}

// placeIn describes a field of a resource with its position.
func placeIn(r *krm.Resource, path []any) string {
	pos, field := r.Locate(path...), diag.FieldPath(path)
	if pos.File == "" {
		return fmt.Sprintf("%s of %s", field, r.ID())
	}
	return fmt.Sprintf("%s: %s of %s", pos, field, r.ID())
}

// findScalar returns the path to the first scalar of an object that meets a condition, nil if there
// is none. The condition gets the first and the last field on the path; last is "" for an item.
func findScalar(object yaml.Value, meets func(first, last string, v yaml.Value) bool) []any {
	for _, f := range object.Fields() {
		if path := scalarBelow(f.Value, f.Key, f.Key, meets); path != nil {
			path = append(path, f.Key)
			slices.Reverse(path)
			return path
		}
	}
	return nil
}

// scalarBelow returns the reversed path to the first scalar at or below v that meets a condition,
// nil if there is none. It makes the path only for a scalar that it has found, because a search
// visits all objects of a list.
func scalarBelow(v yaml.Value, first, last string, meets func(first, last string, v yaml.Value) bool) []any {
	switch v.Type() {
	case yaml.Map:
		for _, f := range v.Fields() {
			if path := scalarBelow(f.Value, first, f.Key, meets); path != nil {
				return append(path, f.Key)
			}
		}
	case yaml.Seq:
		for i, item := range v.Items() {
			if path := scalarBelow(item, first, "", meets); path != nil {
				return append(path, i)
			}
		}
	default:
		if meets(first, last, v) {
			return []any{}
		}
	}
	return nil
}
