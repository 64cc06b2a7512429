// Package applyrender implements the apply-render command.
package applyrender

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/internal/review/validation"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// applyRender is the apply-render command with its own flags.
type applyRender struct {
	*cli.Invocation
	output   string
	against  string
	force    bool
	check    bool
	planFile string
	watch    bool

	prune         bool
	failOnSecrets bool
	folder        sink.FolderFlags
	validate      validation.Flags
}

// Command returns the apply-render command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &applyRender{Invocation: a}
	cmd := &cobra.Command{
		Use:     "apply-render [DIR...]",
		Aliases: []string{"render"},
		Short:   "Render directories to a folder, a file or stdout",
		Long: `Plan the directories and, if every plan succeeds, render them.

With -o FOLDER, each resource becomes a file. Several roots each get their own subfolder, relative to DIR with -R DIR, otherwise relative to the working
directory. --layout and --names change the files. The folder changes atomically at the end, so a killed run leaves the previous
output. Files of an earlier run that are no longer rendered are removed.

krmflow never overwrites other content without --force: files that it did not write, and files that were changed since it wrote them, are errors. If
the folder has files of roots that this run does not render, use --prune to remove them or --only-these to keep them. --force also writes to a
folder with other files. These files stay; links are replaced, never followed.

With -o FILE.yaml, all resources of one directory go to one file. A new name is a file if it ends in .yaml, .yml or .json.

With --watch, krmflow renders again whenever a local input changes, until Ctrl-C ends it with exit code 130. Remote inputs are not watched.`,
		Example: `  krmflow apply-render overlays/prod -o out/
  krmflow apply-render -R overlays -o out/ --prune
  krmflow apply-render overlays/prod -o out/ --only-these
  krmflow apply-render -R overlays -o out/ --check
  krmflow apply-render -R overlays -o out/ --watch
  krmflow apply-render -R overlays -o out/ --layout '{namespace}/{kind}-{name}.yaml'`,
		RunE: c.run,
	}
	a.RegisterRendering(cmd)
	a.RegisterShard(cmd)
	c.validate.Register(cmd)
	a.RegisterReport(cmd)
	a.RegisterProfile(cmd)
	c.registerOutput(cmd.Flags())
	c.registerWatch(cmd)
	cmd.Flags().StringVar(&c.planFile, "plan", "", "run only if everything equals this plan `FILE`; else exit with 4")
	return cmd
}

func (c *applyRender) run(cmd *cobra.Command, args []string) error {
	if err := c.checkFlags(cmd); err != nil {
		return err
	}
	if c.against != "" {
		against, err := cli.Against(cmd.Context(), cli.AgainstDir(args), c.against)
		if err != nil {
			return cli.NewFolder(err, c.against)
		}
		if strings.HasPrefix(against, revision.Prefix) {
			return c.checkRevision(cmd, args, against)
		}
		c.output = against
	}
	if c.watch && c.Watch == nil {
		return c.untilStopped(cmd)
	}
	if err := c.StartProfile(cmd); err != nil {
		return err
	}
	check, err := c.validate.New(cmd)
	if err != nil {
		return err
	}
	c.Helm.Hash = c.HoldHelm
	base := ""
	if c.folder.OnlyThese {
		base = output.Base(c.output)
	}
	roots, leftOut, err := c.Find(cmd, engine.Search{Args: args, Base: base})
	if err != nil {
		return err
	}
	if len(roots) > 1 || c.Recursive {
		c.Tally.All, c.Tally.What, c.Tally.LeftOut = roots.Dirs(), "rendered", leftOut
	}
	q := engine.Request{Roots: roots}
	if c.isFolder(roots) && check == nil && c.planFile == "" {
		q.Reuse = func(string, *records.Record) bool { return true } // always: the sink verifies the files of reused roots itself
	}
	run, err := c.Plan(cmd, q)
	if err != nil {
		return err
	}
	if err := drift(run.Plan(), c.planFile); err != nil {
		return errors.Join(err, run.Denied())
	}
	made, err := run.Write(cmd.Context(), c.writing(cmd, run, check))
	c.Tally.Made, c.Tally.Missing = made.Committed, made.Missing
	if errors.Is(err, sink.ErrChanged) && c.isFolder(roots) {
		c.differs()
	}
	return err
}

