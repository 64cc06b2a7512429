package argocd

import (
	"fmt"
	"slices"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A renderer renders the templates of one ApplicationSet. It parses each text once.
type renderer struct {
	golang  bool
	options []string
	parsed  map[string]*parsedText
}

// A parsedText is a text with parameters.
type parsedText struct {
	tmpl *gotemplate.Template
	err  error
	// path is the path of the only parameter in the text, nil if there is none or several.
	path []string
}

// goTemplateOptions are the values of goTemplateOptions.
var goTemplateOptions = []string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}

// checkOptions returns an error about an unknown option of Go templates.
func checkOptions(options []string, at yaml.Place) error {
	for i, o := range options {
		if !slices.Contains(goTemplateOptions, o) {
			e := errorAt(at.Below(i), "%q is not an option of Go templates", o).With(diag.BadValue)
			e.Hints = diag.DidYouMean(o, goTemplateOptions)
			return e
		}
	}
	return nil
}

// text renders a text. path is the path of the only parameter that it refers to, nil if there is
// none or several.
func (r *renderer) text(text string, p *params) (out string, path []string, err error) {
	if !strings.Contains(text, "{{") {
		return text, nil, nil
	}
	if !r.golang {
		return fastTemplate(text, p)
	}
	t := r.parsed[text]
	if t == nil {
		t = &parsedText{}
		t.tmpl, t.err = gotemplate.New("").Option(r.options...).Funcs(functions()).Parse(text)
		if t.err == nil {
			t.path = onlyField(t.tmpl.Root)
		}
		r.parsed[text] = t
	}
	if t.err != nil {
		return "", nil, fmt.Errorf("not a Go template: %s", templateMessage(t.err))
	}
	var b strings.Builder
	if err := t.tmpl.Execute(&b, p.values); err != nil {
		return "", nil, fmt.Errorf("cannot render the Go template: %s", templateMessage(err))
	}
	return b.String(), t.path, nil
}

// templateMessage returns the message of an error of a Go template without its empty name.
func templateMessage(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "template: "), ":")
}

// fastTemplate replaces {{name}} in a text by parameters. Names of unknown parameters are kept.
func fastTemplate(text string, p *params) (out string, path []string, err error) {
	var b strings.Builder
	names := map[string]bool{}
	if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		i := strings.Index(line, "{{")
		return i >= 0 && strings.Contains(line[i+2:], "}}")
	}) {
		return text, nil, nil
	}
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			break
		}
		tag, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", nil, fmt.Errorf("{{ has no }}")
		}
		name := strings.TrimSpace(tag)
		if v, ok := p.values[name].(string); ok && name != "" {
			b.WriteString(v)
			names[name] = true
			path = []string{name}
		} else {
			b.WriteString("{{" + tag + "}}")
		}
		text = after
	}
	if len(names) != 1 {
		path = nil
	}
	return b.String(), path, nil
}

// onlyField returns the path of the only parameter that a Go template refers to, nil if there is
// none or several.
func onlyField(n parse.Node) []string {
	var paths [][]string
	fields(n, &paths)
	if len(paths) == 0 {
		return nil
	}
	for _, p := range paths[1:] {
		if !slices.Equal(p, paths[0]) {
			return nil
		}
	}
	return paths[0]
}

// fields adds the paths of the parameters that a node refers to. A variable or the dot alone is an
// unknown parameter, with an empty path.
func fields(n parse.Node, paths *[][]string) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, x := range n.Nodes {
				fields(x, paths)
			}
		}
	case *parse.ActionNode:
		fields(n.Pipe, paths)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				fields(c, paths)
			}
		}
	case *parse.CommandNode:
		if path := indexed(n); path != nil {
			*paths = append(*paths, path)
			return
		}
		for _, x := range n.Args {
			fields(x, paths)
		}
	case *parse.FieldNode:
		*paths = append(*paths, n.Ident)
	case *parse.ChainNode:
		*paths = append(*paths, nil)
	case *parse.VariableNode, *parse.DotNode, *parse.TemplateNode:
		*paths = append(*paths, nil)
	case *parse.IfNode:
		branch(&n.BranchNode, paths)
	case *parse.RangeNode:
		branch(&n.BranchNode, paths)
	case *parse.WithNode:
		branch(&n.BranchNode, paths)
	}
}

func branch(n *parse.BranchNode, paths *[][]string) {
	fields(n.Pipe, paths)
	fields(n.List, paths)
	fields(n.ElseList, paths)
}

// indexed returns the path of `index .a.b "c"`, nil for any other command.
func indexed(n *parse.CommandNode) []string {
	if len(n.Args) < 3 {
		return nil
	}
	if f, ok := n.Args[0].(*parse.IdentifierNode); !ok || f.Ident != "index" {
		return nil
	}
	field, ok := n.Args[1].(*parse.FieldNode)
	if !ok {
		return nil
	}
	path := slices.Clone(field.Ident)
	for _, x := range n.Args[2:] {
		s, ok := x.(*parse.StringNode)
		if !ok {
			return nil
		}
		path = append(path, s.Text)
	}
	return path
}

// value renders all strings in a value, and keys of mappings. at is its place, and the result has
// the place of each string that consists of one parameter.
func (r *renderer) value(v yaml.Value, at yaml.Place, p *params) (yaml.Value, []yaml.Place, error) {
	var places []yaml.Place
	var visit func(v yaml.Value, path []any) (yaml.Value, error)
	visit = func(v yaml.Value, path []any) (yaml.Value, error) {
		switch v.Type() {
		case yaml.String:
			text, param, err := r.text(v.Text(), p)
			if err != nil {
				return v, errorAt(at.Below(path...), "%w", err).With(diag.BadValue)
			}
			if text == v.Text() && param == nil {
				return v, nil
			}
			if from, ok := p.place(param); ok {
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
				key, _, err := r.text(f.Key, p)
				if err != nil {
					return v, errorAt(at.Below(append(slices.Clone(path), f.Key)...), "%w", err).With(diag.BadValue)
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
				if key != f.Key { // the value is below a different key now
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
