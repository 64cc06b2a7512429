// Package app is what the commands of krmflow share: the flags about what is read and rendered, and the way from directories to a plan and
// to a run of it. The commands themselves are in cmd/krmflow, or beside what they are about.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/answers"
	"github.com/krmflow/krmflow/internal/console"
	"github.com/krmflow/krmflow/internal/filestat"
	"github.com/krmflow/krmflow/internal/locking"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/profile"
	"github.com/krmflow/krmflow/internal/program"
	"github.com/krmflow/krmflow/internal/progress"
	"github.com/krmflow/krmflow/internal/reports"
	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/internal/watchdog"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An App is what the commands share: the streams, the flags, and what they come to in one run. One App runs one command.
type App struct {
	// Name is what the program was called by.
	Name program.Name
	// Stdin, Stdout and Stderr are the streams. What is written to Stderr is made safe for a terminal.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Status is below Stderr: the line that tells how far a run is.
	Status *progress.StatusWriter
	Flags
	options.Functions
	RootFlags
	// Log prints warnings and what a run does. Commands that do not plan make it themselves.
	Log *console.Logger
	// Opts is what the last plan was made with, and what it is run with.
	Opts render.Options
	// Seen is what was fetched for the plan.
	Seen locking.Seen
	// Fetch fetches for a plan, nil for one of its own.
	Fetch loaders.Fetch
	// Instead has files that a plan reads with other contents.
	Instead map[string][]byte
	// Files are planned in the place of layers, if they are not nil: those of each root.
	Files []*planner.Files
	// Taken is how many bytes the command has read before it plans.
	Taken int64
	// AllFlags returns the flags of all commands that read a tree: see [App.ReadSettings].
	AllFlags func() *pflag.FlagSet
	// Complete tells that the command is one of those.
	Complete bool
	// Tally is what came of a run of several roots.
	Tally Tally
	// Result is the last line that the command prints to stderr, if it is not empty.
	Result string

	report       *reports.Report // nil if nobody wants one
	targets      []reports.Target
	planned      *planner.Plan // the last plan
	planWarnings int           // how many warnings it had before a preview added those of its steps

	// CommandLine are the arguments of the program.
	CommandLine []string
	// Ended is the error that the command has ended with.
	Ended error
	// Perform runs the command line of an App, and returns the exit code.
	Perform func(context.Context, *App) int
	// Observes makes plans know what their layers have seen: see [planner.Plan.Observed].
	Observes bool
	// Watch is what this run has in common with others of the same command, nil if there are none.
	Watch *Watch

	// MoreEdits are the command lines of edit behind the first one.
	MoreEdits [][]string

	// Stop ends the context of the command with a cause.
	Stop context.CancelCauseFunc
	// Exits are what is left to do if the process must end before the command does.
	Exits watchdog.Exits
	// Began is when the process did, more or less.
	Began time.Time
	// Recorder measures the command, nil if nobody wants that.
	Recorder *profile.Recorder
	profile  profileFlags
	// Used is what the run takes, and Steps which ones run at the moment.
	Used  watchdog.Usage
	Steps watchdog.Steps
	// Serves is true if the command ends when somebody else says so, and not soon after its context.
	Serves atomic.Bool

	// Places is where directories are that the run has looked for before it read anything.
	Places filestat.Dirs

	asked     []string // the directories of the last plan
	keptOnce  sync.Once
	keptCache *cache.Cache   // see kept
	shared    answers.Shared // nil if there is none

	wantsReuse func(dir string, r *reuse.Record) bool // see Reuse
	wantsAll   func([]*reuse.Record) bool             // see ReuseAll
	unseen     bool                                   // see ReuseUnseen
	reusing    *reusing

	warnings []planner.Warning // from before there was a log
	settings *settings.Settings

	cacheTold sync.Once // that the user's cache is not used
}

// A Tally is what came of a run of several roots. The zero Tally is that of a command which has none.
type Tally struct {
	// All are the roots, and What is said of those that are done, "rendered" for instance.
	All  []string
	What string
	// Made tells that there is a result, and Missing which roots are not in it.
	Made    bool
	Missing []string
	// LeftOut are how many roots were found and not meant.
	LeftOut int
}

// Done returns how many roots are done.
func (t Tally) Done() int {
	if !t.Made {
		return 0
	}
	return len(t.All) - len(t.Missing)
}

// Print writes the product of a command to stdout. That this fails is known to who has made stdout: see [stdout.Writer].
func (a *App) Print(s string) error {
	_, err := io.WriteString(a.Stdout, s)
	return err
}

