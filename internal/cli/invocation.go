// Package cli has the parts that all commands share: streams, flags, settings, log, reports and
// profiles. It does not render; commands use package engine for that.
package cli

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/probe"
	"github.com/krmflow/krmflow/internal/cli/console"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/internal/cli/report"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/answers"
	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An Invocation is one command line with its streams, flags and results. It runs a single
// command.
type Invocation struct {
	// Name is the name by which the program was called.
	Name program.Name
	// Stdin, Stdout and Stderr are the streams. Text written to Stderr is made safe for a
	// terminal.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Screen is the terminal that Stdout and Stderr write to. It is nil in tests.
	Screen *terminal.Screen
	TerminalFlags
	Flags
	options.Functions
	RootFlags
	// Log prints warnings and the events of a run: see [Invocation.StartLog].
	Log *console.Logger
	// AllFlags returns the flags of all commands that read a tree: see
	// [Invocation.ReadSettings].
	AllFlags func() *pflag.FlagSet
	// Complete reports whether the command has all of these flags.
	Complete bool
	// Tally has the results of a run with several roots.
	Tally Tally
	// Result is the last line that the command prints to stderr, if it is not empty.
	Result string
	// CommandLine has the arguments of the program. MoreEdits has the command lines of edit
	// after the first.
	CommandLine []string
	MoreEdits   [][]string
	// Ended is the error of the finished command.
	Ended error
	// Perform runs the command line of an Invocation and returns the exit code.
	Perform func(context.Context, *Invocation) int
	// Watch has the state shared by all runs of a watching command, nil for a single run.
	Watch *engine.Watch
	// Stop cancels the context of the command with a cause.
	Stop context.CancelCauseFunc
	// Exits has the cleanup functions to run if the process must end before the command does.
	Exits limits.Exits
	// Began is the approximate start time of the process.
	Began time.Time
	// Recorder measures the command, nil if no profile was requested.
	Recorder *profile.Recorder
	// Used measures the resources of the run. Steps has the steps that are running.
	Used  limits.Usage
	Steps limits.Steps
	// Serves is true for a server, which ends on request of its client and not soon after its
	// context.
	Serves atomic.Bool

	profile  profileFlags
	report   *report.Report // nil if no report was requested
	targets  []report.Target
	settings *settings.Settings
	warnings []planner.Warning // collected before the log was opened

	engine  *engine.Engine // see Engine
	planned *planner.Plan  // the last plan
	dirs    []string       // the roots of planned

	cacheTold sync.Once // guards the warning that the user's cache is not used
}

// A Tally has the results of a run with several roots. The zero Tally is for commands without
// roots.
type Tally struct {
	// All are the roots. What is the verb for finished roots, for example "rendered".
	All  []string
	What string
	// Made reports whether there is a result. Missing are the roots that it lacks.
	Made    bool
	Missing []string
	// LeftOut is the number of roots that were found but not selected.
	LeftOut int
	// Result is the result of the command if it is not that all roots are done.
	Result string
}

// Done returns the number of finished roots.
func (t Tally) Done() int {
	if !t.Made {
		return 0
	}
	return len(t.All) - len(t.Missing)
}

// Print writes the product of a command to stdout. Write errors are also recorded by
// [terminal.Stdout], so callers may ignore them.
func (a *Invocation) Print(s string) error {
	_, err := io.WriteString(a.Stdout, s)
	return err
}

