// Package plan implements the plan command.
package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	graphcmd "github.com/krmflow/krmflow/internal/command/graph"
	"github.com/krmflow/krmflow/internal/command/plan/plandiff"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/planview/planpage"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/internal/review/preview"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/krmflow/krmflow/internal/review/why"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// planning is the plan command with its own flags.
type planning struct {
	*cli.Invocation
	output  string
	detail  string
	noEval  bool
	against string
	missing bool // the folder does not exist
	leftOut int  // number of roots that were found but filtered out
	kinds   string
	diff    string
	folder  sink.FolderFlags // form of the folder of --against
	valid   validation.Flags
	check   *validation.Run // nil without validation
	parts   *parts          // nil if all roots are planned
}

// Command returns the plan command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &planning{Invocation: a}
	cmd := &cobra.Command{
		Use:   "plan [DIR...]",
		Short: "Print what rendering would do, without doing it",
		Long: `Print what rendering the directories would do. For each root: its layers, its resources and the changes to them, and the functions with the reason
why they may run. Many roots are a table, where similar roots share a line. The last line is the number of roots that can be rendered.

Built-ins are evaluated, so that the plan knows all resources and reports every error that can be found without running a function, for all roots together.
Nothing else is executed, and only the cache is written.

--against a revision or a plan file prints what changed in the plan. --against an output folder counts the files that apply-render would add, change and
remove.`,
		Example: `  krmflow plan overlays/prod
  krmflow plan -R . -o json
  krmflow plan -R . -o html > plan.html
  krmflow plan -R overlays --against out/
  krmflow plan -R overlays --against HEAD`,
		RunE: c.run,
	}
	a.RegisterRendering(cmd)
	a.RegisterShard(cmd)
	a.RegisterReport(cmd)
	c.valid.Register(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&c.output, "output", "o", "text", "output `format`: text, json, html or dot")
	fs.StringVar(&c.detail, "detail", "", "print every `detail`: steps (with inputs) or roots (with layers)")
	fs.Lookup("detail").NoOptDefVal = "steps"
	fs.BoolVar(&c.noEval, "no-eval", false, "skip the evaluation of built-ins; faster, but finds fewer errors")
	fs.StringVar(&c.against, "against", "", "compare with `REV`, a plan (a file of -o json) or an output folder")
	fs.StringVar(&c.diff, "diff", "", "the same as --against")
	_ = fs.MarkHidden("diff") // fails only for flags that do not exist
	c.folder.Register(fs)
	return cmd
}

// isFile reports whether path is an existing file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// validate returns an error for invalid values and combinations of flags. A revision of --against
// is looked up in the repository that contains dir.
func (c *planning) validate(cmd *cobra.Command, dir string) error {
	switch {
	case cmd.Flags().Changed("against") && c.against == "", cmd.Flags().Changed("diff") && c.diff == "":
		return options.UsageError(errors.New("--against must not be empty"))
	case c.against != "" && c.diff != "":
		return options.UsageError(errors.New("--diff is an old name of --against: use --against alone"))
	}
	for _, side := range []*string{&c.against, &c.diff} {
		against, err := cli.Against(cmd.Context(), dir, *side)
		if err != nil {
			return cli.NewFolder(err, *side)
		}
		*side = against
	}
	if plandiff.IsRevision(c.against) || isFile(c.against) { // not an output folder: compare plans
		c.against, c.diff = "", c.against
	}
	switch {
	case !slices.Contains([]string{"text", "json", "html", "dot"}, c.output):
		return graphcmd.IllegalForm(cmd, c.output, "text", "json", "html", "dot")
	case !slices.Contains([]string{"", "steps", "roots"}, c.detail):
		return options.UsageError(fmt.Errorf("illegal value --detail=%s; legal values: steps, roots", c.detail))
	case c.against != "" && c.noEval:
		return options.UsageError(errors.New("--against with a folder needs the evaluation that --no-eval skips"))
	case c.diff != "" && (c.detail != "" || c.output == "dot"):
		return options.UsageError(errors.New(
			"--against with a revision or a plan compares two plans as text, json or html: remove --detail and -o dot"))
	case c.valid.On && c.noEval:
		return options.UsageError(errors.New("--validate needs the evaluation that --no-eval skips"))
	}
	for _, flag := range []string{"only-these", "layout", "names", "redact-secrets"} {
		if c.against == "" && cmd.Flags().Changed(flag) {
			return options.UsageError(fmt.Errorf("--%s needs a folder to compare with: add --against FOLDER", flag))
		}
	}
	if err := c.folder.Check(); err != nil {
		return options.UsageError(err)
	}
	return nil
}

func (c *planning) run(cmd *cobra.Command, args []string) error {
	if err := c.validate(cmd, cli.AgainstDir(args)); err != nil {
		return err
	}
	base := ""
	if c.against != "" && c.folder.OnlyThese {
		base = output.Base(c.against)
	}
	var err error
	if c.check, err = c.valid.New(cmd); err != nil {
		return err
	}
	roots, leftOut, err := c.Find(cmd, engine.Search{Args: args, Base: base})
	if err != nil {
		return err
	}
	c.leftOut, c.kinds = leftOut, roots.Kinds()
	q := engine.Request{Roots: roots, KeepGoing: c.output != "dot"} // the plan lists the failed roots
	if c.against == "" && c.diff == "" && c.check == nil && !c.noEval {
		q.Key = fmt.Sprintf("plan %s %s %d %t %d %s", c.output, c.detail, terminal.Width(os.Stdout), c.Color.On(os.Stdout), c.leftOut,
			c.Findings())
		if c.output == "text" && c.detail != "steps" && len(roots) > 1 {
			e, err := c.Engine(cmd)
			if err != nil {
				return err
			}
			c.parts = newParts(e, roots, args, &q)
		}
	}
	run, err := c.Plan(cmd, q)
	if err != nil {
		return err
	}
	err = run.Print(c.Stdout, func(w io.Writer) error { return c.print(cmd, args, run, w) })
	c.parts.save()
	return err
}

