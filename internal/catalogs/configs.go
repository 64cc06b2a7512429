package catalogs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
	kyaml "github.com/krmflow/krmflow/krm/yaml"
	"go.yaml.in/yaml/v3"
)

// A configFile is a file that configurations of functions are in: as documents, as mappings in one, or as texts in a layer's file.
type configFile struct {
	*yamlText
	shown   string
	texts   []heldText
	configs []*config
}

// A heldText is the text of a literal scalar.
type heldText struct {
	*yamlText
	scalar *yaml.Node
}

// A config is a mapping that may be the configuration of a function.
type config struct {
	m      *yaml.Node
	in     *yamlText
	line   int // of the scalar that holds it, 0 if none does
	marked bool
}

func readConfigs(shown, text string) (*configFile, error) {
	t, err := parseText(text)
	if err != nil {
		return nil, err
	}
	f := &configFile{yamlText: t, shown: shown}
	for _, doc := range t.docs {
		f.find(doc, t, 0)
	}
	return f, nil
}

// find collects what may be a configuration below n.
func (f *configFile) find(n *yaml.Node, in *yamlText, line int) {
	switch {
	case n.Kind == yaml.MappingNode && index(n, "kind") >= 0:
		f.configs = append(f.configs, &config{m: n, in: in, line: line})
	case n.Kind == yaml.ScalarNode && n.Style&yaml.LiteralStyle != 0 && line == 0:
		held, err := parseText(strings.TrimSuffix(n.Value, "\n") + "\n")
		if err != nil {
			return
		}
		f.texts = append(f.texts, heldText{held, n})
		for _, doc := range held.docs {
			f.find(doc, held, n.Line)
		}
	}
	for _, child := range n.Content {
		f.find(child, in, line)
	}
}

// mark marks the one configuration that is that of a call.
func (f *configFile) mark(call graph.Call, in *function.Inline) error {
	var found []*config
	for _, c := range f.configs {
		if c.is(call, in) {
			found = append(found, c)
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(c *config) bool { return !c.at(in.Pos.Line) })
	}
	if len(found) != 1 {
		return fmt.Errorf("%s shows %d such configurations", f.shown, len(found))
	}
	found[0].marked = true
	return nil
}

// is reports whether c looks like the configuration of a call. An item of a Composition may be without apiVersion and name.
func (c *config) is(call graph.Call, in *function.Inline) bool {
	text, err := yaml.Marshal(c.m)
	if err != nil {
		return false
	}
	own, err := (&kyaml.Source{Data: text}).Value()
	if err != nil {
		return false
	}
	same := func(path ...string) bool {
		a, b := own, call.Config
		for _, key := range path {
			a, b = a.Get(key), b.Get(key)
		}
		return !a.Exists() || a.Text() == b.Text()
	}
	named, err := function.ReadInline(own, nil)
	if err != nil || named == nil || !same("apiVersion") || !same("kind") || !same("metadata", "name") {
		return false
	}
	a, b := named.Value(), in.Value()
	return a.Equal(b)
}

// at reports whether a message about c or its function can be about the line.
func (c *config) at(line int) bool {
	if c.line > 0 {
		return c.line == line
	}
	for _, p := range c.places() {
		if p.m.Content[p.i].Line == line {
			return true
		}
	}
	return c.m.Line == line
}

// A place is a field: the key m.Content[i] and the value behind it.
type place struct {
	m *yaml.Node
	i int
}

// places returns the fields that name the function, and those that would be empty without them.
func (c *config) places() (list []place) {
	add := func(m *yaml.Node, keys ...string) bool {
		n := 0
		for _, key := range keys {
			if i := index(m, key); i >= 0 {
				list, n = append(list, place{m, i}), n+1
			}
		}
		return n > 0 && 2*n == len(m.Content)
	}
	add(c.m, function.PlaceRuntime, function.PlaceProvider)
	meta := child(c.m, "metadata")
	before := len(list)
	whole := add(child(meta, "annotations"), function.PlaceAnnotation, function.PlaceAnnotation2, function.PlaceContainer)
	keys := []string{"configFn"}
	if whole {
		list, keys = list[:before], append(keys, "annotations")
	}
	if add(meta, keys...) {
		list = list[:before]
		add(c.m, "metadata")
	}
	return list
}

// strip returns the text without what names the functions of the marked configurations, nil if that would change anything else.
func (f *configFile) strip() []byte {
	for _, c := range f.configs {
		if !c.marked {
			continue
		}
		list := c.places()
		slices.SortFunc(list, func(a, b place) int { return b.i - a.i }) // the last one first, since others move up
		for _, p := range list {
			c.in.removeField(p.m, p.i)
		}
	}
	for _, held := range f.texts {
		if len(held.cuts) > 0 && !f.cutHeld(held) {
			return nil
		}
	}
	return f.result()
}

// cutHeld takes out of the file what was cut out of a text that it holds.
func (f *configFile) cutHeld(held heldText) bool {
	indent := 0
	for line := held.scalar.Line; line < len(f.lines) && indent == 0; line++ {
		if strings.TrimSpace(f.line(line)) != "" {
			indent = f.indent(line)
		}
	}
	outer := func(i int) int {
		line := held.lineAt(i)
		at, column := min(held.scalar.Line+line, len(f.lines)-1), i-held.lines[line]
		if column > 0 {
			column += indent
		}
		return f.lines[at] + column
	}
	for _, c := range held.cuts {
		f.cuts = append(f.cuts, span{outer(c.from), outer(c.to)})
	}
	data := held.result()
	if !strings.HasSuffix(held.scalar.Value, "\n") {
		data = []byte(strings.TrimSuffix(string(data), "\n"))
	}
	held.scalar.Value = string(data)
	return data != nil
}

// index returns the place of a key in the content of a mapping, -1 if there is none.
func index(m *yaml.Node, key string) int {
	for i := 0; m != nil && m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// child returns the value of a key of a mapping, nil if there is none.
func child(m *yaml.Node, key string) *yaml.Node {
	if i := index(m, key); i >= 0 {
		return m.Content[i+1]
	}
	return nil
}
