package engine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/internal/sys/watch"
)

// Rounds run a command repeatedly, each time its inputs have changed.
type Rounds struct {
	// Round runs the command once, with an engine whose host has the watch. It returns the exit
	// code and the error, which has been printed.
	Round func(context.Context, *Watch) (code int, err error)
	// Hopeless reports, from the exit code and error of the first round, whether a change of
	// watched files cannot help.
	Hopeless func(code int, err error) bool
	// Writes is the file or folder that the command writes. Its changes do not start a round.
	Writes string
	// Log receives messages about the rounds.
	Log interface {
		Watching(roots int)
		Again(files []string)
	}
	Exits *limits.Exits
}

// Run runs the command until ctx ends, and returns the cause. If the first round does not get
// to planning, or is hopeless, Run returns its exit code and no error.
func (o Rounds) Run(ctx context.Context) (code int, err error) {
	watcher, err := watch.New()
	if err != nil {
		return 0, err
	}
	defer o.Exits.Add(watcher.Close)()
	w := &Watch{}
	w.writes(o.Writes)
	defer o.Exits.Add(w.close)()
	if code, err := o.round(ctx, w); !w.began() || o.Hopeless(code, err) {
		return code, nil
	}
	roots := 0 // number of roots in the last message
	for {
		fresh, err := watcher.Watch(w.dirs())
		if err != nil {
			return 0, err
		}
		changes := watch.Changes{Lost: true} // files may have changed before they were watched
		if !fresh {
			if w.roots != roots {
				roots = w.roots
				o.Log.Watching(roots)
			}
			if changes, err = watcher.Wait(ctx, w.matters); err != nil {
				return 0, err
			}
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if w.changed(ctx, changes.Entries, changes.Lost) {
			o.Log.Again(shown(changes.Entries))
			_, _ = o.round(ctx, w) // the round has printed its error; the next change may fix it
		}
	}
}

func (o Rounds) round(ctx context.Context, w *Watch) (code int, err error) {
	code, err = o.Round(ctx, w)
	w.sawAll()
	go runtime.GC() // no user is waiting now
	return code, err
}

// shown returns paths below the working directory as relative paths, and others unchanged.
func shown(entries []string) []string {
	wd, _ := os.Getwd() // without one, paths stay absolute
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
