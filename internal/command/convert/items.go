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

// optionsOf returns those of one generator with those of all: what both say, the generator's own says.
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

// builtinField adds the items of a field that a built-in stands for.
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

// entryName returns the name that an entry gives an item: its own name without the path and tag of
// an image, the name of its file, or that of its target.
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

// labels adds the entries of labels. One whose switches or fields make a list of its own of what it reaches stays an entry.
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
