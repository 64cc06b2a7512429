package builtins

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A placedReplacement is a replacement and its position. If src is nil, the replacement is
// inline; otherwise it is at the path at in the file src.
type placedReplacement struct {
	Replacement
	src  *yaml.Source
	name string // the name of the file in the configuration
	at   []any
}

// place returns the place of a part of the replacement, the zero Place for an inline replacement.
func (p *placedReplacement) place(in ...any) Place {
	if p.src == nil {
		return Place{}
	}
	at := slices.Concat(p.at, in)
	return Place{File: p.name, Line: p.src.Locate(0, at...).Line, Path: at}
}

// placed returns all replacements, including the contents of files.
func (t *ReplacementTransformer) placed(files Files) (list []placedReplacement) {
	for _, r := range t.Replacements {
		if r.Path == "" {
			list = append(list, placedReplacement{Replacement: r})
			continue
		}
		src := files(r.Path)
		if src == nil {
			continue
		}
		doc, err := src.Value()
		if err != nil {
			continue
		}
		// Configure has read the file without a mistake. Unknown fields are not mistakes.
		decoding := yaml.Decoding{AllowUnknown: true, ScalarsAsText: true}
		add := func(v yaml.Value, at ...any) {
			p := placedReplacement{src: src, name: r.Path, at: at}
			if len(decoding.Decode(v, &p.Replacement)) == 0 {
				list = append(list, p)
			}
		}
		if doc.Type() != yaml.Seq {
			add(doc)
			continue
		}
		for i, item := range doc.Items() {
			add(item, i)
		}
	}
	return list
}

// Selects implements [Chooser].
func (t *ReplacementTransformer) Selects(files Files) (list []*Selector) {
	for _, r := range t.placed(files) {
		for _, target := range r.Targets {
			list = append(list, target.Select)
		}
	}
	return list
}

// Sets implements [Setter].
func (t *ReplacementTransformer) Sets(q FieldQuery) (s Setting, ok bool) {
	for _, r := range t.placed(q.Files) {
		for i, target := range r.Targets {
			k := slices.IndexFunc(target.FieldPaths, q.Is)
			if k < 0 {
				continue
			}
			s.Place = r.place("targets", i, "fieldPaths", k)
			if target.Select != nil {
				s.Where = "it selects " + target.Select.String()
			}
			return s, true
		}
	}
	return s, false
}

// Locate implements [Locator] for replacements in files; inline replacements of a step do not
// have separate lines. If several replacements may have made the change, Locate returns the last
// one.
func (t *ReplacementTransformer) Locate(c Change) (place Place, ok bool) {
	if c.Before == nil || c.After == nil {
		return place, false
	}
	for _, r := range slices.Backward(t.placed(c.Files)) {
		if r.src == nil {
			continue
		}
		for i, target := range slices.Backward(r.Targets) {
			switch k := target.Writes(c.Before, c.After, c.Path); {
			case k < 0:
			case len(target.FieldPaths) == 0:
				return r.place("targets", i), true
			default:
				return r.place("targets", i, "fieldPaths", k), true
			}
		}
	}
	return place, false
}

// AlwaysMerges implements [Merger]: a replacement may set the kind.
func (t *ReplacementTransformer) AlwaysMerges() bool { return false }

// MergesInto implements [Merger].
func (t *ReplacementTransformer) MergesInto(*krm.List) bool { return false }

// FileFields implements [FileReader].
func (t *ReplacementTransformer) FileFields() []FileField {
	return []FileField{{Path: "replacements.path"}}
}

// StandsFor implements [FieldForm].
func (t *ReplacementTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "replacements", Key: "replacements"}}
}
