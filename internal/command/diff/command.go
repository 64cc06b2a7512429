package diff

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/internal/cli/report"
	"github.com/krmflow/krmflow/internal/command/graph"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/spf13/cobra"
)

// differing is the diff command with its own flags.
type differing struct {
	*cli.Invocation
	against, output string
	stat, exitCode  bool
	maxSize         options.Size
	rules           validation.Flags
}

// errDiffers is the error for a difference with --exit-code.
var errDiffers = errors.New("there are differences")

// diffForms lists the values of --output.
var diffForms = []string{"text", "unified", "markdown", "json", "html", "sarif"}

// Command returns the diff command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &differing{Invocation: a}
	cmd := &cobra.Command{
		Use:   "diff [DIR...]",
		Short: "Show the differences in rendered resources",
		Long: `Render the directories and compare the result with another state: added and removed resources, and changed fields with the file and line
that cause the change, where known.

--against names the other state, by default HEAD. A revision is read from git's objects, without a checkout. A directory with a Kustomization or
Composition is rendered, and with -R also all roots below it; any other directory, or a file, is read as output. An existing path takes precedence over
a revision of the same name; git:REV always is a revision. 'krmflow diff A B' compares directory B with directory A, and says so on stderr.

Findings mark dangerous changes: fields that an API server refuses to change, smaller volumes, deleted data, new privileges and images without a fixed
tag. With --cel also changes that violate CEL rules of CRDs (not of policies). 'krmflow explain CODE' has a page for each kind.

Roots that are equal in the revision are not rendered, and not planned either if an earlier run recorded their inputs. Functions that both sides call
with the same input run once. Values of Secrets are never shown, only that they differ.`,
		Example: `  krmflow diff overlays/prod
  krmflow diff -R overlays --against origin/main -o markdown > comment.md
  krmflow diff -R overlays --against origin/main -o html > diff.html
  krmflow diff -R overlays --against out/ --stat
  krmflow diff overlays/staging overlays/prod --exit-code`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.run(cmd, args)
			if c.exitCode && err != nil && exit.Code(err) == exit.Input && !errors.Is(err, errDiffers) {
				return &exit.Error{Code: exit.Trouble, Err: err}
			}
			return err
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterShard(cmd)
	a.RegisterReport(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.against, "against", "", "compare with `REV`, a directory or output (default HEAD)")
	fs.StringVarP(&c.output, "output", "o", "text", "output `format`: text, unified, markdown, json, html or sarif")
	fs.BoolVar(&c.stat, "stat", false, "print only the names of the resources that differ")
	fs.BoolVar(&c.exitCode, "exit-code", false, "exit with 1 for differences, 11 with findings of level error, 128 after an error")
	c.rules.RegisterUpdates(cmd)
	c.maxSize = 60_000
	fs.Var(&c.maxSize, "max-size", "maximum size of markdown; beyond it, equal changes are summarized")
	return cmd
}

func (c *differing) run(cmd *cobra.Command, args []string) error {
	switch {
	case c.against == "" && cmd.Flags().Changed("against"):
		return options.UsageError(errors.New("--against must not be empty"))
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
		write = func(r *Result) error { return r.WriteMarkdown(c.Stdout, int(c.maxSize)) }
	case "json":
		write = func(r *Result) error { return r.WriteJSON(c.Stdout) }
	case "html":
		write = func(r *Result) error { return r.WriteHTML(c.Stdout) }
	case report.SARIF:
		write = func(r *Result) error { return r.WriteSARIF(c.Stdout) }
	default:
		return graph.IllegalForm(cmd, c.output, diffForms...)
	}
	sides := ""
	byDefault := c.against == "" && len(args) != 2
	switch {
	case byDefault:
		c.against = revision.Prefix + "HEAD"
	case c.against == "" && c.Recursive:
		e := diag.Errorf(diag.Pos{}, "", "with -R, two directories may be two sides, or two directories to compare with HEAD").
			With(diag.Arguments)
		return options.UsageError(e.Hint("name the other side: %s diff -R %s --against %s, or --against HEAD for both", c.Name,
			diag.ShellWord(diag.Redact(args[1])), diag.ShellWord(diag.Redact(args[0]))))
	case c.against == "":
		c.against, args = args[0], args[1:]
		sides = fmt.Sprintf("compared %s (old) with %s (new)", diag.Redact(c.against), diag.Redact(args[0]))
	}
	against, err := cli.Against(cmd.Context(), cli.AgainstDir(args), c.against)
	if err != nil {
		return err
	}
	rules, err := c.rules.Updates(cmd)
	if err != nil {
		return err
	}
	result, err := Compare(c.Invocation, cmd, args, against, rules)
	if byDefault && diag.CodeOf(err) == diag.NoRevision {
		e := *diag.AsError(err)
		e.Hints = append(slices.Clip(e.Hints), "name the other side: --against REV, a directory or a file")
		err = &e
	}
	if result == nil {
		return err
	}
	if !c.Quiet {
		c.Result = sides
	}
	for _, e := range result.dangers().Entries {
		c.Found(e.Report())
	}
	err = errors.Join(write(result), err, c.StrictError())
	if err == nil && c.exitCode && result.Any() {
		code := exit.Input
		if result.levels()[diag.LevelError] > 0 {
			code = exit.Danger
		}
		return &exit.Told{Err: &exit.Error{Code: code, Err: errDiffers}}
	}
	return err
}

// WriteSARIF writes the findings for code scanning.
func (r *Result) WriteSARIF(w io.Writer) error {
	out := &report.Report{Command: "diff", Version: program.Version()}
	for _, e := range r.dangers().Entries {
		out.Add(e.Report())
	}
	text, err := out.Text(report.SARIF)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
