package convert

import (
	"bytes"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/krm"
	kyaml "github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"go.yaml.in/yaml/v3"
)

// configs adds the entries of generators or transformers: first the inline configurations, then
// the paths, in the order of kustomize. An entry whose meaning would change as an item stays in
// a Kustomization.
func (c *converter) configs(f field) {
	differs := c.differs
	if f.name == "generators" { // items receive the resources of earlier items; generators receive none
		differs = func(doc kyaml.Value) bool { return c.differs(doc) || doc.Get("apiVersion").Text() != "builtin" }
	}
	for _, paths := range []bool{false, true} {
		for _, e := range f.value.Content {
			docs, isPath := c.documents(e)
			if isPath != paths {
				continue
			}
			if len(docs) == 0 || slices.ContainsFunc(docs, differs) {
				c.kustomization(f, list(e))
				continue
			}
			item := *e
			c.append(&item, &item)
		}
	}
}

// reserve marks the names of generators and transformers as used.
func (c *converter) reserve() {
	for _, name := range []string{"generators", "transformers"} {
		f, ok := c.fields[name]
		if !ok {
			continue
		}
		for _, e := range f.value.Content {
			docs, _ := c.documents(e)
			for _, doc := range docs {
				c.names[doc.Get("kind").Text()+"/"+doc.At("metadata", "name").Text()] = true
			}
		}
	}
}

// documents returns the configurations that an entry contains or refers to. It returns none for
// a directory and for unreadable content.
func (c *converter) documents(e *yaml.Node) (docs []kyaml.Value, isPath bool) {
	src := &kyaml.Source{File: c.src.File, Data: []byte(e.Value)}
	if e.Kind == yaml.MappingNode {
		var b bytes.Buffer
		if yaml.NewEncoder(&b).Encode(e) != nil {
			return nil, false
		}
		src.Data = b.Bytes()
	}
	list, err := krm.Configs(src, nil)
	if err != nil && !strings.Contains(e.Value, "\n") {
		isPath = true
		if loaders.IsRemote(e.Value) || c.files.IsDir(c.dir, e.Value) {
			return nil, true
		}
		if src, err = c.files.Read(c.dir, e.Value); err == nil && !layerfile.IsComposition(src) {
			list, err = krm.Configs(src, nil)
		}
	}
	if err != nil {
		return nil, isPath
	}
	for _, r := range list {
		docs = append(docs, r.Value())
	}
	return docs, isPath
}

// differs reports whether a configuration would have a different meaning as an item. A function
// would get a name it did not have. A validator must not change resources, but an item may. A
// built-in without its own field list would get the list of the Kustomization field.
func (c *converter) differs(doc kyaml.Value) bool {
	kind := doc.Get("kind").Text()
	group, _, _ := strings.Cut(doc.Get("apiVersion").Text(), "/")
	name := doc.At("metadata", "name").Text()
	for _, f := range doc.Get("metadata").Fields() {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations", "configFn"}, f.Key) {
			return true
		}
	}
	_, lists := builtins.New(kind).(builtins.FieldLister)
	return name == "" || name != slugOrDots(name) || group == "" || group == layerfile.Group || strings.HasSuffix(kind, "Validator") ||
		group == "builtin" && lists && doc.Get("fieldSpecs").IsNull()
}

// slugOrDots is [slug] for names that may contain dots.
func slugOrDots(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = slug(part)
	}
	return strings.Join(parts, ".")
}