// print writes the plan of a run to w.
func (c *planning) print(cmd *cobra.Command, args []string, run *engine.Run, w io.Writer) error {
	plan := run.Plan()
	planview.HideSecrets(plan)
	made, mistakes, err := c.preview(cmd, run)
	if err != nil {
		return err
	}
	if made != nil {
		made.Since = why.New(run).Since()
	}
	denied := run.Denied()
	if denied != nil && plan.Err() != nil && !c.KeepGoing {
		// without its exit code: the errors of the plan take precedence
		denied = errors.Join(append((&render.DeniedError{Denials: plan.Denied}).Unwrap(), c.StrictError())...)
	}
	if c.check != nil {
		mistakes = append(mistakes, validation.Findings(c.Invocation, c.check, run))
	}
	err = errors.Join(plan.Err(), errors.Join(mistakes...), cmp.Or(denied, c.StrictError()))
	shown := *plan
	shown.Warnings = c.Reported(withRecalled(plan.Warnings, slices.Concat(run.Recalled())))
	plan = &shown
	if c.diff == "" && c.output == "text" && c.detail != "steps" {
		return c.writeText(w, plan, made, err)
	}
	return errors.Join(write(w, func(w io.Writer) error {
		switch {
		case c.diff != "":
			return c.compare(cmd, args, run, planview.New(plan, made), w)
		case c.output == "html":
			return planpage.Write(w, planview.New(plan, made))
		case c.output == "json":
			return planview.WriteJSON(w, plan, made)
		case c.output == "dot":
			return graphcmd.WriteDOT(plan, w)
		}
		return planview.WriteNodes(diag.SanitisingWriter(w), plan, made)
	}), err)
}

// compare writes the differences from the plan that --diff names.
func (c *planning) compare(cmd *cobra.Command, args []string, run *engine.Run, now *planview.Document, w io.Writer) error {
	old, err := plandiff.Plan(cmd, c.Invocation, args, run, c.diff, !c.noEval)
	if err != nil {
		return err
	}
	d := old.Compare(now)
	switch c.output {
	case "json":
		return d.Write(w)
	case "html":
		return planpage.WriteDifference(w, now, old.Document, d)
	}
	return d.WriteText(w, planview.Style{Color: c.Color.On(os.Stdout)})
}

// preview runs the part of the plan that needs no functions. It returns nil with --no-eval.
func (c *planning) preview(cmd *cobra.Command, run *engine.Run) (made *planview.Preview, mistakes []error, err error) {
	if c.noEval {
		return nil, nil, nil
	}
	ctx, plan := cmd.Context(), run.Plan()
	roots := run.Scope().Roots
	o := preview.Options{Objects: c.output == "json" || c.output == "html" || c.diff != ""}
	if c.check != nil {
		o.Root = c.check.Root
	}
	if c.against != "" {
		fo, err := c.folder.Options(roots)
		if err != nil {
			return nil, nil, options.UsageError(err)
		}
		if err := c.ShardFolder(cmd, &fo); err != nil {
			return nil, nil, err
		}
		fo.Context, fo.Check = ctx, true
		_, err = os.Stat(c.against)
		c.missing = errors.Is(err, fs.ErrNotExist)
		folder, err := output.Open(c.against, fo)
		if err != nil {
			return nil, nil, err
		}
		defer c.Exits.Add(folder.Abort)()
		o.Against, o.Name, o.Out = folder, diag.Redact(c.against), map[string]string{}
		var steps history.Secrets
		if c.folder.Redact {
			o.Seen = steps.Seen
		}
		o.Clean = func(dir string, list *krm.List) *krm.List {
			return c.folder.Clean(dir, list, func(dir string, s *secret.Set) { steps.AddOf(s, plan.Graph, dir) })
		}
		for _, r := range roots {
			o.Out[diag.Redact(r.Dir)] = r.Out
		}
	}
	before, more := len(plan.Warnings), plan.MoreWarnings
	if made, mistakes, err = preview.Run(ctx, run, o); made != nil {
		made.Missing = c.missing
	}
	_, ran := run.Recalled()
	warnings := slices.SortedStableFunc(slices.Values(withRecalled(plan.Warnings[before:], ran)), planner.Warning.Compare)
	c.Log.Planned(&planner.Plan{Warnings: warnings, MoreWarnings: plan.MoreWarnings - more})
	return made, mistakes, err
}

// write writes a form of the plan to w after it was generated completely.
func write(w io.Writer, form func(io.Writer) error) error {
	var text bytes.Buffer
	if err := form(&text); err != nil {
		return err
	}
	_, err := text.WriteTo(w)
	return err
}

// writeText writes the plan for people. Errors are printed before the totals, so that the
// totals are the last line.
func (c *planning) writeText(w io.Writer, plan *planner.Plan, made *planview.Preview, wrong error) error {
	text := planview.NewText(plan, made, planview.Style{
		Width: terminal.Width(os.Stdout), Color: c.Color.On(os.Stdout), EachRoot: c.detail == "roots", LeftOut: c.leftOut, Kinds: c.kinds})
	c.parts.complete(text)
	if err := write(w, text.WriteRoots); err != nil {
		return err
	}
	if wrong != nil && !errors.As(wrong, new(*diag.PanicError)) {
		c.Reporter(c.LogFormat == "json").PrintEach(wrong)
		wrong = &exit.Told{Err: wrong}
	}
	return errors.Join(write(w, text.WriteTotals), wrong)
}
