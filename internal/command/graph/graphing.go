// Package graph implements the graph command: drawings of a plan, and its text output about
// layers.
package graph

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/planview/drawing"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// WriteDOT draws a plan in the DOT language, as graph does by default.
func WriteDOT(plan *planner.Plan, w io.Writer) error {
	d, err := drawing.New(plan, drawing.Options{Fold: true, Legend: true})
	if err != nil {
		return err
	}
	return d.WriteDOT(w)
}

// command is the graph command with its flags.
type command struct {
	*cli.Invocation
	drawn        drawing.Options
	form, detail string
	layers       bool
	path         string // start layer of --path
	to           string // end layer of --path
	cycles       bool
}

// Command returns the graph command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &command{Invocation: a}
	cmd := &cobra.Command{
		Use:   "graph [DIR...]",
		Short: "Draw the layers of a plan, or all its steps",
		Long: `Draw the plan for the directories. By default there is one box per layer, with the number of its own resources, patches, transformers, generators and
functions, and edges from each layer to its consumers. In large drawings, roots with the same layers share a box, and so do chains of
layers. Nothing is executed and nothing is written.

--path A B, where B is the last argument, prints the shortest chain of references from layer A to layer B; -o draws it. Without other
arguments, A is planned. --cycles prints reference cycles.`,
		Example: `  krmflow graph overlays/prod -o svg > prod.svg             # a picture
  krmflow graph overlays/prod | dot -Tpng > prod.png        # one by graphviz
  krmflow graph overlays/prod --detail steps -o mermaid     # for a page in Markdown
  krmflow graph -R . --from base/web.yaml -o svg > web.svg  # what a change of this file changes
  krmflow graph -R . --to overlays/prod                     # what overlays/prod is made of
  krmflow graph -R . --reduce                               # without references that follow from others
  krmflow graph --path overlays/prod base/frontend          # why overlays/prod is made of base/frontend`,
		RunE: c.run,
	}
	a.RegisterRendering(cmd)
	a.RegisterReport(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&c.form, "output", "o", "dot", "`format`: dot, mermaid or svg; text with --path and --cycles")
	fs.StringVar(&c.detail, "detail", "layers", "`detail` of the drawing: layers or steps")
	fs.BoolVar(&c.layers, "layers", false, "draw layers: the same as --detail layers")
	fs.StringArrayVar(&c.drawn.Roots, "root", nil, "draw only this root `DIR`; may be repeated")
	fs.StringVar(&c.drawn.To, "to", "", "draw the dependencies of this `layer` or node")
	fs.StringVar(&c.drawn.From, "from", "", "draw the consumers of this `FILE` or layer")
	fs.StringVar(&c.drawn.From, "affected-by", "", "the same as --from `FILE`")
	fs.BoolVar(&c.drawn.Reduce, "reduce", false, "omit edges that other edges imply")
	for _, name := range []string{"layers", "affected-by"} {
		_ = fs.MarkHidden(name) // fails only for flags that do not exist
	}
	fs.StringVar(&c.path, "path", "", "print the shortest path from this `layer` to the last argument")
	fs.BoolVar(&c.cycles, "cycles", false, "print reference cycles")
	fs.BoolVar(&c.drawn.Fold, "fold", true, "draw many similar layers as one box")
	fs.BoolVar(&c.drawn.Legend, "legend", true, "draw a legend")
	// fails only for an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("detail", cobra.FixedCompletions([]string{"layers", "steps"}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"root", "path"} {
		_ = cmd.MarkFlagDirname(name)
	}
	return cmd
}

func (c *command) run(cmd *cobra.Command, args []string) error {
	args, err := c.check(cmd, args)
	if err != nil {
		return err
	}
	roots, _, err := c.Find(cmd, engine.Search{Args: args})
	if err != nil {
		return err
	}
	run, err := c.Plan(cmd, engine.Request{Roots: roots})
	if err != nil {
		if c.Recursive && !c.KeepGoing {
			c.Result = "nothing is drawn; --keep-going draws the roots without mistakes"
		}
		return err
	}
	plan := run.Plan()
	planview.HideSecrets(plan)
	var b bytes.Buffer
	if c.cycles {
		err = c.writeCycles(&b, plan)
	} else {
		err = c.draw(&b, plan)
	}
	if err != nil {
		return err
	}
	_, err = b.WriteTo(c.Stdout)
	return errors.Join(err, plan.Err(), cmp.Or(run.Denied(), c.StrictError()))
}

