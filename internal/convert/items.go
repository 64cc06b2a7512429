package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// builtin adds an item that is a built-in. What it is called comes from the hint; without one it has the name that its kind gives it.
func (c *converter) builtin(kind, hint string, from *yaml.Node, fields ...any) {
	c.add("builtin", kind, hint, nil, from, fields...)
}

// add adds an item. It takes over the comments of the entry that it comes from, which may be nil.
func (c *converter) add(apiVersion, kind, hint string, namespace, from *yaml.Node, fields ...any) {
	var name, meta *yaml.Node
	if called := c.unused(kind, hint); called != "" {
		name = text(called)
	}
	if name != nil || namespace != nil {
		meta = inline("name", name, "namespace", namespace)
	}
	item := mapping(append([]any{"apiVersion", text(apiVersion), "kind", text(kind), "metadata", meta}, fields...)...)
	if from == nil {
		from = item
	}
	c.append(item, from)
}

// append adds an item. The comments of the entry that it comes from stand above it, and what is below that one above the next item.
func (c *converter) append(item, from *yaml.Node) {
	above, below := lines(c.comment, from.HeadComment), from.FootComment
	from.HeadComment, from.FootComment = "", ""
	item.HeadComment, c.comment = above, below
	c.items = append(c.items, item)
}

