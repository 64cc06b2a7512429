package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/history"
	"github.com/krmflow/krmflow/internal/profile"
	"github.com/krmflow/krmflow/internal/progress"
	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/krmflow/krmflow/internal/sink"
	"github.com/krmflow/krmflow/internal/validation"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/plandoc"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// applyRender is the command of that name, with the flags that are its alone.
type applyRender struct {
	*app.App
	output   string
	force    bool
	check    bool
	planFile string
	watch    bool

	prune         bool
	failOnSecrets bool
	folder        sink.FolderFlags
	validate      validation.Flags
	known         *known.Files // of the files of the output folder
}

func renderCommand(a *app.App) *cobra.Command {
	c := &applyRender{App: a}
	cmd := &cobra.Command{
		Use:   "apply-render [DIR...]",
		Short: "Render directories to a folder, a file or stdout",
		Long: `Plan the directories and, if all of them can be planned, render them. A folder receives one file per
resource, each root below its own path if there are several: relative to DIR with -R DIR, else to the working directory,
or to the deepest folder that holds all of them. --layout and --names change the files. The folder changes in one step when
everything is rendered: a run that is killed leaves what was there. Files that an earlier run wrote and that are no longer made
are removed. A folder with files of directories that are not rendered now is refused: --prune removes these files, --only-these
keeps them. Files that krmflow did not write are never touched; if the render needs their place, it is refused. It is also
refused if it would replace a file that was changed since krmflow wrote it, unless you add --force.

With -o FILE.yaml, all resources of one directory go to one file. A new name is a file if it ends in .yaml, .yml or .json, else
a folder. A file with content that krmflow did not write is replaced only with --force.

With --watch, it then waits for changes of what the directories are made from, and renders again what they change, until
Ctrl-C ends it with exit code 130. What is remote is not watched.`,
		Example: `  krmflow apply-render overlays/prod -o out/
  krmflow apply-render -R overlays -o out/ --prune
  krmflow apply-render overlays/prod -o out/ --only-these
  krmflow apply-render -R overlays -o out/ --check
  krmflow apply-render -R overlays -o out/ --watch
  krmflow apply-render -R overlays -o out/ --layout '{namespace}/{kind}-{name}.yaml'`,
		RunE: c.run,
	}
	a.RegisterRendering(cmd)
	c.validate.Register(cmd)
	a.RegisterReport(cmd)
	a.RegisterProfile(cmd)
	c.registerOutput(cmd.Flags())
	c.registerWatch(cmd)
	cmd.Flags().StringVar(&c.planFile, "plan", "", "file from plan -o json: run only if every input, function and grant is the planned one, else exit with 4")
	return cmd
}

func (c *applyRender) run(cmd *cobra.Command, args []string) error {
	if err := c.checkFlags(cmd); err != nil {
		return err
	}
	if c.watch && c.Watch == nil {
		return c.untilStopped(cmd)
	}
	if err := c.StartProfile(cmd); err != nil {
		return err
	}
	if c.folder.OnlyThese {
		c.Base = output.Base(c.output)
	}
	ctx := cmd.Context()
	check, err := c.validate.New(cmd)
	if err != nil {
		return err
	}
	c.Helm.Hash = c.HoldHelm
	roots, err := c.Roots(cmd, args)
	if err != nil {
		return err
	}
	if len(roots) > 1 || c.Recursive {
		c.Tally.All, c.Tally.What, c.Tally.LeftOut = roots.Dirs(), "rendered", c.LeftOut()
	}
	if c.isFolder(roots) && check == nil && c.planFile == "" {
		c.Reuse(func(string, *reuse.Record) bool { return true }) // the sink knows better
	}
	plan, err := c.Plan(cmd, roots.Dirs())
	if err != nil {
		return err
	}
	if err := errors.Join(drift(plan, c.planFile), c.MayRun(plan)); err != nil {
		return err
	}
	steps := &history.Secrets{}
	to, err := c.sink(cmd, roots, plan, func(dir string, s *secret.Set) { steps.AddOf(s, plan.Graph, diag.Redact(dir)) })
	if err != nil {
		return err
	}
	defer c.Exits.Add(to.Abort)()
	r := &rendering{to: to, check: check, roots: map[string]render.Root{}}
	for _, root := range roots {
		r.roots[diag.Redact(root.Dir)] = root
	}
	r.missing = maps.Clone(r.roots)
	if plan, err = c.reuse(ctx, r, roots, plan); err != nil {
		return err
	}
	r.progress = progress.New(plan.Graph, len(plan.Failed), c.Steps.Slow)
	if !c.Quiet && c.LogFormat != "json" {
		r.progress.Start(c.Status, c.Stderr)
	}
	defer r.progress.Stop()
	o, end := c.RunOptions(ctx, r.event, r.root)
	defer end()
	o.Run.Several = len(roots) > 1
	if c.folder.Redact {
		o.Run.Seen = steps.Seen
	}
	err = errors.Join(plan.Err(), render.Run(ctx, plan, o))
	r.progress.Stop()
	c.Recorder.Stage(profile.Writing)
	if err != nil && (!c.KeepGoing || ctx.Err() != nil) {
		return err
	}
	if check != nil {
		if invalid := validated(c.App, check, plan); invalid != nil {
			return errors.Join(err, invalid)
		}
	}
	err = r.finish(ctx, err, c.StrictError)
	if r.committed {
		err = errors.Join(err, c.Remember(plan, r.note))
		c.RememberOutput(c.output, c.known)
	}
	c.Tally.Made, c.Tally.Missing = r.committed, slices.Collect(maps.Keys(r.missing))
	return err
}