// Plan compiles the roots and prints the warnings. Mistakes are returned as one error unless keepGoing is true and some
// roots have none.
func (a *App) Plan(cmd *cobra.Command, dirs []string) (*planner.Plan, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if err := a.openReport(cmd); err != nil {
		return nil, err
	}
	a.Recorder.Stage(profile.Planning)
	a.StartLog()
	for _, w := range options.Outdated(cmd) {
		a.Log.Warn(w)
	}
	a.warnUnfinished(dirs)
	if err := a.checkConfigPlace(dirs); err != nil {
		return nil, err
	}
	functions, err := a.Planner()
	if err != nil {
		return nil, err
	}
	sources, err := a.Sources(cmd, dirs)
	if err != nil {
		return nil, err
	}
	a.asked = dirs
	if err := a.openShared(); err != nil {
		return nil, err
	}
	a.Opts = render.Options{Plan: a.PlannerOptions(cmd, functions), Sources: &sources}
	a.Opts.Plan.Observe = a.Observes
	if a.Watch != nil {
		a.Opts.Plan.Observe, a.Watch.cwd = true, a.Opts.Plan.Cwd
		a.openRecords(nil, nil, nil)
	}
	a.Opts.Dirs = a.startReuse(cmd.Context(), dirs, &a.Opts.Plan)
	plan, err := render.Compile(cmd.Context(), a.Opts)
	if err != nil {
		return nil, err
	}
	a.reusing.addFailed(plan, dirs, a.Opts.Plan.Cwd)
	a.planned, a.planWarnings = plan, len(plan.Warnings)
	if a.Watch == nil {
		a.reusing.draft(plan)
	}
	a.logPlanned(plan, dirs)
	a.WarnUnlocked(sources.Lock)
	if err := plan.Err(); err != nil && !a.KeepGoing {
		for _, d := range plan.Denied {
			err = errors.Join(err, d.Err) // without its exit code: that of the mistake counts
		}
		return nil, err
	}
	return plan, nil
}

// logPlanned prints the warnings of a plan, and those of the roots that it leaves out.
func (a *App) logPlanned(plan *planner.Plan, dirs []string) {
	all := *plan
	planned, ran := a.reusing.warned(dirs, !a.unseen)
	all.Warnings = slices.Concat(planned, slices.DeleteFunc(slices.Clone(plan.Warnings), func(w planner.Warning) bool {
		return slices.ContainsFunc(planned, func(p planner.Warning) bool { return p.String() == w.String() })
	}))
	a.Log.Planned(&all)
	if a.wantsAll != nil { // a preview tells them at once
		a.Log.Planned(&planner.Plan{Warnings: ran})
		return
	}
	for _, w := range ran {
		a.Log.Warn(w)
	}
}

// PlanAgain compiles the roots in dirs, too, which were left out because they are known, when it turns out that they must be made. What
// they warn about was told.
func (a *App) PlanAgain(ctx context.Context, dirs []string) (*planner.Plan, error) {
	a.Opts.Dirs = slices.Concat(a.Opts.Dirs, dirs)
	for _, dir := range dirs {
		delete(a.reusing.used, dir)
	}
	plan, err := render.Compile(ctx, a.Opts)
	if err != nil {
		return nil, err
	}
	a.reusing.addFailed(plan, slices.Concat(a.Opts.Dirs, slices.Sorted(maps.Keys(a.reusing.failed))), a.Opts.Plan.Cwd)
	a.planned, a.planWarnings = plan, len(plan.Warnings)
	if err := errors.Join(plan.Err(), a.MayRun(plan)); err != nil && !a.KeepGoing {
		return nil, err
	}
	return plan, nil
}

// WarnBefore keeps warnings for when there is a log.
func (a *App) WarnBefore(list []*diag.Error) {
	for _, w := range list {
		a.warnings = append(a.warnings, planner.Warning{Pos: w.Pos, Field: w.Field, Msg: w.Msg, Hints: w.Hints, Code: w.Code})
	}
}

// StartLog makes the log, and prints what there was to warn about before.
func (a *App) StartLog() {
	a.Log = a.Logger()
	for _, w := range a.warnings {
		a.Log.Warn(w)
	}
	a.warnings = nil
}

// PlanRoots plans the directories that the arguments stand for.
func (a *App) PlanRoots(cmd *cobra.Command, args []string) (render.Roots, *planner.Plan, error) {
	roots, err := a.Roots(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	plan, err := a.Plan(cmd, roots.Dirs())
	return roots, plan, err
}

// StrictError turns warnings into a failure if the user asked for it.
func (a *App) StrictError() error {
	if n := a.Log.Warnings(); a.Strict && n > 0 {
		return diag.StrictWarnings.Errorf("--strict: warnings are errors: %d", n)
	}
	return nil
}

// WarnUnlocked says what has no entry, if there is a lock, and no version of its own.
func (a *App) WarnUnlocked(file *lock.File) {
	if file == nil || a.Learns {
		return
	}
	for _, c := range a.Seen.Unlocked(file) {
		a.Log.Warn(planner.Warning{Msg: fmt.Sprintf("%s is not in %s; it is %s now", c.Name, file.Path, c.New.Version()), Hints: []string{"krmflow lock adds it"}, Code: diag.Unlocked})
	}
}
