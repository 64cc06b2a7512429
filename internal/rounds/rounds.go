// Package rounds runs a command again and again: whenever something has changed of what it was made from.
package rounds

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/internal/watch"
)

// Options say what rounds there are.
type Options struct {
	// Writes is the file or folder that the command writes, which is no reason for a round.
	Writes string
	// Grace is how long a round may take to end that takes more memory or processor time than it may. If it does not, the process ends.
	Grace time.Duration
	// Hopeless reports of the first round, by its exit code and error, whether no change of a file that is watched would help.
	Hopeless func(code int, err error) bool
}

// A command is run in rounds.
type command struct {
	*app.App
	Options
	shared app.Watch
	roots  int                     // how many the last line said that there are
	now    atomic.Pointer[app.App] // of the round that runs
}

// Run runs the command line of an App until ctx ends, and returns the cause of that. Each round prints what the command prints. If the first one
// plans nothing or is hopeless, Run returns its exit code, and no error.
func Run(ctx context.Context, a *app.App, o Options) (code int, err error) {
	watcher, err := watch.New()
	if err != nil {
		return 0, err
	}
	defer a.Exits.Add(watcher.Close)()
	c := &command{App: a, Options: o}
	c.Log = a.Logger()
	c.shared.Writes(o.Writes)
	defer a.Exits.Add(c.shared.Close)()
	a.Exits.Add(func() {
		if round := c.now.Load(); round != nil {
			round.Exits.Run()
		}
	})
	if code, err := c.round(ctx); !c.shared.Began() || o.Hopeless(code, err) {
		return code, nil
	}
	for {
		fresh, err := watcher.Watch(c.shared.Dirs())
		if err != nil {
			return 0, err
		}
		changes := watch.Changes{Lost: true} // something may have changed before it was watched
		if !fresh {
			c.waits()
			if changes, err = watcher.Wait(ctx, c.shared.Matters); err != nil {
				return 0, err
			}
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if c.shared.Changed(ctx, changes.Entries, changes.Lost) {
			c.Log.Again(shown(changes.Entries))
			_, _ = c.round(ctx) // it says what is wrong; the next change may cure that
		}
	}
}

// round runs the command line once, in an App of its own, and returns the exit code and the error, which has been told.
func (c *command) round(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &app.App{Began: time.Now(), Name: c.Name, Stdin: c.Stdin, Stdout: stdout.New(ctx, c.Stdout), Stderr: c.Stderr, Status: c.Status,
		Watch: &c.shared, CommandLine: c.CommandLine, Perform: c.Perform}
	a.Used.Begin()
	a.Stop = func(cause error) {
		cancel(cause)
		time.AfterFunc(c.Grace, func() {
			if c.now.Load() == a { // it does not listen
				c.Stop(cause)
			}
		})
	}
	c.now.Store(a)
	defer c.now.Store(nil)
	code = c.Perform(ctx, a)
	a.SawAll()
	go runtime.GC() // while nobody waits
	return code, a.Ended
}

// waits says that the next round begins when something changes, if there are other roots than when it said so last.
func (c *command) waits() {
	if n := c.shared.Roots(); n != c.roots {
		c.roots = n
		c.Log.Watching(n)
	}
}

// shown returns paths relative to the working directory if they are below it.
func shown(entries []string) []string {
	wd, _ := os.Getwd() // without one they are absolute
	if real, err := filepath.EvalSymlinks(wd); err == nil {
		wd = real
	}
	list := make([]string, len(entries))
	for i, entry := range entries {
		list[i] = entry
		if rel, err := filepath.Rel(wd, entry); err == nil && filepath.IsLocal(rel) {
			list[i] = rel
		}
	}
	return list
}
