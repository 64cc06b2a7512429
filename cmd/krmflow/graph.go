package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/drawing"
	"github.com/spf13/cobra"
)

// drawDOT draws a plan in the DOT language as graph does without flags.
func drawDOT(plan *planner.Plan, w io.Writer) error {
	d, err := drawing.New(plan, drawing.Options{Fold: true, Legend: true})
	if err != nil {
		return err
	}
	return d.WriteDOT(w)
}

func graphCommand(a *app.App) *cobra.Command {
	var o drawing.Options
	var form, detail string
	cmd := &cobra.Command{
		Use:   "graph [DIR...]",
		Short: "Draw the plan: the layers and what uses what, or every step",
		Long: `Draw what rendering the directories would do. Without flags there is one box for each layer, with the number of its own resources,
patches, transformers, generators and functions, and edges from what is used to what uses it. Where there are many boxes,
roots that are made of the same layers are one box, and so are chains of layers. Nothing is executed and nothing is written.`,
		Example: `  krmflow graph overlays/prod -o svg > prod.svg             # a picture
  krmflow graph overlays/prod | dot -Tpng > prod.png        # one by graphviz
  krmflow graph overlays/prod --detail steps -o mermaid     # for a page in Markdown
  krmflow graph -R . --from base/web.yaml -o svg > web.svg  # what a change of this file changes
  krmflow graph -R . --to overlays/prod                     # what overlays/prod is made of`,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := drawingForms[form]
			if !ok {
				return illegalForm(cmd, form, "dot", "mermaid", "svg")
			}
			if detail != "layers" && detail != "steps" {
				return usageError(fmt.Errorf("illegal value --detail %s; legal values: layers, steps", detail))
			}
			o.Steps = detail == "steps"
			_, plan, err := a.PlanRoots(cmd, args)
			if err != nil {
				if a.Recursive && !a.KeepGoing && a.FoundRoots != nil {
					a.Result = "nothing is drawn; --keep-going draws the roots without mistakes"
				}
				return err
			}
			d, err := drawing.New(plan, o)
			if err != nil {
				return usageError(err)
			}
			var b bytes.Buffer
			if err := write(d, &b); err != nil {
				return err
			}
			_, err = b.WriteTo(a.Stdout)
			return errors.Join(err, plan.Err(), a.Denied(plan), a.StrictError())
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterReport(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&form, "output", "o", "dot", "form of the drawing: dot (for graphviz), mermaid or svg")
	fs.StringVar(&detail, "detail", "layers", "what is drawn: layers, or the steps of each")
	fs.StringArrayVar(&o.Roots, "root", nil, "draw this root `DIR` only; may be repeated")
	fs.StringVar(&o.To, "to", "", "draw what leads to this `LAYER` or node: a directory, the file of a layer, or the id of a node")
	fs.StringVar(&o.From, "from", "", "draw what this `FILE` leads to, or this directory of a layer")
	fs.BoolVar(&o.Fold, "fold", true, "draw layers that are alike as one box, if there are many")
	fs.BoolVar(&o.Legend, "legend", true, "explain the drawing in it")
	_ = cmd.RegisterFlagCompletionFunc("detail", cobra.FixedCompletions([]string{"layers", "steps"}, cobra.ShellCompDirectiveNoFileComp)) // fails for flags that do not exist
	_ = cmd.MarkFlagDirname("root")
	return cmd
}

// illegalForm refuses a value of --output that is none of the forms that a command prints. Somebody may have meant a file.
func illegalForm(cmd *cobra.Command, value string, forms ...string) error {
	e := diag.Errorf(diag.Pos{}, "", "illegal value --output %s; legal values: %s", diag.Redact(value), strings.Join(forms, ", ")).With(diag.FlagValue)
	if ext := strings.TrimPrefix(filepath.Ext(value), "."); slices.Contains(forms, ext) {
		e.Hint("for a file: %s -o %s > %s", cmd.CommandPath(), ext, diag.Redact(value))
	}
	if _, drawn := drawingForms[value]; drawn {
		e.Hint("krmflow graph -o %s draws it", value)
	}
	return usageError(e)
}

// drawMermaid refuses what Mermaid cannot draw: another command line can ask for less.
func drawMermaid(d *drawing.Drawing, w io.Writer) error {
	if err := d.WriteMermaid(w); err != nil {
		return usageError(err)
	}
	return nil
}

// drawingForms are the forms that drawings have.
var drawingForms = map[string]func(*drawing.Drawing, io.Writer) error{
	"dot":     (*drawing.Drawing).WriteDOT,
	"mermaid": drawMermaid,
	"svg":     (*drawing.Drawing).WriteSVG,
}
