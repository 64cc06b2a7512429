package diff

import (
	"errors"
	"os"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/graph"
	"github.com/spf13/cobra"
)

// differing is the diff command with its own flags.
type differing struct {
	*cli.Invocation
	against, output string
	stat, exitCode  bool
	maxSize         int
}

// errDiffers is the error for a difference with --exit-code.
var errDiffers = errors.New("there are differences")

// diffForms lists the values of --output.
var diffForms = []string{"text", "unified", "markdown", "json", "html"}

// Command returns the diff command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &differing{Invocation: a}
	cmd := &cobra.Command{
		Use:   "diff [DIR...]",
		Short: "Show what a change makes of the rendered resources",
		Long: `Render the directories, and compare that with what --against names: which resources are added and removed, and which fields of
the others have changed, with the file and line that cause it as far as they are known.

--against is a revision of the repository, git:REV, which is read from git's objects: nothing is checked out. Or it is a directory: one with a
Kustomization or Composition is rendered, too, and with -R what is below it; any other one is read as output, as is a file. Roots that
are the same in the revision are not rendered, and not planned either if an earlier run has left a record of what they are made of. Functions that
both sides call with the same input run once.

Values of Secrets are not shown, only that they differ.`,
		Example: `  krmflow diff overlays/prod --against git:HEAD
  krmflow diff -R overlays --against git:origin/main -o markdown > comment.md
  krmflow diff -R overlays --against git:origin/main -o html > diff.html
  krmflow diff -R overlays --against out/ --stat
  krmflow diff overlays/prod --against overlays/staging --exit-code`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.run(cmd, args)
			if c.exitCode && err != nil && exit.Code(err) == exit.Input && !errors.Is(err, errDiffers) {
				return &exit.Error{Code: exit.Trouble, Err: err}
			}
			return err
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterReport(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.against, "against", "", "what is compared with: git:REV, a directory that is rendered, or output")
	fs.StringVarP(&c.output, "output", "o", "text", "form of the difference: text, unified, markdown, json or html (one page that needs nothing else)")
	fs.BoolVar(&c.stat, "stat", false, "name the resources, and not what has changed in them")
	fs.BoolVar(&c.exitCode, "exit-code", false, "exit with 1 if anything differs, and with 128 if the input is wrong, as git diff does")
	fs.IntVar(&c.maxSize, "max-size", 60_000, "bytes that markdown may have; what is left out is counted")
	return cmd
}

func (c *differing) run(cmd *cobra.Command, args []string) error {
	switch {
	case c.against == "":
		return options.UsageError(errors.New("say what to compare with: --against git:HEAD, a directory, or output"))
	case c.stat && c.output != "text":
		return options.UsageError(errors.New("--stat is about -o text"))
	case cmd.Flags().Changed("max-size") && c.output != "markdown":
		return options.UsageError(errors.New("--max-size is about -o markdown"))
	case c.maxSize < 1000:
		return options.UsageError(errors.New("--max-size must be at least 1000"))
	}
	var write func(*Result) error
	switch c.output {
	case "text":
		write = func(r *Result) error {
			return r.WriteText(c.Stdout, Style{Color: c.Color.On(os.Stdout), Stat: c.stat})
		}
	case "unified":
		write = func(r *Result) error { return r.WriteUnified(c.Stdout) }
	case "markdown":
		write = func(r *Result) error { return r.WriteMarkdown(c.Stdout, c.maxSize) }
	case "json":
		write = func(r *Result) error { return r.WriteJSON(c.Stdout) }
	case "html":
		write = func(r *Result) error { return r.WriteHTML(c.Stdout) }
	default:
		return graph.IllegalForm(cmd, c.output, diffForms...)
	}
	result, err := Compare(c.Invocation, cmd, args, c.against)
	if result == nil {
		return err
	}
	err = errors.Join(write(result), err, c.StrictError())
	if err == nil && c.exitCode && result.Any() {
		return &exit.Told{Err: &exit.Error{Code: exit.Input, Err: errDiffers}}
	}
	return err
}