// Engine returns the engine of the command. The first call validates the flags, opens the
// reports and starts the log.
func (a *Invocation) Engine(cmd *cobra.Command) (*engine.Engine, error) {
	if a.engine != nil {
		return a.engine, nil
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if err := a.checkSelection(cmd); err != nil {
		return nil, err
	}
	if err := a.openReport(cmd); err != nil {
		return nil, err
	}
	a.StartLog()
	for _, w := range options.Outdated(cmd) {
		a.Log.Warn(w)
	}
	o, err := a.engineOptions(cmd)
	if err != nil {
		return nil, err
	}
	a.engine = engine.New(o, engine.Host{
		Log: a.Log, Exits: &a.Exits, Usage: &a.Used, Steps: &a.Steps, Stop: a.Stop, Recorder: a.Recorder, Strict: a.StrictError,
		Watch:  a.Watch,
		Shared: a.shared, CheckRoots: checkConfigPlace, Progress: a.showProgress,
		Planned: func(plan *planner.Plan, dirs []string) { a.planned, a.dirs = plan, dirs },
	})
	return a.engine, nil
}

// Plan plans the roots of a request.
func (a *Invocation) Plan(cmd *cobra.Command, q engine.Request) (*engine.Run, error) {
	e, err := a.Engine(cmd)
	if err != nil {
		return nil, err
	}
	if err := checkArgs(q.Args); err != nil {
		return nil, err
	}
	return e.Plan(cmd.Context(), q)
}

// Find returns the roots that the arguments of a command select: see [engine.Engine.Find].
func (a *Invocation) Find(cmd *cobra.Command, s engine.Search) (roots render.Roots, leftOut int, err error) {
	e, err := a.Engine(cmd)
	if err != nil {
		return nil, 0, err
	}
	if err := checkArgs(s.Args); err != nil {
		return nil, 0, err
	}
	return e.Find(cmd.Context(), s)
}

// engineOptions converts the flags to options of the engine.
func (a *Invocation) engineOptions(cmd *cobra.Command) (engine.Options, error) {
	fs := cmd.Flags()
	var functions planner.Functions
	if fs.Lookup("enable-alpha-plugins") != nil {
		var err error
		if functions, err = a.Planner(); err != nil {
			return engine.Options{}, err
		}
	}
	functions.Policy.Helm, functions.Helm = a.enableHelm, a.Helm
	functions.Image = probe.Images(cmd.Context(), a.Runtime)
	selection := a.selection
	selection.Jobs = a.Jobs
	cwd, _ := os.Getwd() // without one, only absolute paths can be rendered
	var writes []string
	for _, t := range a.targets {
		writes = append(writes, t.File)
	}
	return engine.Options{
		Selection: selection, Recursive: a.Recursive, Shard: a.shard, GitOps: a.gitops, KeepGoing: a.KeepGoing,
		Plan: planner.Options{
			Cwd:            cwd,
			Jobs:           a.Jobs,
			Unrestricted:   a.loadRestrictor == "LoadRestrictionsNone",
			Free:           a.freeRoots(cmd),
			Reorder:        a.reorder,
			ReorderSet:     fs.Changed("reorder"),
			ManagedByLabel: a.managedBy || os.Getenv("KUSTOMIZE_ENABLE_MANAGEDBY_LABEL") == "on",
			Functions:      functions,
		},
		Sources:   a.Fetching(),
		LockFile:  engine.Place{Flag: "lock-file", Path: a.LockFile, Set: settings.IsSet(fs, "lock-file")},
		Vendor:    engine.Place{Flag: "vendor", Path: a.vendor, Set: settings.IsSet(fs, "vendor")},
		Locked:    a.Locked,
		LockedSet: settings.IsSet(fs, "locked"),
		Jobs:      a.Jobs, Calls: a.Calls(),
		Fresh: len(a.targets) > 0, CacheSecrets: a.cacheSecrets,
		AllowErrorResults: a.AllowErrorResults,
		ContainerRuntime:  a.Runtime,
		Program:           a.Program,
		OwnExecutor:       func(runtime function.Runtime) bool { _, ok := a.ThirdParty[runtime]; return ok },
		Limits: engine.Limits{
			Input: a.MaxInput(), CPU: a.maxCPU, CPUGrows: !settings.IsSet(fs, "max-cpu"),
			Memory: int64(a.memory), MemoryLifts: !settings.FromVariable(fs, "memory-limit"),
		},
		Reads: []string{settings.ConfigPath()}, Writes: writes,
		Version: program.Version(),
		Quiet:   a.Name.Kustomize(), // callers of kustomize expect only the messages of kustomize
	}, nil
}

// shared opens the cache that the run shares with other machines. It returns nil if none is
// configured.
func (a *Invocation) shared() (answers.Shared, error) {
	c, err := a.SharedCache()
	if c == nil || err != nil {
		return nil, err
	}
	a.Exits.Add(func() { c.Close() })
	return c, nil
}

// WarnBefore keeps warnings until the log is opened.
func (a *Invocation) WarnBefore(list []*diag.Error) {
	for _, w := range list {
		a.warnings = append(a.warnings, planner.WarningOf(w))
	}
}

// StartLog opens the log and prints the warnings collected before.
func (a *Invocation) StartLog() {
	a.Log = a.Logger()
	for _, w := range a.warnings {
		a.Log.Warn(w)
	}
	a.warnings = nil
}

// StrictError returns an error if there were warnings and --strict is set.
func (a *Invocation) StrictError() error {
	if n := a.Log.Warnings(); a.Strict && n > 0 {
		return diag.StrictWarnings.Errorf("--strict: warnings are errors: %d", n)
	}
	if n := a.Log.Errors(); n > 0 {
		return diag.StrictWarnings.Errorf("findings of level error: %d", n)
	}
	return nil
}

// Rounds runs the command repeatedly: see [engine.Rounds]. A round that exceeds its memory or
// processor time limit has the time [Grace] to end, then the whole process ends.
func (a *Invocation) Rounds(ctx context.Context, writes string, hopeless func(code int, err error) bool) (code int, err error) {
	var now atomic.Pointer[Invocation] // the current round
	a.Exits.Add(func() {
		if round := now.Load(); round != nil {
			round.Exits.Run()
		}
	})
	a.Log = a.Logger()
	if err := a.Unpaged(); err != nil {
		return 0, err
	}
	rounds := engine.Rounds{Writes: writes, Hopeless: hopeless, Log: a.Log, Exits: &a.Exits}
	rounds.Round = func(ctx context.Context, w *engine.Watch) (int, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		round := &Invocation{Began: time.Now(), Name: a.Name, Stdin: a.Stdin, Stdout: terminal.NewStdout(ctx, a.Stdout), Stderr: a.Stderr,
			Screen: a.Screen,
			Watch:  w, CommandLine: a.CommandLine, Perform: a.Perform}
		round.Used.Begin()
		round.Stop = func(cause error) {
			cancel(cause)
			time.AfterFunc(Grace, func() {
				if now.Load() == round { // it did not end in time
					a.Stop(cause)
				}
			})
		}
		now.Store(round)
		defer now.Store(nil)
		code := a.Perform(ctx, round)
		return code, round.Ended
	}
	return rounds.Run(ctx)
}

// Grace is the time that a command has to end after its context is canceled, to stop functions
// and remove temporary files.
const Grace = time.Second
