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

// configs adds the entries of generators or transformers: first those that hold their configuration, as kustomize does, then the paths. What
// would mean something else as an item stays an entry of a Kustomization.
func (c *converter) configs(f field) {
	differs := c.differs
	if f.name == "generators" { // functions get the resources as items, and none as generators
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

// reserve takes the names of generators and transformers.
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

// documents returns the configurations that an entry holds or names, none if it names a directory, or something that cannot be read.
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

// differs reports whether a configuration would mean something else as an item: a function gets a name that it did not have, a validator
// may change nothing, a built-in without a list of fields has that of a field of a Kustomization.
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

// slugOrDots is [slug] for names that may have dots.
func slugOrDots(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = slug(part)
	}
	return strings.Join(parts, ".")
}
