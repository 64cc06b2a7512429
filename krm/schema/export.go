package schema

import (
	"cmp"
	"slices"
	"strings"
)

// Definition returns the definition of that name in the schema of Kubernetes, for instance
// "io.k8s.api.core.v1.PodSpec". It returns the zero Node if there is none.
func Definition(name string) Node { return (*Schema)(nil).builtinDefinition(name) }

// Definitions returns the definitions of the schema of Kubernetes as an OpenAPI document has them,
// with the parts that [Parse] reads. The result consists of new maps, slices and strings.
//
// Definitions with the same content are one node of the table, which does not record to which of
// them a kind belongs. A kind is therefore added to the definition with its name, or else to any
// definition with its content.
func Definitions() map[string]map[string]any {
	docs := make(map[string]map[string]any, len(schemaDefinitions))
	for _, d := range schemaDefinitions {
		docs[d.name] = document(schemaRef{node: d.node})
	}
	for _, k := range schemaKinds {
		if k.node == 0 {
			continue
		}
		name := strings.Join(slices.DeleteFunc([]string{k.group, k.version, k.kind}, func(s string) bool { return s == "" }), ".")
		for _, d := range schemaDefinitions {
			if d.node == k.node && (docs[name] == nil || strings.HasSuffix(d.name, "."+k.version+"."+k.kind)) {
				name = d.name
			}
		}
		if docs[name] == nil {
			docs[name] = document(schemaRef{node: k.node})
		}
		kinds, _ := docs[name]["x-kubernetes-group-version-kind"].([]any)
		docs[name]["x-kubernetes-group-version-kind"] = append(kinds, Kind{k.group, k.version, k.kind}.Document())
	}
	return docs
}

// Document returns g in the form of x-kubernetes-group-version-kind.
func (g Kind) Document() map[string]any {
	return map[string]any{"group": g.Group, "version": g.Version, "kind": g.Kind}
}

// document returns the document that ref refers to, itself a reference if it has a name.
func document(ref schemaRef) map[string]any {
	if ref.definition > 0 {
		return map[string]any{"$ref": "#/definitions/" + schemaDefinitions[ref.definition-1].name}
	}
	doc := map[string]any{}
	n := schemaNodes[ref.node]
	if n.count > 0 {
		props := make(map[string]any, n.count)
		for _, p := range schemaProps[n.first : n.first+n.count] {
			props[schemaNames[p.name]] = document(p.schemaRef)
		}
		doc["properties"] = props
	}
	if n.other.node != 0 {
		doc["additionalProperties"] = document(n.other)
	}
	if n.elem.node != 0 {
		doc["type"], doc["items"] = "array", document(n.elem)
	}
	SetMerge(doc, schemaRules[n.rule].strategy, schemaRules[n.rule].keys)
	return doc
}

// SetMerge sets the fields of the document of a list that determine how patches merge it.
func SetMerge(doc map[string]any, strategy string, keys []string) {
	if strategy != "" {
		doc["x-kubernetes-patch-strategy"] = strategy
	}
	if len(keys) > 0 {
		doc["x-kubernetes-patch-merge-key"] = cmp.Or(keys...)
	}
	if len(keys) > 1 {
		list := make([]any, len(keys))
		for i, key := range keys {
			list[i] = key
		}
		doc["x-kubernetes-list-map-keys"] = list
	}
}
