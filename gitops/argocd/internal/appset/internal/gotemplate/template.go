// Package gotemplate renders the texts of ApplicationSets: Go templates, or texts with {{name}}.
package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/krmflow/krmflow/diag"
)

// A Renderer renders the texts of one ApplicationSet. It parses each text once.
type Renderer struct {
	// Golang selects Go templates, with Options.
	Golang  bool
	Options []string
	parsed  map[string]*parsedText
}

// A parsedText is a text after parsing as a Go template.
type parsedText struct {
	tmpl *template.Template
	err  error
	// path is the path of the only parameter in the text, or nil if there is none or several.
	path []string
}

// options are the values of goTemplateOptions.
var options = []string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}

// CheckOption returns an error about an unknown option.
func CheckOption(option string) error {
	if slices.Contains(options, option) {
		return nil
	}
	e := diag.Errorf(diag.Pos{}, "", "%q is not an option of Go templates", option).With(diag.BadValue)
	e.Hints = diag.DidYouMean(option, options)
	return e
}

// Text renders a text with parameters. path is the path of the only parameter in the text, or nil
// if there is none or several.
func (r *Renderer) Text(text string, values map[string]any) (out string, path []string, err error) {
	if !strings.Contains(text, "{{") {
		return text, nil, nil
	}
	if !r.Golang {
		return fastTemplate(text, values)
	}
	t := r.parsed[text]
	if t == nil {
		t = &parsedText{}
		t.tmpl, t.err = template.New("").Option(r.Options...).Funcs(functions()).Parse(text)
		if t.err == nil {
			t.path = onlyField(t.tmpl.Root)
		}
		if r.parsed == nil {
			r.parsed = map[string]*parsedText{}
		}
		r.parsed[text] = t
	}
	if t.err != nil {
		return "", nil, fmt.Errorf("not a Go template: %s", templateMessage(t.err))
	}
	var b strings.Builder
	if err := t.tmpl.Execute(&b, values); err != nil {
		return "", nil, fmt.Errorf("cannot render the Go template: %s", templateMessage(err))
	}
	return b.String(), t.path, nil
}

// templateMessage returns the message of a template error, without the empty name of the template.
func templateMessage(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "template: "), ":")
}

// fastTemplate replaces {{name}} in a text with the value of the parameter. It keeps unknown names.
func fastTemplate(text string, values map[string]any) (out string, path []string, err error) {
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
			return "", nil, errors.New("{{ has no }}")
		}
		name := strings.TrimSpace(tag)
		names[name] = true
		path = []string{name}
		if v, ok := values[name].(string); ok && name != "" {
			b.WriteString(v)
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

// onlyField returns the path of the only parameter in a Go template, or nil if there is none or
// several.
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

// fields adds the paths of the parameters in a node. A variable or a single dot is an unknown
// parameter, with an empty path.
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

// indexed returns the path of a command such as `index .a.b "c"`, and nil for any other command.
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
