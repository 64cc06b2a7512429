package history

import (
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A placed is a replacement of a step. src is nil if the configuration of the step has it, else it is the file that has it, at is the path there.
type placed struct {
	builtins.Replacement
	src *yaml.Source
	at  []any
}

// pos returns the line of something in a replacement of a file.
func (p placed) pos(in ...any) (pos diag.Pos, at []any) {
	at = append(slices.Clip(p.at), in...)
	return p.src.Locate(0, at...), at
}

// replacements returns those of a step, with those of the files that it names.
func (f Files) replacements(n *graph.Node) (list []placed) {
	op, _ := n.Op.(graph.Transform)
	t, ok := op.Transformer.(*builtins.ReplacementTransformer)
	if !ok {
		return nil
	}
	for _, r := range t.Replacements {
		if r.Path == "" {
			list = append(list, placed{Replacement: r})
			continue
		}
		src := f[besides(n.Origin.File(), r.Path)]
		if src == nil {
			continue
		}
		doc, err := src.Value()
		if err != nil {
			continue
		}
		// The step has read the file without a mistake, and unknown fields are none.
		decoding := yaml.Decoding{AllowUnknown: true, ScalarsAsText: true}
		add := func(v yaml.Value, at ...any) {
			p := placed{src: src, at: at}
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

// InReplacement returns which line of a file of replacements has made a change, and the path of that line in the file. If several may have, the last
// one counts.
func (f Files) InReplacement(c Change, path []any) (pos diag.Pos, at []any, ok bool) {
	if c.Before == nil || c.After == nil {
		return pos, nil, false
	}
	for _, r := range slices.Backward(f.replacements(c.Node)) {
		for i, target := range slices.Backward(r.Targets) {
			if r.src == nil {
				break
			}
			k := target.Writes(c.Before, c.After, path)
			switch {
			case k < 0:
				continue
			case len(target.FieldPaths) == 0:
				pos, at = r.pos("targets", i)
			default:
				pos, at = r.pos("targets", i, "fieldPaths", k)
			}
			return pos, at, true
		}
	}
	return pos, nil, false
}
