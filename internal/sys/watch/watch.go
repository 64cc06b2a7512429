// Package watch waits for changes of directory entries. It reports which entries have changed,
// and also when events were lost, because the system's event queue overflowed or a watched
// directory was renamed.
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
	// quiet is the time without changes after which [Watcher.Wait] returns. Programs save a
	// file in several steps, and often several files.
	quiet = 3 * time.Millisecond
	// most is the maximum time that Wait spends on collecting changes.
	most = 100 * time.Millisecond
)

// A Watcher watches directories. It must not be used concurrently.
type Watcher struct {
	fs   *fsnotify.Watcher
	want map[string]bool
	lost bool // changes may have been missed
}

// New returns a Watcher that watches no directories yet. The caller must close it.
func New() (*Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, limited(err)
	}
	return &Watcher{fs: w}, nil
}

// Close stops watching and releases the system's resources.
func (w *Watcher) Close() { w.fs.Close() }

// Watch sets the watched directories to dirs, absolute paths without symbolic links. fresh
// reports whether some of them were not watched before or do not exist: changes in them up to
// now are unknown. Directories that do not exist or that the user may not read do not cause an
// error.
func (w *Watcher) Watch(dirs map[string]bool) (fresh bool, err error) {
	w.want = dirs
	have := w.list()
	for dir := range have {
		if !dirs[dir] {
			_ = w.fs.Remove(dir) // it may have been removed already
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
	// fsnotify lists a renamed directory under its old name until the rename event is read.
	// Until then, the new name cannot be watched.
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

// limited wraps an error of the system, with hints if a resource limit was reached.
func limited(err error) error {
	e := diag.Errorf(diag.Pos{}, "", "--watch: the system cannot watch this many directories: %w", err).With(diag.Unwatched)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return e.Hint("raise the limit of watched directories: sudo sysctl fs.inotify.max_user_watches=524288")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return e.Hint("on Linux, raise the limit of inotify instances: sudo sysctl fs.inotify.max_user_instances=1024").
			Hint("raise the limit of open files: ulimit -n 8192")
	}
	return diag.Errorf(diag.Pos{}, "", "--watch: %w", err).With(diag.Unwatched)
}

// Changes are the changes found by [Watcher.Wait].
type Changes struct {
	// Entries are the sorted paths of the changed directory entries.
	Entries []string
	// Lost reports whether other entries may have changed as well.
	Lost bool
}

// Wait waits until at least one entry that interest accepts has changed, then until nothing has
// changed for a moment. The error is the cause of the context.
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
		case <-w.fs.Errors: // the event queue overflowed, or events were lost otherwise
			c.Lost = true
			again()
		case <-expired:
			c.Entries = slices.Sorted(maps.Keys(found))
			return c, nil
		}
	}
}

// drop stops watching a directory that was created, removed or renamed, and the directories
// below it. The system watches inodes, so their watches would report events under outdated
// paths.
func (w *Watcher) drop(dir string) {
	below := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	for _, watched := range w.fs.WatchList() {
		if watched == dir || strings.HasPrefix(watched, below) {
			_ = w.fs.Remove(watched) // it may have been removed already
		}
	}
}
