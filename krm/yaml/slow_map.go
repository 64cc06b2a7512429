package yaml

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
	"go.yaml.in/yaml/v3"
)

// mapping returns the value of a mapping node with its merge keys applied.
func (c *converter) mapping(n *yaml.Node, depth int) (done converted, err error) {
	c.tagged(n)
	m := fieldSet{pos: map[string]int{}}
	lines := map[string]int{}
	var merge *yaml.Node
	done.size = 8
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if isMergeKey(k) {
			if merge != nil {
				return done, c.errorf(k.Line, "the merge key << occurs twice in one mapping; give it a list instead")
			}
			merge = n.Content[i+1]
			continue
		}
		key, err := c.mapKey(k, depth)
		if err != nil {
			return done, err
		}
		if first, ok := lines[key]; ok {
			twice := diag.Errorf(diag.Pos{File: c.source.File, Line: c.line + k.Line},
				"", "%s occurs twice in one mapping; the first is on line %d", c.called(key, "%q"), c.line+first).With(diag.RepeatedKey)
			if !c.parser.first {
				return done, twice
			}
			if c.source.repeated == nil {
				c.source.repeated = twice
			}
			c.source.warn(diag.RepeatedKey, c.line+k.Line, "", "%s occurs twice in one mapping; this value replaces the one on line %d",
				c.called(key, "%q"), c.line+first)
		}
		lines[key] = k.Line
		v, err := c.child(key, n.Content[i+1], depth+1)
		if err != nil {
			return done, err
		}
		done.add(v)
		done.size += len(key)
		m.set(key, v.value)
		if done.size > maxAlias-c.taken {
			return done, nil // [converter.convert] rejects it, so the rest is not needed
		}
	}
	if merge != nil {
		if err := c.merge(merge, &m, &done, depth); err != nil {
			return done, err
		}
	}
	done.value = MapOf(m.fields...)
	done.value = done.value.flagged(marked, n.Style&yaml.FlowStyle != 0 && !c.parser.yaml11)
	return done, nil
}

// A fieldSet is an ordered set of fields.
type fieldSet struct {
	fields []Field
	pos    map[string]int
}

func (m *fieldSet) set(key string, v Value) {
	if i, ok := m.pos[key]; ok {
		m.fields[i].Value = v
		return
	}
	m.pos[key] = len(m.fields)
	m.fields = append(m.fields, Field{key, v})
}

func isMergeKey(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge"
}

// merge adds the fields of the mapping or mappings in a merge key, except those that m already
// has. Earlier mappings take precedence.
func (c *converter) merge(n *yaml.Node, m *fieldSet, done *converted, depth int) error {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	switch {
	case target.Kind == yaml.MappingNode:
		x, err := c.convert(n, depth)
		if err != nil {
			return err
		}
		done.add(x)
		for _, f := range x.value.Fields() {
			if _, ok := m.pos[f.Key]; !ok {
				done.size += int(unsafe.Sizeof(f)) // a copy, unlike the value of an alias
				m.set(f.Key, f.Value)
			}
		}
		return nil
	case n.Kind == yaml.SequenceNode:
		for _, x := range n.Content {
			if x.Kind == yaml.SequenceNode {
				return c.errorf(x.Line, "the list of a merge key << contains a list")
			}
			if err := c.merge(x, m, done, depth); err != nil {
				return err
			}
		}
		return nil
	}
	return c.errorf(n.Line, "the value of a merge key << must be a mapping or a list of mappings")
}

// called returns the term for a key of the current mapping in messages.
func (c *converter) called(key, verb string) string {
	if c.secret && len(words.Path(append(c.path[:len(c.path):len(c.path)], key))) <= len(c.path) {
		return "a key"
	}
	return fmt.Sprintf("the key "+verb, key)
}

// mapKey returns a mapping's key as text.
func (c *converter) mapKey(k *yaml.Node, depth int) (string, error) {
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if k.Kind != yaml.ScalarNode {
		err := diag.Errorf(diag.Pos{File: c.source.File, Line: c.line + k.Line}, "",
			"the key of a mapping is itself a list or mapping").With(diag.OddValue)
		if k.Kind == yaml.MappingNode && k.Style&yaml.FlowStyle != 0 {
			err.Hint("if {{ is meant for a template engine, expand the template first")
		}
		return "", err
	}
	if len(k.Value) > maxKey {
		return "", c.errorf(k.Line, "the key is longer than 1024 characters")
	}
	v, err := c.scalar(k)
	switch {
	case err != nil && depth == 0 && !c.parser.yaml11 && k.Style == 0:
		return k.Value, nil // .nan and .inf are names here, like other numbers
	case err != nil:
		return "", err
	case v.typ == String && depth > 0 && !c.parser.yaml11 && k.ShortTag() != "!!str":
		if c.secret {
			return "", c.errorf(k.Line, "a key has a tag")
		}
		return "", c.errorf(k.Line, "the key %s has the tag %s", k.Value, k.ShortTag())
	case v.typ == String:
		return v.Text(), nil
	case v.typ == Null || depth > 0 && !c.parser.yaml11 && !c.parser.anyKeys:
		if v.typ != Null {
			c.source.badKey = true
		}
		return "", diag.Errorf(diag.Pos{File: c.source.File, Line: c.line + k.Line}, "", "%s is %s, not a string; put it in quotes",
			c.called(k.Value, "%s"), v.typ.Article()).With(diag.OddValue)
	}
	c.source.warn(diag.OddValue, c.line+k.Line, "", "%s is %s, not a string; put it in quotes", c.called(k.Value, "%s"), v.typ.Article())
	switch {
	case !c.parser.yaml11 || v.typ == Time:
		return k.Value, nil
	case v.typ == Float:
		f, _ := parseFloat(v.Text())
		return strconv.FormatFloat(f, 'g', -1, 32), nil
	}
	return string(appendLiteral(nil, v, false)), nil
}