// check validates the flags and returns the directories to plan.
func (c *command) check(cmd *cobra.Command, args []string) ([]string, error) {
	fs := cmd.Flags()
	text := c.cycles || fs.Changed("path")
	if text && !fs.Changed("output") {
		c.form = "text"
	}
	forms := []string{"dot", "mermaid", "svg"}
	switch {
	case c.cycles:
		forms = []string{"text"}
	case text:
		forms = append(forms, "text")
	}
	if !slices.Contains(forms, c.form) {
		return nil, IllegalForm(cmd, c.form, forms...)
	}
	if c.detail != "layers" && c.detail != "steps" {
		return nil, options.UsageError(fmt.Errorf("illegal value --detail %s; legal values: layers, steps", c.detail))
	}
	c.drawn.Steps = c.detail == "steps"
	for _, pair := range [][2]string{{"from", "affected-by"}, {"path", "cycles"}, {"path", "from"}, {"path", "affected-by"}, {"path", "to"},
		{"path", "root"}, {"path", "reduce"},
		{"cycles", "from"}, {"cycles", "affected-by"}, {"cycles", "to"}, {"cycles", "root"}, {"cycles", "reduce"}} {
		if fs.Changed(pair[0]) && fs.Changed(pair[1]) {
			return nil, options.UsageError(fmt.Errorf("--%s and --%s exclude each other", pair[0], pair[1]))
		}
	}
	if c.drawn.Steps && (c.layers || c.drawn.Reduce || text) {
		return nil, options.UsageError(errors.New("--layers, --reduce, --path and --cycles are about layers: leave out --detail steps"))
	}
	c.KeepGoing = c.KeepGoing || c.cycles // a root in a cycle cannot be planned
	if !fs.Changed("path") {
		return args, nil
	}
	if len(args) == 0 || c.path == "" {
		return nil, options.UsageError(errors.New("--path needs two layers: --path A B"))
	}
	args, c.to, c.drawn.Fold = args[:len(args)-1], args[len(args)-1], false
	if len(args) == 0 && !c.Recursive {
		args = []string{c.path}
	}
	return args, nil
}

// draw writes the drawing of a plan, or with --path the text instead.
func (c *command) draw(w io.Writer, plan *planner.Plan) error {
	if c.to != "" {
		g := plan.Layers()
		path, err := between(g, c.path, c.to)
		if err != nil || c.form == "text" {
			return errors.Join(err, writeWay(w, g, path))
		}
		c.drawn.Path = path
	}
	d, err := drawing.New(plan, c.drawn)
	if err != nil {
		return options.UsageError(err)
	}
	return forms[c.form](d, w)
}

func (c *command) writeCycles(w io.Writer, plan *planner.Plan) error {
	g := plan.LayersRead()
	cycles := g.Cycles()
	if len(cycles) == 0 {
		c.Result = "no layer leads back to itself"
	}
	for _, cycle := range cycles {
		if err := writeWay(w, g, cycle); err != nil {
			return err
		}
	}
	return nil
}

// IllegalForm returns the error for an invalid value of --output. It adds a hint if the value
// looks like the name of a file.
func IllegalForm(cmd *cobra.Command, value string, legal ...string) error {
	e := diag.Errorf(diag.Pos{}, "", "illegal value --output %s; legal values: %s", diag.Redact(value),
		strings.Join(legal, ", ")).With(diag.FlagValue)
	if ext := strings.TrimPrefix(filepath.Ext(value), "."); slices.Contains(legal, ext) {
		e.Hint("for a file: %s -o %s > %s", cmd.CommandPath(), ext, diag.Redact(value))
	}
	if _, drawn := forms[value]; drawn && cmd.Name() != "graph" {
		e.Hint("krmflow graph -o %s draws it", value)
	}
	return options.UsageError(e)
}

// drawMermaid draws in Mermaid. An error is a usage error, because a different command line can
// ask for a smaller drawing.
func drawMermaid(d *drawing.Drawing, w io.Writer) error {
	if err := d.WriteMermaid(w); err != nil {
		return options.UsageError(err)
	}
	return nil
}

// forms maps the values of --output to the functions that draw them.
var forms = map[string]func(*drawing.Drawing, io.Writer) error{
	"dot":     (*drawing.Drawing).WriteDOT,
	"mermaid": drawMermaid,
	"svg":     (*drawing.Drawing).WriteSVG,
}