// unused returns a name that no item of a kind has. The first one without a hint needs none.
func (c *converter) unused(kind, hint string) string {
	base := slug(hint)
	name := base
	if base == "" {
		base = slug(kebab(kind))
	}
	for i := 2; c.names[kind+"/"+name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	c.names[kind+"/"+name] = true
	return name
}

// slug returns a text as a name of an item.
func slug(text string) string {
	mapped := strings.Map(func(r rune) rune {
		switch r = unicode.ToLower(r); {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, text)
	return strings.Trim(mapped[:min(len(mapped), 200)], "-")
}

// kebab puts a dash before each capital letter but the first.
func kebab(kind string) string {
	var b strings.Builder
	for i, r := range kind {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// asKustomization adds an item that is a Kustomization with this field alone.
func (c *converter) asKustomization(f field) { c.kustomization(f, f.value) }

func (c *converter) kustomization(f field, value *yaml.Node, more ...any) {
	c.add("kustomize.config.k8s.io/v1beta1", "Kustomization", kebab(f.name), nil, nil, append([]any{f.name, value}, more...)...)
}

func (c *converter) accumulator(f field) {
	c.builtin("ResourceAccumulator", "", nil, "paths", f.value)
}

// generator adds the entries of configMapGenerator or secretGenerator, each with the options of all.
func (c *converter) generator(f field) {
	kind := map[string]string{"configMapGenerator": "ConfigMapGenerator", "secretGenerator": "SecretGenerator"}[f.name]
	for _, e := range f.value.Content {
		e = without(e)
		if env := get(e, "env"); !isEmpty(env) {
			envs := list()
			if known := get(e, "envs"); known != nil {
				envs = list(known.Content...)
			}
			envs.Content = append(envs.Content, env)
			put(e, "envs", envs)
		}
		put(e, "env", nil)
		if common, ok := c.fields["generatorOptions"]; ok {
			put(e, "options", options(get(e, "options"), common.value))
		}
		c.builtin(kind, getText(e, "name"), e, fieldsOf(e)...)
	}
}

// options returns those of one generator with those of all: what both say, the generator's own says.
func options(own, common *yaml.Node) *yaml.Node {
	var fields []any
	for _, key := range []string{"labels", "annotations"} {
		pairs := mapping()
		for _, from := range []*yaml.Node{get(own, key), get(common, key)} {
			if !isEmpty(from) {
				merge(pairs, from)
			}
		}
		if len(pairs.Content) > 0 {
			fields = append(fields, key, pairs)
		}
	}
	for _, key := range []string{"disableNameSuffixHash", "immutable"} {
		if isTrue(get(own, key)) || isTrue(get(common, key)) {
			fields = append(fields, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return mapping(fields...)
}

// fieldsOf returns the fields of a mapping for [mapping].
func fieldsOf(m *yaml.Node) (fields []any) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		fields = append(fields, m.Content[i].Value, m.Content[i+1])
	}
	return fields
}

// charts adds the charts, in the namespace of the file if they name none: the item has no namespace that they could take.
func (c *converter) charts(f field) {
	charts := list()
	for _, e := range f.value.Content {
		if ns, ok := c.fields["namespace"]; ok && f.name == "helmCharts" && getText(e, "namespace") == "" {
			e = without(e, "namespace")
			put(e, "namespace", text(ns.value.Value))
		}
		charts.Content = append(charts.Content, e)
	}
	c.kustomization(f, charts, "helmGlobals", c.fields["helmGlobals"].value)
}

// mergePatches adds all entries as one item, as kustomize does.
func (c *converter) mergePatches(f field) {
	c.builtin("PatchStrategicMergeTransformer", "", nil, "paths", f.value)
}

func (c *converter) patches(f field) {
	for _, e := range f.value.Content {
		c.builtin("PatchTransformer", patchName(e), e, fieldsOf(e)...)
	}
}

func (c *converter) jsonPatches(f field) {
	for _, e := range f.value.Content {
		op := get(e, "patch")
		e := without(e, "patch", "options")
		c.builtin("PatchJson6902Transformer", patchName(e), e, append(fieldsOf(e), "jsonOp", op)...)
	}
}

// patchName returns what a patch is called by: its file, or else what it is for.
func patchName(e *yaml.Node) string {
	if file := getText(e, "path"); file != "" {
		return strings.TrimSuffix(path.Base(file), path.Ext(file))
	}
	target := get(e, "target")
	return getText(target, "kind") + " " + getText(target, "name")
}

func (c *converter) namespace(f field) {
	if c.configured {
		c.asKustomization(f)
		return
	}
	c.add("builtin", "NamespaceTransformer", "", f.value, nil)
}

// field adds the item of a field that is a built-in with one field.
func (c *converter) field(f field, kind, key string) {
	if c.configured {
		c.asKustomization(f)
		return
	}
	c.builtin(kind, "", nil, key, f.value)
}

func (c *converter) prefix(f field)       { c.field(f, "PrefixTransformer", "prefix") }
func (c *converter) suffix(f field)       { c.field(f, "SuffixTransformer", "suffix") }
func (c *converter) commonLabels(f field) { c.field(f, "LabelTransformer", "labels") }

func (c *converter) commonAnnotations(f field) {
	c.field(f, "AnnotationsTransformer", "annotations")
}

// labels adds the entries of labels. One whose switches or fields make a list of its own of what it reaches stays an entry.
func (c *converter) labels(f field) {
	for _, e := range f.value.Content {
		selectors := isTrue(get(e, "includeSelectors"))
		more := !selectors && (isTrue(get(e, "includeTemplates")) || isTrue(get(e, "includeVolumeClaimTemplates")))
		pairs := get(e, "pairs")
		switch {
		case c.configured || more || !isEmpty(get(e, "fields")) || pairs == nil:
			c.kustomization(f, list(e))
		case selectors:
			c.builtin("LabelTransformer", "", e, "labels", pairs)
		default:
			yes := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
			c.builtin("LabelTransformer", "", e, "labels", pairs, "fieldSpecs", list(inline("path", text("metadata/labels"), "create", yes)))
		}
	}
}

func (c *converter) replicas(f field) { c.entries(f, "ReplicaCountTransformer", "replica") }
func (c *converter) images(f field)   { c.entries(f, "ImageTagTransformer", "imageTag") }

// entries adds an item for each entry, which is the value of its field key.
func (c *converter) entries(f field, kind, key string) {
	if c.configured {
		c.asKustomization(f)
		return
	}
	for _, e := range f.value.Content {
		name, _, _ := strings.Cut(getText(e, "name"), "@")
		name, _, _ = strings.Cut(path.Base(name), ":")
		c.builtin(kind, name, e, key, e)
	}
}

func (c *converter) replacements(f field) {
	c.builtin("ReplacementTransformer", "", nil, "replacements", f.value)
}

// isField reports whether the built-in of this kind takes the list of what it reaches from the transformer configuration when it stands for a
// field. As an entry of transformers that names none it reaches nothing; as an item, what the field does.
func isField(kind string) bool {
	return slices.Contains([]string{"AnnotationsTransformer", "ImageTagTransformer", "LabelTransformer", "NamespaceTransformer", "PrefixSuffixTransformer",
		"PrefixTransformer", "ReplicaCountTransformer", "SuffixTransformer"}, kind)
}
