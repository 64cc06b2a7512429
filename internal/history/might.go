package history

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Nodes yields the steps of the root whose results are known, in order.
func (h *History) Nodes() iter.Seq[*graph.Node] {
	return func(yield func(*graph.Node) bool) {
		for i, list := range h.lists {
			if list != nil && !yield(h.g.Nodes[i]) {
				return
			}
		}
	}
}

// InGenerator returns where the entry of a ConfigMap or Secret that a step generates comes from, or a label or annotation of it: the literal, the file
// or the line of a file, and the field of the layer that names it.
func (f Files) InGenerator(n *graph.Node, path []any) (pos diag.Pos, at []any, ok bool) {
	op, _ := n.Op.(graph.Generate)
	var args *builtins.GeneratorArgs
	switch g := op.Generator.(type) {
	case *builtins.ConfigMapGenerator:
		args = &g.GeneratorArgs
	case *builtins.SecretGenerator:
		args = &g.GeneratorArgs
	}
	if args == nil || len(path) < 2 || n.Origin.Source == nil {
		return pos, nil, false
	}
	key, _ := path[len(path)-1].(string)
	in := func(more ...any) []any { return append(slices.Clip(n.Origin.Path), more...) }
	if path[0] == "metadata" {
		at = in("options", path[1], key)
		return n.Origin.Source.Locate(0, at...), at, len(path) == 3
	}
	for i, text := range args.Literals {
		if k, _, _ := strings.Cut(text, "="); k == key {
			at = in("literals", i)
			return n.Origin.Source.Locate(0, at...), at, true
		}
	}
	for i, text := range args.Files {
		k, name, named := strings.Cut(text, "=")
		if !named {
			k, name = text[strings.LastIndex(text, "/")+1:], text
		}
		if k == key {
			return diag.Pos{File: besides(n.Origin.File(), name)}, in("files", i), true
		}
	}
	for i, name := range args.Envs {
		src := f[besides(n.Origin.File(), name)]
		if src == nil {
			continue
		}
		for line, text := range strings.Split(strings.TrimPrefix(src.Text(), "\ufeff"), "\n") {
			if k, _, _ := strings.Cut(strings.TrimSpace(text), "="); k == key {
				return diag.Pos{File: src.File, Line: line + 1}, in("envs", i), true
			}
		}
	}
	return pos, nil, false
}

// A Setting is what a step would set where it selects something.
type Setting struct {
	// Pos is the line that says so.
	Pos diag.Pos
	// Where says what is selected.
	Where string
}

// Sets returns where a patch, a replacement or a transformer of labels, annotations, images or replicas would set a field, ok false if it does not.
func (f Files) Sets(n *graph.Node, field Field) (s Setting, ok bool) {
	op, _ := n.Op.(graph.Transform)
	s.Pos = n.Origin.Pos()
	switch t := op.Transformer.(type) {
	case *builtins.PatchTransformer, *builtins.PatchStrategicMergeTransformer, *builtins.PatchJson6902Transformer:
		return f.patchSets(n, field)
	case *builtins.ReplacementTransformer:
		for _, r := range f.replacements(n) {
			for i, target := range r.Targets {
				k := slices.IndexFunc(target.FieldPaths, field.like)
				if k < 0 {
					continue
				}
				if r.src != nil {
					s.Pos, _ = r.pos("targets", i, "fieldPaths", k)
				}
				s.Where = selected(target.Select)
				return s, true
			}
		}
	case *builtins.LabelTransformer:
		if key := field.key(); t.Labels[key] != "" {
			s.Where = specified(t.FieldSpecs)
			return s, field.ends("labels", key) || field.ends("matchLabels", key) || field.ends("selector", key)
		}
	case *builtins.AnnotationsTransformer:
		if key := field.key(); t.Annotations[key] != "" {
			s.Where = specified(t.FieldSpecs)
			return s, field.ends("annotations", key)
		}
	case *builtins.ImageTagTransformer:
		s.Where = "it is for images named " + diag.OneLine(t.ImageTag.Name)
		// These lists are searched in any object, whatever the fields of the transformer are.
		return s, field.ends("containers", "image") || field.ends("initContainers", "image") || field.among(t.FieldSpecs)
	case *builtins.ReplicaCountTransformer:
		s.Where = "it is for resources named " + diag.OneLine(t.Replica.Name)
		return s, field.among(t.FieldSpecs)
	}
	return s, false
}

// OtherImage reports whether a step is an entry of images for one of another name than image has, but nearly that: the registry or the path in front
// differs, or it is misspelled.
func OtherImage(n *graph.Node, image string) bool {
	op, _ := n.Op.(graph.Transform)
	t, ok := op.Transformer.(*builtins.ImageTagTransformer)
	if !ok || image == "" {
		return false
	}
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	want := t.ImageTag.Name
	return want != name && (path.Base(want) == path.Base(name) || diag.Nearest(want, []string{name}) != "")
}

