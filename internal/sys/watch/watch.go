// Package watch waits for changes of directory entries. It says which of them have changed, and when it cannot know that, because the system has
// told of too much or a directory has gone.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/krmflow/krmflow/diag"
)

const (
	// quiet is how long nothing may have changed before [Watcher.Wait] returns: programs save a file in several steps, and often several files.
	quiet = 3 * time.Millisecond
	// most is how long it waits for that.
	most = 100 * time.Millisecond
)

// A Watcher watches directories. It is for one goroutine.
type Watcher struct {
	fs   *fsnotify.Watcher
	want map[string]bool
	lost bool // something may have changed without an event
}

// New returns a Watcher of no directory. The caller closes it.
func New() (*Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, limited(err)
	}
	return &Watcher{fs: w}, nil
}

// Close ends the watch.
func (w *Watcher) Close() { w.fs.Close() }

// Watch makes dirs, absolute paths without symbolic links, the directories that are watched. It reports whether some of them were not watched
// before: nobody knows then what has changed in them until now. Directories that have gone, or that the user must not read, are no error.
func (w *Watcher) Watch(dirs map[string]bool) (fresh bool, err error) {
	w.want = dirs
	have := w.list()
	for dir := range have {
		if !dirs[dir] {
			_ = w.fs.Remove(dir) // it may have gone by itself
		}
	}
	var added []string
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if have[dir] {
			continue
		}
		err := w.fs.Add(dir)
		switch {
		case err == nil:
			fresh = true
			added = append(added, dir)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			fresh = true
		case errors.Is(err, fs.ErrPermission):
		default:
			return false, limited(err)
		}
	}
	// A directory that was renamed is known by its old name until that is read: until then there is none by the new one.
	have = w.list()
	w.lost = w.lost || slices.ContainsFunc(added, func(dir string) bool { return !have[dir] })
	return fresh, nil
}

func (w *Watcher) list() map[string]bool {
	have := map[string]bool{}
	for _, dir := range w.fs.WatchList() {
		have[dir] = true
	}
	return have
}

// limited adds to an error of the system what helps if it allows no more.
func limited(err error) error {
	e := diag.Errorf(diag.Pos{}, "", "--watch: the system does not watch that many directories: %w", err).With(diag.Unwatched)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return e.Hint("the user may watch fs.inotify.max_user_watches directories: sudo sysctl fs.inotify.max_user_watches=524288")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return e.Hint("on Linux the user may have fs.inotify.max_user_instances of these: sudo sysctl fs.inotify.max_user_instances=1024").
			Hint("a process may have so many files open: ulimit -n 8192")
	}
	return diag.Errorf(diag.Pos{}, "", "--watch: %w", err).With(diag.Unwatched)
}

// Changes are what has changed.
type Changes struct {
	// Entries are the paths of directory entries, sorted.
	Entries []string
	// Lost tells that others may have changed, too.
	Lost bool
}

// Wait waits until entries have changed that are of interest. It returns when nothing has changed for a moment. The error is the cause of the context.
func (w *Watcher) Wait(ctx context.Context, interest func(entry string) bool) (Changes, error) {
	found := map[string]bool{}
	var c Changes
	var timer *time.Timer
	var expired <-chan time.Time
	var end time.Time
	again := func() {
		now := time.Now()
		if timer == nil {
			timer, end = time.NewTimer(quiet), now.Add(most)
			expired = timer.C
			return
		}
		timer.Reset(min(quiet, end.Sub(now)))
	}
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	if w.lost {
		w.lost, c.Lost = false, true
		again()
	}
	for {
		select {
		case <-ctx.Done():
			return c, context.Cause(ctx)
		case e := <-w.fs.Events:
			if e.Op&^(fsnotify.Write|fsnotify.Chmod) != 0 && w.want[e.Name] {
				w.drop(e.Name)
			}
			if interest(e.Name) {
				found[e.Name] = true
				again()
			}
		case <-w.fs.Errors: // the queue was full, or something else was lost
			c.Lost = true
			again()
		case <-expired:
			c.Entries = slices.Sorted(maps.Keys(found))
			return c, nil
		}
	}
}

// drop ends the watch of a directory that has come, gone or got another name, and of those below it: the system tells of the directories that it
// knows, whatever their paths are now.
func (w *Watcher) drop(dir string) {
	below := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	for _, watched := range w.fs.WatchList() {
		if watched == dir || strings.HasPrefix(watched, below) {
			_ = w.fs.Remove(watched) // it may have gone by itself
		}
	}
}
