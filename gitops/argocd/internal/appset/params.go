package appset

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A params is one set of parameters of a generator. For Go templates, values is a JSON document.
// Otherwise its keys are complete paths, such as path.basename.
type params struct {
	values map[string]any
	// places are the places of parameters, by path (see pathKey). The place of a nested parameter
	// is below the place of its parent.
	places map[string]yaml.Place
}

func newParams() *params { return &params{map[string]any{}, map[string]yaml.Place{}} }

// pathKey returns a path as a key of places.
func pathKey(path ...string) string { return strings.Join(path, "\x00") }

// set sets a parameter. at is its place, or the zero Place if it is unknown.
func (p *params) set(key string, v any, at yaml.Place) {
	p.values[key] = v
	for k := range p.places {
		if k == key || strings.HasPrefix(k, key+"\x00") {
			delete(p.places, k)
		}
	}
	if at.Source != nil {
		p.places[key] = at
	}
}

// place returns the place of the parameter at a path.
func (p *params) place(path []string) (at yaml.Place, ok bool) {
	for n := len(path); n > 0; n-- {
		at, ok := p.places[pathKey(path[:n]...)]
		if !ok {
			continue
		}
		for _, key := range path[n:] {
			at = at.Below(key)
		}
		return at, true
	}
	return at, false
}

// plain returns v as a value of a JSON document.
func plain(v yaml.Value) any {
	var x any
	yaml.Decode(v, &x)
	return x
}

// flatten adds the scalars in v to flat. The keys are paths with dots.
func flatten(flat map[string]any, v any, path string) {
	add := func(key string, x any) {
		if path != "" {
			key = path + "." + key
		}
		switch x.(type) {
		case map[string]any, []any:
			flatten(flat, x, key)
		default:
			flat[key] = x
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			add(key, x)
		}
	case []any:
		for i, x := range v {
			add(strconv.Itoa(i), x)
		}
	}
}

// flat returns the parameters as strings for selectors. The keys are paths with dots.
func (p *params) flat() map[string]string {
	all := map[string]any{}
	flatten(all, p.values, "")
	texts := make(map[string]string, len(all))
	for key, v := range all {
		texts[key] = fmt.Sprintf("%v", v)
	}
	return texts
}

// override sets the parameters of o in p. If deep is set, as for Go templates, it merges mappings.
func (p *params) override(o *params, deep bool) {
	for key, v := range o.values {
		old, there := p.values[key]
		if there && deep {
			if merged, ok := mergeMaps(old, v); ok {
				p.values[key] = merged
				continue
			}
		}
		p.set(key, v, yaml.Place{})
	}
	maps.Copy(p.places, o.places)
}

// mergeMaps returns the mapping a with the values of b. ok is false unless a and b are mappings of
// the same type.
func mergeMaps(a, b any) (merged any, ok bool) {
	switch b := b.(type) {
	case map[string]any:
		if a, ok := a.(map[string]any); ok {
			m := maps.Clone(a)
			for key, v := range b {
				if inner, ok := mergeMaps(m[key], v); ok {
					v = inner
				}
				m[key] = v
			}
			return m, true
		}
	case map[string]string:
		if a, ok := a.(map[string]string); ok {
			m := maps.Clone(a)
			maps.Copy(m, b)
			return m, true
		}
	}
	return nil, false
}
