package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/lockfile"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// A Request is what a command wants to know about some roots. The zero Request plans no root.
type Request struct {
	// Args are the directories of the command line, the working directory if there are none. Roots are those that [Engine.Find] has found
	// for them; the engine finds them if Roots is nil. Dirs are directories that are planned as they are, instead of both.
	Args  []string
	Roots render.Roots
	Dirs  []string
	// KeepGoing continues with the other roots when one fails, whatever [Options.KeepGoing] says.
	KeepGoing bool
	// Silent tells nobody of warnings: they are expected, or known.
	Silent bool

	// Reuse makes the plan leave out the roots that an earlier run has rendered and that have not changed, if it returns true for one. With
	// Unseen, the command needs no result of these, and their steps do not repeat their warnings.
	Reuse  func(dir string, r *records.Record) bool
	Unseen bool
	// Text asks for the text that an earlier run has printed of the only root: see [Run.Kept].
	Text bool
	// Key asks for the text that an earlier run has printed of all roots: see [Run.Kept]. It names the text, with all that decides about it
	// besides the roots: the command, and the form that is printed.
	Key string
	// Observe makes the plan know what its layers have seen: see [planner.Plan.Observed].
	Observe bool

	// Instead has files that are read with other contents. Files are planned in the place of layers: those of each root. Taken is how many
	// bytes the command has read for them.
	Instead map[string][]byte
	Files   []*planner.Files
	Taken   int64
	// Fetch fetches for the plan, nil for the sources of the options.
	Fetch loaders.Fetch
	// Functions replace those of the options if they are not nil, except for what this machine has.
	Functions *planner.Functions
	// Compile makes the plan, [render.Compile] if it is nil.
	Compile func(context.Context, render.Options) (*planner.Plan, error)
	// Lock says what the command does with the lock.
	Lock LockUse
}

// LockUse says what a command does with the lock file and with what it fetches.
type LockUse struct {
	// Seen gets what was fetched and what functions need. It may be nil.
	Seen *lockfile.Seen
	// Learn accepts what is not locked. Entries for which Again returns true do not count then.
	Learn bool
	Again func(lock.Entry) bool
	// Refetch takes nothing from a vendor folder, and Only fetches only what is locked.
	Refetch, Only bool
	// Copy keeps the cache open and notes what is used of it: see [cache.Cache.CopyUsed]. The caller closes it.
	Copy bool
}

// A Search says where roots are looked for.
type Search struct {
	// Args are directories, the working directory if there are none.
	Args []string
	// Base is the directory that the places of roots in an output are relative to, "" for that of Args.
	Base string
	// Tree is the revision that has the roots, nil for the files of this machine. The roots are names in it then, without places, and there may
	// be none: what a revision does not have is no mistake. Remote content is one: no revision says what it was.
	Tree *revision.Tree
	// Below finds the roots below Args without their places, whatever [Options.Recursive] says, and tells no warnings.
	Below bool
}

// Find returns the roots that directories stand for, each once, and how many were found and left out. Warnings about directories are
// told. The error is one about the command line if the selection of roots is wrong.
func (e *Engine) Find(ctx context.Context, s Search) (render.Roots, int, error) {
	e.host.Recorder.Stage(profile.Finding)
	list := s.Args
	if len(list) == 0 {
		list = []string{"."}
	}
	if s.Tree != nil {
		names, err := e.findIn(ctx, s.Tree, list)
		return unplaced(names), 0, err
	}
	if s.Below {
		selection := e.o.Selection
		found, err := selection.Find(ctx, list)
		if err != nil {
			return nil, 0, err
		}
		return unplaced(found.Dirs), 0, nil
	}
	base := "."
	if len(list) == 1 {
		base = list[0]
	}
	base = cmp.Or(s.Base, base)
	if !e.o.Recursive {
		found, err := render.PlaceIn(&e.places, list, base)
		return found, 0, err
	}
	found, err := e.host.Watch.find(ctx, e.o.Selection, list)
	if err != nil {
		return nil, 0, err
	}
	for _, w := range found.Warnings {
		e.host.Log.Warn(planner.WarningOf(w))
	}
	placed, err := render.PlaceIn(&e.places, found.Dirs, base)
	return placed, found.LeftOut(), err
}

// unplaced returns roots that have no place in an output.
func unplaced(dirs []string) render.Roots {
	list := make(render.Roots, len(dirs))
	for i, dir := range dirs {
		list[i].Dir = dir
	}
	return list
}