// Selected returns what a patch, a replacement or an entry of replicas selects: the kinds and names, each "" for any.
func (f Files) Selected(n *graph.Node) (list []builtins.Selector) {
	op, _ := n.Op.(graph.Transform)
	add := func(sel *builtins.Selector) {
		if sel != nil {
			list = append(list, builtins.Selector{Kind: sel.Kind, Name: sel.Name, Namespace: sel.Namespace})
		}
	}
	switch t := op.Transformer.(type) {
	case *builtins.PatchTransformer:
		add(t.Target)
	case *builtins.PatchJson6902Transformer:
		add(t.Target)
	case *builtins.ReplacementTransformer:
		for _, r := range f.replacements(n) {
			for _, target := range r.Targets {
				add(target.Select)
			}
		}
	case *builtins.ReplicaCountTransformer:
		for _, spec := range t.FieldSpecs.All() {
			list = append(list, builtins.Selector{Kind: spec.Kind, Name: t.Replica.Name})
		}
	}
	return list
}

func selected(sel *builtins.Selector) string {
	if sel == nil {
		return ""
	}
	return "it selects " + sel.String()
}

func specified(specs *builtins.FieldSpecs) string {
	var paths []string
	for _, fs := range specs.All() {
		paths = append(paths, strings.ReplaceAll(fs.Path, "/", "."))
	}
	slices.Sort(paths)
	return "it sets " + diag.Some(slices.Compact(paths))
}

// patchSets is [Files.Sets] for patches.
func (f Files) patchSets(n *graph.Node, field Field) (s Setting, ok bool) {
	files, text := patchesOf(n)
	for _, sel := range f.Selected(n) {
		s.Where = "it selects " + sel.String()
	}
	has := func(src *yaml.Source, at func(diag.Pos) diag.Pos) bool {
		docs, err := src.Patches()
		for i, doc := range docs {
			path, there := field.In(doc.Value)
			if !there || At(doc.Value, path).IsNull() {
				continue
			}
			s.Pos = at(src.Locate(i, path...))
			if s.Where == "" {
				s.Where = "it is for " + doc.Value.Get("kind").Text() + " " + diag.OneLine(doc.Value.At("metadata", "name").Text())
			}
			return true
		}
		if err == nil {
			return false
		}
		ops, err := src.Value()
		if err != nil {
			return false
		}
		for i, op := range ops.Items() {
			if verb := op.Get("op").Text(); verb == "remove" || verb == "test" || !field.pointed(op) {
				continue
			}
			s.Pos = at(src.Locate(0, i))
			return true
		}
		return false
	}
	for _, name := range files {
		if src := f[besides(n.Origin.File(), name)]; src != nil && has(src, func(pos diag.Pos) diag.Pos { return pos }) {
			return s, true
		}
	}
	if text == "" {
		return s, false
	}
	return s, has(&yaml.Source{Data: []byte(text)}, func(pos diag.Pos) diag.Pos { return f.lineOf(n.Origin, pos.Line) })
}

// pointed reports whether an operation of a JSON patch sets a field, or something in it.
func (f Field) pointed(op yaml.Value) bool {
	rest, _ := strings.CutPrefix(op.Get("path").Text(), "/")
	want := f.flat()
	for _, token := range strings.Split(rest, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch {
		case want == "":
			return true // it sets something in the field
		case strings.HasPrefix(want, "[]"):
			if _, err := strconv.Atoi(token); err != nil && token != "-" {
				return false
			}
			want = strings.TrimPrefix(want[2:], ".")
		default:
			var ok bool
			if want, ok = strings.CutPrefix(want, token); !ok || want != "" && want[0] != '.' && want[0] != '[' {
				return false
			}
			want = strings.TrimPrefix(want, ".")
		}
	}
	if want == "" {
		return true
	}
	inner, err := ParseField(strings.ReplaceAll(want, "[]", "[*]"))
	if err != nil || !op.Get("value").Exists() {
		return false
	}
	_, ok := inner.In(op.Get("value"))
	return ok
}

// flat returns a field as a text in which all items of a list look the same.
func (f Field) flat() string {
	var b strings.Builder
	for _, p := range f {
		switch {
		case p.item:
			b.WriteString("[]")
		case p.name == "*":
			b.WriteString("[]")
		default:
			if _, err := strconv.Atoi(p.name); err == nil && !p.quoted {
				b.WriteString("[]")
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p.name)
		}
	}
	return b.String()
}

// like reports whether text, a field of a replacement, is the field, or that of another item of the list.
func (f Field) like(text string) bool {
	g, err := ParseField(text)
	return err == nil && g.flat() == f.flat()
}

// key returns the last name of a field: as a label's, it may have dots.
func (f Field) key() string {
	text := f.flat()
	for _, in := range []string{"labels.", "annotations.", "matchLabels.", "selector."} {
		if i := strings.LastIndex(text, in); i >= 0 {
			return text[i+len(in):]
		}
	}
	return ""
}

// among reports whether a field is one of those of a transformer, in whatever kind of object.
func (f Field) among(specs *builtins.FieldSpecs) bool {
	text := strings.ReplaceAll(f.flat(), "[]", "")
	return slices.ContainsFunc(specs.All(), func(fs builtins.FieldSpec) bool {
		return strings.ReplaceAll(strings.ReplaceAll(fs.Path, "[]", ""), "/", ".") == text
	})
}

// ends reports whether a field is that of a name in a mapping, or in the mappings of a list.
func (f Field) ends(mapping, name string) bool {
	text := strings.ReplaceAll(f.flat(), "[]", "")
	return text == mapping+"."+name || strings.HasSuffix(text, "."+mapping+"."+name)
}
