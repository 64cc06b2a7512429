// Package cli is what the commands of krmflow share as a command line: streams, flags, settings, log, reports and profiles. It renders nothing:
// a command asks package engine for that.
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

// An Invocation is one command line: its streams and flags, and what is printed about it. It runs one command.
type Invocation struct {
	// Name is what the program was called by.
	Name program.Name
	// Stdin, Stdout and Stderr are the streams. What is written to Stderr is made safe for a terminal.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Status is below Stderr: the line that tells how far a run is.
	Status *terminal.StatusWriter
	Flags
	options.Functions
	RootFlags
	// Log prints warnings and what a run does: see [Invocation.StartLog].
	Log *console.Logger
	// AllFlags returns the flags of all commands that read a tree: see [Invocation.ReadSettings].
	AllFlags func() *pflag.FlagSet
	// Complete tells that the command is one of those.
	Complete bool
	// Tally is what came of a run of several roots.
	Tally Tally
	// Result is the last line that the command prints to stderr, if it is not empty.
	Result string
	// CommandLine are the arguments of the program, and MoreEdits the command lines of edit behind the first one.
	CommandLine []string
	MoreEdits   [][]string
	// Ended is the error that the command has ended with.
	Ended error
	// Perform runs the command line of an Invocation, and returns the exit code.
	Perform func(context.Context, *Invocation) int
	// Watch is what this run has in common with others of the same command, nil if there are none.
	Watch *engine.Watch
	// Stop ends the context of the command with a cause.
	Stop context.CancelCauseFunc
	// Exits are what is left to do if the process must end before the command does.
	Exits limits.Exits
	// Began is when the process did, more or less.
	Began time.Time
	// Recorder measures the command, nil if nobody wants that.
	Recorder *profile.Recorder
	// Used is what the run takes, and Steps which ones run at the moment.
	Used  limits.Usage
	Steps limits.Steps
	// Serves is true if the command ends when somebody else says so, and not soon after its context.
	Serves atomic.Bool

	profile  profileFlags
	report   *report.Report // nil if nobody wants one
	targets  []report.Target
	settings *settings.Settings
	warnings []planner.Warning // from before there was a log

	engine  *engine.Engine // see Engine
	planned *planner.Plan  // the last plan
	dirs    []string       // and the roots that it was made for

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

// Print writes the product of a command to stdout. That this fails is known to who has made stdout: see [terminal.Stdout].
func (a *Invocation) Print(s string) error {
	_, err := io.WriteString(a.Stdout, s)
	return err
}

// Engine returns the engine of the command. It checks the flags, opens the reports and starts the log when it is called first.
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
		Log: a.Log, Exits: &a.Exits, Usage: &a.Used, Steps: &a.Steps, Stop: a.Stop, Recorder: a.Recorder, Strict: a.StrictError, Watch: a.Watch,
		Shared: a.shared, CheckRoots: checkConfigPlace,
		Planned: func(plan *planner.Plan, dirs []string) { a.planned, a.dirs = plan, dirs },
	})
	return a.engine, nil
}

// Plan plans what a request asks for.
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

// Find returns the roots that the arguments of a command stand for: see [engine.Engine.Find].
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

// engineOptions returns what the flags mean for the engine.
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
		Selection: selection, Recursive: a.Recursive, KeepGoing: a.KeepGoing,
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
			Input: a.maxInput, CPU: a.maxCPU, CPUGrows: !settings.IsSet(fs, "max-cpu"),
			Memory: int64(a.memory), MemoryLifts: !settings.FromVariable(fs, "memory-limit"),
		},
		Reads: []string{settings.ConfigPath()}, Writes: writes,
		Version: program.Version(),
		Quiet:   a.Name.Kustomize(), // who calls kustomize gets what it prints
	}, nil
}

// shared opens the cache that the run shares with other machines, nil if there is none.
func (a *Invocation) shared() (answers.Shared, error) {
	c, err := a.SharedCache()
	if c == nil || err != nil {
		return nil, err
	}
	a.Exits.Add(func() { c.Close() })
	return c, nil
}

// WarnBefore keeps warnings for when there is a log.
func (a *Invocation) WarnBefore(list []*diag.Error) {
	for _, w := range list {
		a.warnings = append(a.warnings, planner.WarningOf(w))
	}
}

// StartLog makes the log, and prints what there was to warn about before.
func (a *Invocation) StartLog() {
	a.Log = a.Logger()
	for _, w := range a.warnings {
		a.Log.Warn(w)
	}
	a.warnings = nil
}

// StrictError turns warnings into a failure if the user asked for it.
func (a *Invocation) StrictError() error {
	if n := a.Log.Warnings(); a.Strict && n > 0 {
		return diag.StrictWarnings.Errorf("--strict: warnings are errors: %d", n)
	}
	return nil
}

// Earlier returns what earlier runs have left, for a command that has planned: see [engine.Engine.Earlier].
func (a *Invocation) Earlier() engine.Earlier { return a.engine.Earlier() }

// Rounds runs the command again and again: see [engine.Rounds]. A round that takes more memory or processor time than it may has the
// time Grace to end; then the process does.
func (a *Invocation) Rounds(ctx context.Context, writes string, hopeless func(code int, err error) bool) (code int, err error) {
	var now atomic.Pointer[Invocation] // of the round that runs
	a.Exits.Add(func() {
		if round := now.Load(); round != nil {
			round.Exits.Run()
		}
	})
	a.Log = a.Logger()
	rounds := engine.Rounds{Writes: writes, Hopeless: hopeless, Log: a.Log, Exits: &a.Exits}
	rounds.Round = func(ctx context.Context, w *engine.Watch) (int, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		round := &Invocation{Began: time.Now(), Name: a.Name, Stdin: a.Stdin, Stdout: terminal.NewStdout(ctx, a.Stdout), Stderr: a.Stderr, Status: a.Status,
			Watch: w, CommandLine: a.CommandLine, Perform: a.Perform}
		round.Used.Begin()
		round.Stop = func(cause error) {
			cancel(cause)
			time.AfterFunc(Grace, func() {
				if now.Load() == round { // it does not listen
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

// Grace is how long a command may take to end when its context has: to end functions and remove what it has made.
const Grace = time.Second