// Plan finds the roots of a request, looks which of them are known, and plans the others. It prints the warnings. Mistakes are returned
// as one error unless the run keeps going and there is a root without one: then they are in the plan.
func (e *Engine) Plan(ctx context.Context, q Request) (*Run, error) {
	r := &Run{e: e, request: q, roots: q.Roots, dirs: q.Dirs, keepGoing: e.o.KeepGoing || q.KeepGoing, log: e.host.Log, seen: cmp.Or(q.Lock.Seen, &lockfile.Seen{})}
	if q.Silent {
		r.log = silent{}
	}
	if r.dirs == nil {
		if r.roots == nil {
			var err error
			if r.roots, r.leftOut, err = e.Find(ctx, Search{Args: q.Args}); err != nil {
				return nil, err
			}
		}
		r.dirs = r.roots.Dirs()
	}
	e.host.Recorder.Stage(profile.Planning)
	options, err := e.prepare(ctx, r.dirs, q, r.seen)
	if err != nil {
		return nil, err
	}
	if open := e.host.Shared; e.shared == nil && open != nil {
		if e.shared, err = open(); err != nil {
			return nil, err
		}
	}
	r.options = options
	if err := r.compile(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Prepare returns the options that [Engine.Plan] would plan directories with, for a command that reads files before that. The sources
// are not nil.
func (e *Engine) Prepare(ctx context.Context, dirs []string) (render.Options, error) {
	return e.prepare(ctx, dirs, Request{}, &lockfile.Seen{})
}

func (e *Engine) prepare(ctx context.Context, dirs []string, q Request, seen *lockfile.Seen) (render.Options, error) {
	warnUnfinished(e.host.Log, dirs)
	if check := e.host.CheckRoots; check != nil {
		wd, _ := os.Getwd()
		err := check(dirs, func(path string) string { return e.places.TreesOf(locals(dirs, wd), wd).Around(path) })
		if err != nil {
			return render.Options{}, err
		}
	}
	sources, err := e.sources(dirs, q.Lock, seen)
	if err != nil {
		return render.Options{}, err
	}
	e.asked = dirs
	e.limit(ctx, q.Taken)
	o := render.Options{Dirs: dirs, Plan: e.o.Plan, Sources: &sources}
	o.Plan.Input, o.Plan.Progress = e.host.Usage.Input, e.progress
	o.Plan.Instead, o.Plan.Files, o.Plan.Fetch = q.Instead, q.Files, q.Fetch
	o.Plan.Observe = q.Observe || e.host.Watch != nil
	o.Plan.Functions.Isolation = e.isolation
	if q.Functions != nil {
		o.Plan.Functions = *q.Functions
		o.Plan.Functions.Isolation, o.Plan.Functions.Image = e.isolation, e.o.Plan.Functions.Image
	}
	return o, nil
}

// locals returns the absolute paths of the directories that are on this machine.
func locals(dirs []string, wd string) (paths []string) {
	for _, dir := range dirs {
		if abs := absolute(dir, wd); abs != "" && !loaders.IsRemote(dir) {
			paths = append(paths, abs)
		}
	}
	return paths
}

// compile makes the plan of a run.
func (r *Run) compile(ctx context.Context) error {
	e := r.e
	if w := e.host.Watch; w != nil {
		w.cwd, w.last = r.options.Plan.Cwd, r
		e.openRecords(nil, nil, nil)
	}
	r.options.Dirs = r.startReuse(ctx)
	compile := r.request.Compile
	if compile == nil {
		compile = render.Compile
	}
	plan, err := compile(ctx, r.options)
	if err != nil {
		return err
	}
	r.reusing.addFailed(plan, r.dirs, r.options.Plan.Cwd)
	r.setPlan(plan)
	if e.host.Watch == nil {
		r.reusing.draft(plan)
	}
	r.logPlanned()
	r.warnUnlocked()
	if err := plan.Err(); err != nil && !r.keepGoing {
		for _, d := range plan.Denied {
			err = errors.Join(err, d.Err) // without its exit code: that of the mistake counts
		}
		return err
	}
	return nil
}

func (r *Run) setPlan(plan *planner.Plan) {
	r.plan, r.planWarnings = plan, len(plan.Warnings)
	if planned := r.e.host.Planned; planned != nil {
		planned(plan, r.options.Dirs)
	}
}

// logPlanned prints the warnings of a plan, and those of the roots that it leaves out.
func (r *Run) logPlanned() {
	all := *r.plan
	planned, ran := r.reusing.warned(r.dirs, !r.request.Unseen)
	all.Warnings = slices.Concat(planned, slices.DeleteFunc(slices.Clone(r.plan.Warnings), func(w planner.Warning) bool {
		return slices.ContainsFunc(planned, func(p planner.Warning) bool { return p.String() == w.String() })
	}))
	r.log.Planned(&all)
	if r.request.Key != "" { // a preview tells them at once
		r.log.Planned(&planner.Plan{Warnings: ran})
		return
	}
	for _, w := range ran {
		r.log.Warn(w)
	}
}

// warnUnlocked says what has no entry, if there is a lock, and no version of its own.
func (r *Run) warnUnlocked() {
	file := r.options.Sources.Lock
	if file == nil || r.request.Lock.Learn {
		return
	}
	for _, c := range r.seen.Unlocked(file) {
		r.log.Warn(planner.Warning{Msg: fmt.Sprintf("%s is not in %s; it is %s now", c.Name, file.Path, c.New.Version()), Hints: []string{"krmflow lock adds it"}, Code: diag.Unlocked})
	}
}

// planAgain also compiles the roots in dirs, which were left out because they are known, when they must be made after all. Their
// warnings were told.
func (r *Run) planAgain(ctx context.Context, dirs []string) error {
	r.options.Dirs = slices.Concat(r.options.Dirs, dirs)
	for _, dir := range dirs {
		delete(r.reusing.used, dir)
	}
	plan, err := render.Compile(ctx, r.options)
	if err != nil {
		return err
	}
	r.reusing.addFailed(plan, slices.Concat(r.options.Dirs, slices.Sorted(maps.Keys(r.reusing.failed))), r.options.Plan.Cwd)
	r.setPlan(plan)
	if err := errors.Join(plan.Err(), r.mayRun(plan)); err != nil && !r.keepGoing {
		return err
	}
	return nil
}

// sources returns how the content of a run is fetched that renders dirs.
func (e *Engine) sources(dirs []string, use LockUse, seen *lockfile.Seen) (render.Sources, error) {
	s := e.o.Sources
	s.CacheUnused, s.Progress = e.warnCacheUnused, e.host.Log.Fetch
	s.Found, s.Rendered, s.Places = seen.Add, dirs, &e.places
	if w := e.host.Watch; w != nil {
		s.Memory = &w.remote
	}
	if !use.Refetch {
		s.Vendor = e.beside(e.o.Vendor, dirs)
	}
	if _, err := os.Stat(s.Vendor); s.Vendor != "" && err != nil {
		return s, diag.NoSuchFile.Errorf("--vendor: %q does not exist", s.Vendor)
	}
	var err error
	if path := e.beside(e.o.LockFile, dirs); path != "" {
		s.Lock, err = lockfile.Read(path, !use.Learn)
	}
	switch {
	case use.Learn:
		s.Learns, s.Before, s.Moved = true, s.Lock, seen.Moved
		s.Lock = s.Lock.Without(use.Again)
	case use.Only:
		s.Locked = true
	case s.Lock != nil && !e.o.Locked && !e.o.LockedSet:
		s.Locked = os.Getenv("CI") == "true"
	default:
		s.Locked = e.o.Locked
	}
	if use.Copy && err == nil {
		if s.Cache, err = s.OpenCache(); err == nil {
			s.Cache.Track()
		}
	}
	return s, err
}

// warnCacheUnused says why the user's folder is not the cache of this run. It is about the machine, so --strict does not count it.
func (e *Engine) warnCacheUnused(why error) {
	if e.o.Quiet {
		return
	}
	e.cacheTold.Do(func() { e.host.Log.Notice(CacheUnused(why)) })
}

// CacheUnused returns what is said if the user's cache cannot be used.
func CacheUnused(why error) planner.Warning {
	return planner.Warning{Msg: "the cache is not used: " + why.Error(), Hints: []string{"--cache-dir names another folder for it, --no-cache does without one"}, Code: diag.CacheFolder}
}

// beside returns the path of a file or folder that belongs to the roots: see [Place].
func (e *Engine) beside(b Place, dirs []string) string {
	if b.Set {
		return b.Path
	}
	if _, err := os.Lstat(b.Path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if dir := lockfile.Outside(dirs); dir != "" {
		w := planner.Warning{Msg: fmt.Sprintf("%s is not used, because %s is not below the working directory", b.Path, dir)}
		w.Code = diag.Unlocked
		w.Hints = []string{fmt.Sprintf("to use it: --%s=%s", b.Flag, b.Path)}
		e.host.Log.Warn(w)
		return ""
	}
	return b.Path
}
