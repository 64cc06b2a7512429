package graph

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/planner/layers"
)

// between returns the references that lead from layer a to layer b, both named as for
// [layers.Is]. An unknown layer, or a layer that is not reachable, is an error.
func between(g *layers.Graph, a, b string) ([]layers.Step, error) {
	var files [2]string
	for i, name := range []string{a, b} {
		l := g.Named(name)
		if l == nil {
			return nil, unknown(g, name)
		}
		files[i] = l.File
	}
	if files[0] == files[1] {
		return nil, options.UsageError(diag.Errorf(diag.Pos{}, "", "--path needs two layers: %s is the same as %s", diag.Redact(a),
			diag.Redact(b)).With(diag.Arguments))
	}
	path, ok := g.Path(files[0], files[1])
	if ok {
		return path, nil
	}
	e := diag.Errorf(diag.Pos{}, "", "%s is not made of %s", folder(files[0]), folder(files[1])).With(diag.Arguments)
	if _, back := g.Path(files[1], files[0]); back {
		e.Hint("it is the other way round: --path %s %s", diag.ShellWord(b), diag.ShellWord(a))
	}
	return nil, e
}

// unknown returns the error for a name that is not a layer of the plan.
func unknown(g *layers.Graph, name string) error {
	e := diag.Errorf(diag.Pos{}, "", "--path: %s is no layer of the plan", diag.Redact(name)).With(diag.Arguments)
	var known []string
	for _, l := range g.All() {
		known = append(known, filepath.Dir(l.File))
	}
	if e.Hints = diag.DidYouMean(name, known); e.Hints == nil && len(known) > 0 {
		e.Hint("there are: %s", diag.Some(known))
	}
	e.Hint("the last argument is the layer that the way leads to; those before are planned, or else the one that it starts from")
	return options.UsageError(e)
}

// writeWay writes a path of references: the start folder, then one line per reference with its
// position and the folder it leads to.
func writeWay(w io.Writer, g *layers.Graph, path []layers.Step) error {
	var b strings.Builder
	for i, s := range path {
		if i == 0 {
			b.WriteString(folder(s.From) + "\n")
		}
		fmt.Fprintf(&b, "  %s: %s: %s\n", diag.Sanitise(diag.Redact(g.Place(s).String())), diag.Sanitise(s.Field), folder(s.Layer))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func folder(file string) string { return diag.Sanitise(diag.Redact(filepath.Dir(file))) }