// checkRevision compares the render with that of a revision. A difference is an error, as for a
// folder with --check.
func (c *applyRender) checkRevision(cmd *cobra.Command, args []string, against string) error {
	shown, err := c.asDiff(cmd, args)
	if err != nil {
		return err
	}
	result, err := diff.Compare(c.Invocation, cmd, args, against, nil)
	if result == nil || !result.Any() {
		return errors.Join(err, c.StrictError())
	}
	e := diag.Errorf(diag.Pos{}, "", "%s would change compared with %s", diag.Count(len(result.Roots), "root"),
		diag.Redact(against)).With(diag.OutputDiffers)
	e.Err = sink.ErrChanged
	for _, r := range result.Roots[:min(3, len(result.Roots))] {
		e.Hint("%s", diag.OneLine(r.Name))
	}
	return errors.Join(e.Hint("%s prints the changes", shown), err)
}

// asDiff returns the command line of krmflow diff that compares the same roots. It returns an error
// for flags that concern output: a revision has no output that they could be compared with.
func (c *applyRender) asDiff(cmd *cobra.Command, args []string) (string, error) {
	flags := diff.Command(&cli.Invocation{Name: c.Name}).Flags()
	words := slices.Clone(args)
	var refused []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "check":
		case "recursive", "hidden", "leaves":
			words = append(words, strings.TrimSuffix("--"+f.Name+"="+f.Value.String(), "=true"))
		case "only", "exclude":
			for _, value := range *f.Value.(*options.Repeated) {
				words = append(words, "--"+f.Name, value)
			}
		case "against", "directory":
			words = append(words, "--"+f.Name, diag.Redact(f.Value.String()))
		default:
			if flags.Lookup(f.Name) == nil && cmd.InheritedFlags().Lookup(f.Name) == nil {
				refused = append(refused, "--"+f.Name)
			}
		}
	})
	if len(refused) > 0 {
		return "", options.UsageError(fmt.Errorf("a comparison with the revision %s has no output: remove %s", diag.Redact(c.against),
			strings.Join(refused, ", ")))
	}
	line := c.Name.String() + " diff"
	for _, word := range words {
		line += " " + diag.ShellWord(word)
	}
	return line, nil
}

// differs makes the difference that --check has found the last line of the command.
func (c *applyRender) differs() {
	result := diag.Redact(c.output) + " would change"
	if len(c.Tally.All) > 0 {
		c.Tally.Result = result
	} else {
		c.Result = result
	}
}

// writing returns the hooks for writing the run, including validation.
func (c *applyRender) writing(cmd *cobra.Command, run *engine.Run, check *validation.Run) (w engine.Writing) {
	steps := &history.Secrets{}
	if c.isFolder(run.Scope().Roots) {
		w.Folder = c.output
	}
	w.Open = func(inputs iter.Seq[string], files *known.Files) (sink.Sink, error) {
		to, err := c.open(cmd, run, inputs, files)
		if err != nil {
			return nil, err
		}
		earlier := func(dir string, s *secret.Set) { steps.AddOf(s, run.Plan().Graph, diag.Redact(dir)) }
		return sink.Secrets{Redact: c.folder.Redact, Fail: c.failOnSecrets, Earlier: earlier}.Guard(to), nil
	}
	if c.folder.Redact {
		w.Seen = steps.Seen
	}
	if check != nil {
		w.Root = check.Root
		w.Check = func() error { return validation.Checked(c.Invocation, check, run) }
	}
	return w
}

// drift returns an error if the plan differs from the one in file. It does nothing if file is
// empty.
func drift(plan *planner.Plan, file string) error {
	if file == "" {
		return nil
	}
	before, err := os.ReadFile(file) // not with loaders: the file may be a pipe and is not an input of the plan
	var pe *fs.PathError
	if errors.As(err, &pe) {
		pe.Path = diag.Redact(pe.Path) // the user may have passed a URL with credentials
	}
	if err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	planview.HideSecrets(plan) // plan -o json hid them as well
	lines, err := planview.Drift(plan, before)
	if err != nil {
		return fmt.Errorf("--plan %s: %w", file, err)
	}
	if len(lines) == 0 {
		return nil
	}
	e := diag.Errorf(diag.Pos{}, "", "this is not what %s planned; nothing was executed", file).With(diag.PlanDiffers)
	e.Hints = lines
	return &exit.Error{Code: exit.Verified, Err: e}
}
