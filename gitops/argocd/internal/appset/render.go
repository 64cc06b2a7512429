package appset

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// value renders all strings in v, including the keys of mappings. at is the place of v. The result
// has a place for each string that consists of one parameter.
func (g *generation) value(v yaml.Value, at yaml.Place, p *params) (yaml.Value, []yaml.Place, error) {
	var places []yaml.Place
	var visit func(v yaml.Value, path []any) (yaml.Value, error)
	visit = func(v yaml.Value, path []any) (yaml.Value, error) {
		switch v.Type() {
		case yaml.String:
			text, param, err := g.renderer.Text(v.Text(), p.values)
			if err != nil {
				return v, discovery.ErrorAt(at.Below(path...), "%w", err).With(diag.BadValue)
			}
			if text == v.Text() && param == nil {
				return v, nil
			}
			// A text of several lines keeps its own place, because an error may be in any line.
			if from, ok := p.place(param); ok && !strings.Contains(v.Text(), "\n") {
				from.Path = slices.Clone(path)
				places = append(places, from)
			}
			return yaml.Str(text), nil
		case yaml.Seq:
			i := -1
			return v.EditItems(func(item yaml.Value) (yaml.Value, error) {
				i++
				return visit(item, append(path[:len(path):len(path)], i))
			})
		case yaml.Map:
			out := make([]yaml.Field, 0, v.Len())
			changed := false
			for _, f := range v.Fields() {
				key, _, err := g.renderer.Text(f.Key, p.values)
				if err != nil {
					return v, discovery.ErrorAt(at.Below(append(slices.Clone(path), f.Key)...), "%w", err).With(diag.BadValue)
				}
				before := len(places)
				if key != f.Key {
					from := at.Below(append(slices.Clone(path), f.Key)...)
					from.Path = append(slices.Clone(path), key)
					places = append(places, from)
				}
				x, err := visit(f.Value, append(path[:len(path):len(path)], f.Key))
				if err != nil {
					return v, err
				}
				if key != f.Key { // the key of the value has changed
					for i := before; i < len(places); i++ {
						places[i].Path[len(path)] = key
					}
					out = slices.DeleteFunc(out, func(o yaml.Field) bool { return o.Key == key })
				}
				changed = changed || key != f.Key || !x.Same(f.Value)
				out = append(out, yaml.Field{Key: key, Value: x})
			}
			if !changed {
				return v, nil
			}
			return v.WithFields(out...), nil
		}
		return v, nil
	}
	w, err := visit(v, nil)
	return w, places, err
}
