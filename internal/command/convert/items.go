package convert

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/krmflow/krmflow/builtins"
	"go.yaml.in/yaml/v3"
)

// builtin adds a built-in as an item. hint determines its name. Without a hint the item gets
// the default name of its kind.
func (c *converter) builtin(kind, hint string, from *yaml.Node, fields ...any) {
	c.add("builtin", kind, hint, nil, from, fields...)
}

// add adds an item. The item takes over the comments of its source entry, from, which may be
// nil.
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

// append adds an item. The comments above its source entry move above the item, and the
// comments below the entry move above the next item.
func (c *converter) append(item, from *yaml.Node) {
	above, below := lines(c.comment, from.HeadComment), from.FootComment
	from.HeadComment, from.FootComment = "", ""
	item.HeadComment, c.comment = above, below
	c.items = append(c.items, item)
}

// unused returns a name that no other item of the kind has. The result is "" for the first item
// without a hint, which needs no explicit name.
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

// slug converts text to the name of an item.
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

// kebab inserts a dash before each capital letter except the first.
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

// asKustomization adds a Kustomization with only this field as an item.
func (c *converter) asKustomization(f field) { c.kustomization(f, f.value) }

func (c *converter) kustomization(f field, value *yaml.Node, more ...any) {
	c.add("kustomize.config.k8s.io/v1beta1", "Kustomization", kebab(f.name), nil, nil, append([]any{f.name, value}, more...)...)
}

func (c *converter) accumulator(f field) {
	c.builtin("ResourceAccumulator", "", nil, "paths", f.value)
}

// generator adds the entries of configMapGenerator or secretGenerator, merged with
// generatorOptions.
func (c *converter) generator(f field) {
	_, kind, _ := builtins.ForField(f.name)
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
			put(e, "options", optionsOf(get(e, "options"), common.value))
		}
		c.builtin(kind, getText(e, "name"), e, fieldsOf(e)...)
	}
}

// optionsOf merges the options of one generator with the common options. The generator's own
// options take precedence.
func optionsOf(own, common *yaml.Node) *yaml.Node {
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

// fieldsOf returns the fields of a mapping as arguments for [mapping].
func fieldsOf(m *yaml.Node) (fields []any) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		fields = append(fields, m.Content[i].Value, m.Content[i+1])
	}
	return fields
}

// charts adds the charts. A chart without a namespace gets the namespace of the file, because
// the item has none to inherit.
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

// builtinField adds the items for a field that is short for a built-in.
func (c *converter) builtinField(f field) {
	b, kind, form := builtins.ForField(f.name)
	if _, lists := b.(builtins.FieldLister); lists && c.configured {
		c.asKustomization(f)
		return
	}
	if !form.Each {
		c.builtin(kind, "", nil, form.Key, f.value)
		return
	}
	for _, e := range f.value.Content {
		if form.Key != "" {
			c.builtin(kind, entryName(e), e, form.Key, e)
			continue
		}
		var renamed []any
		for _, from := range slices.Sorted(maps.Keys(form.Renamed)) {
			if to := form.Renamed[from]; to != "" {
				renamed = append(renamed, to, get(e, from))
			}
			e = without(e, from)
		}
		c.builtin(kind, entryName(e), e, append(fieldsOf(e), renamed...)...)
	}
}

// entryName returns the name for the item of an entry: the entry's own name without the path
// and tag of an image, its file name, or the name of its target.
func entryName(e *yaml.Node) string {
	if file := getText(e, "path"); file != "" {
		return strings.TrimSuffix(path.Base(file), path.Ext(file))
	}
	if target := get(e, "target"); target != nil {
		return getText(target, "kind") + " " + getText(target, "name")
	}
	name, _, _ := strings.Cut(getText(e, "name"), "@")
	name, _, _ = strings.Cut(path.Base(name), ":")
	return name
}

func (c *converter) namespace(f field) {
	if c.configured {
		c.asKustomization(f)
		return
	}
	_, kind, _ := builtins.ForField(f.name)
	c.add("builtin", kind, "", f.value, nil)
}

// labels adds the entries of labels. An entry stays in a Kustomization if its switches or
// fields give it a field list of its own.
func (c *converter) labels(f field) {
	_, kind, _ := builtins.ForField(f.name)
	for _, e := range f.value.Content {
		selectors := isTrue(get(e, "includeSelectors"))
		more := !selectors && (isTrue(get(e, "includeTemplates")) || isTrue(get(e, "includeVolumeClaimTemplates")))
		pairs := get(e, "pairs")
		switch {
		case c.configured || more || !isEmpty(get(e, "fields")) || pairs == nil:
			c.kustomization(f, list(e))
		case selectors:
			c.builtin(kind, "", e, "labels", pairs)
		default:
			yes := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
			c.builtin(kind, "", e, "labels", pairs, "fieldSpecs", list(inline("path", text("metadata/labels"), "create", yes)))
		}
	}
}
