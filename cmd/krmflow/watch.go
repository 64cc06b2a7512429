package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/internal/watch"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// registerWatch adds the flag that renders again what changes.
func (c *applyRender) registerWatch(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.watch, "watch", false, "render, then wait, and render again what a saved file changes, until Ctrl-C; what is remote is not watched")
}

// checkWatch refuses what makes no sense together with --watch.
func (c *applyRender) checkWatch(cmd *cobra.Command) error {
	switch {
	case c.isStream():
		return usageError(errors.New("--watch needs -o with a folder or file"))
	case c.check:
		return usageError(errors.New("--watch writes what --check only compares: choose one"))
	case cmd.Flags().Changed("profile"), cmd.Flags().Changed("pprof"):
		return usageError(errors.New("--profile and --pprof are about one run, --watch makes many: choose one"))
	case c.planFile != "":
		return usageError(errors.New("--plan is about one run, --watch makes many: choose one"))
	}
	return nil
}

// A watching renders in rounds until its context ends.
type watching struct {
	*applyRender
	roots int // how many the last line said that there are
	now   atomic.Pointer[app.App]
}

// untilStopped renders, and again whenever that would make something else.
func (c *applyRender) untilStopped(cmd *cobra.Command) error {
	if err := c.checkWatch(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	watcher, err := watch.New()
	if err != nil {
		return err
	}
	defer c.Exits.Add(watcher.Close)()
	r := &watching{applyRender: c}
	r.Log = r.Logger()
	defer c.Exits.Add(func() {
		if a := r.now.Load(); a != nil {
			a.Exits.Run()
		}
	})()
	w := &app.Watch{}
	w.Writes(c.output)
	defer c.Exits.Add(w.Close)()
	if code, err := r.round(ctx, w); !w.Began() || code == exitUsage || errors.As(err, new(*output.RefusedError)) || errors.As(err, new(*output.LockedError)) {
		return &exitError{code, &toldError{errNotBegun}} // no change of a file that is watched would help
	}
	for {
		fresh, err := watcher.Watch(w.Dirs())
		if err != nil {
			return err
		}
		var c watch.Changes
		if fresh { // something may have changed before it was watched
			c.Lost = true
		} else {
			r.waits(w)
			if c, err = watcher.Wait(ctx, w.Matters); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.Changed(ctx, c.Entries, c.Lost) {
			r.separate(c.Entries)
			r.round(ctx, w) // it says what is wrong; the next change may cure that
		}
	}
}

// errNotBegun is why nothing is watched, which the round has told.
var errNotBegun = errors.New("nothing was rendered")

// round renders once, in an App of its own, and returns the exit code and the error, which has been told.
func (r *watching) round(ctx context.Context, w *app.Watch) (code int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &app.App{Began: time.Now(), Name: r.Name, Stdin: r.Stdin, Stdout: stdout.New(ctx, r.Stdout), Stderr: r.Stderr, Status: r.Status, Watch: w, CommandLine: r.CommandLine, Perform: r.Perform, AllFlags: r.AllFlags}
	a.Used.Begin()
	a.Stop = func(cause error) {
		cancel(cause)
		time.AfterFunc(grace, func() {
			if r.now.Load() == a { // it does not listen
				r.Stop(cause)
			}
		})
	}
	r.now.Store(a)
	defer r.now.Store(nil)
	code = r.Perform(ctx, a)
	a.SawAll()
	go runtime.GC() // while nobody waits
	return code, a.Ended
}

// waits says that the next round begins when something changes.
func (r *watching) waits(w *app.Watch) {
	if n := w.Roots(); n != r.roots {
		r.roots = n
		r.Log.Watching(n)
	}
}

// separate says why a round begins.
func (r *watching) separate(entries []string) {
	wd, _ := os.Getwd() // without one paths are absolute
	if real, err := filepath.EvalSymlinks(wd); err == nil {
		wd = real
	}
	shown := make([]string, len(entries))
	for i, entry := range entries {
		shown[i] = entry
		if rel, err := filepath.Rel(wd, entry); err == nil && filepath.IsLocal(rel) {
			shown[i] = rel
		}
	}
	r.Log.Again(shown)
}