// reuse passes on to the sink what earlier runs have made of roots that are not in the plan. If it needs some of them anew, the plan that is
// returned has these, too.
func (c *applyRender) reuse(ctx context.Context, r *rendering, roots render.Roots, plan *planner.Plan) (*planner.Plan, error) {
	var again []string
	for _, root := range roots {
		made := c.Reused(root.Dir)
		if made == nil {
			continue
		}
		ok, err := r.to.Reuse(root, made)
		switch {
		case err != nil:
			return nil, err
		case ok:
			c.Log.Unchanged(root.Dir)
			delete(r.missing, diag.Redact(root.Dir))
		default:
			again = append(again, root.Dir)
		}
	}
	if len(again) == 0 {
		return plan, nil
	}
	return c.PlanAgain(ctx, again)
}

// drift compares the plan with the one in a file, if there is a file.
func drift(plan *planner.Plan, file string) error {
	if file == "" {
		return nil
	}
	before, err := os.ReadFile(file) // not by loaders: it may be a pipe, and is no input of the plan
	var pe *fs.PathError
	if errors.As(err, &pe) {
		pe.Path = diag.Redact(pe.Path) // somebody may have meant an address
	}
	if err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	plandoc.HideSecrets(plan) // as in the plan that was written
	lines, err := plandoc.Drift(plan, before)
	if err != nil {
		return fmt.Errorf("--plan %s: %w", file, err)
	}
	if len(lines) == 0 {
		return nil
	}
	e := diag.Errorf(diag.Pos{}, "", "this is not what %s planned; nothing was executed", file).With(diag.PlanDiffers)
	e.Hints = lines
	return &exitError{exitVerified, e}
}

// A rendering passes what a run makes on to a sink.
type rendering struct {
	to       sink.Sink
	check    *validation.Run // nil if nothing is validated
	progress *progress.Progress
	mu       sync.Mutex
	roots    map[string]render.Root // all, by directory
	missing  map[string]render.Root // that have not ended well

	committed bool // what the run made is visible, or was compared
}

func (r *rendering) event(e scheduler.Event) {
	if e.Err != nil {
		r.progress.Fail(e.Node)
	}
}

func (r *rendering) root(at graph.Root, list *krm.List) error {
	r.mu.Lock()
	root := r.missing[at.Dir]
	r.mu.Unlock()
	if r.check != nil {
		r.check.Root(at, list)
	}
	if err := r.to.Put(root, list); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.missing, at.Dir)
	r.progress.Done()
	return nil
}

// note adds to the record of a root what was made of it, and reports whether it was made.
func (r *rendering) note(dir string, made *reuse.Record) bool {
	if _, missing := r.missing[dir]; missing {
		return false
	}
	root, ok := r.roots[dir]
	if ok {
		r.to.Note(root, made)
		made.Rendered = true
	}
	return ok
}

// finish makes the results visible; failed is what has failed before, although the run goes on.
func (r *rendering) finish(ctx context.Context, failed error, strict func() error) error {
	for _, root := range r.missing {
		if err := r.to.Keep(root); err != nil {
			return errors.Join(failed, err)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := strict(); err != nil {
		return errors.Join(failed, err)
	}
	err := r.to.Commit()
	r.committed = err == nil || errors.Is(err, sink.ErrChanged)
	if failed != nil && errors.Is(err, sink.ErrChanged) {
		e := *diag.AsError(err)
		e.Err = nil // a root that failed counts more than an output that would change
		err = &e
	}
	return errors.Join(failed, err)
}
