package engine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/internal/sys/watch"
)

// Rounds run a command again and again: whenever something has changed of what it was made from.
type Rounds struct {
	// Round runs the command once, with an engine whose host has the watch, and returns the exit code and the error, which it has told.
	Round func(context.Context, *Watch) (code int, err error)
	// Hopeless reports of the first round, by its exit code and error, whether no change of a file that is watched would help.
	Hopeless func(code int, err error) bool
	// Writes is the file or folder that the command writes, which is no reason for a round.
	Writes string
	// Log is told what the rounds wait for.
	Log interface {
		Watching(roots int)
		Again(files []string)
	}
	Exits *limits.Exits
}

// Run runs the command until ctx ends, and returns the cause of that. If the first round plans nothing or is hopeless, Run returns its exit code,
// and no error.
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
	roots := 0 // how many the last line said that there are
	for {
		fresh, err := watcher.Watch(w.dirs())
		if err != nil {
			return 0, err
		}
		changes := watch.Changes{Lost: true} // something may have changed before it was watched
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
			_, _ = o.round(ctx, w) // it says what is wrong; the next change may cure that
		}
	}
}

func (o Rounds) round(ctx context.Context, w *Watch) (code int, err error) {
	code, err = o.Round(ctx, w)
	w.sawAll()
	go runtime.GC() // while nobody waits
	return code, err
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
