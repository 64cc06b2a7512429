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
	"strconv"

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

// A Request describes the roots that a command needs, and how. The zero Request plans the
// working directory.
type Request struct {
	// Args are the directories on the command line. The default is the working directory. Roots
	// are the roots found by [Engine.Find] for Args; if Roots is nil, the engine calls Find.
	// Dirs, if not nil, are planned as they are, instead of Args and Roots.
	Args  []string
	Roots render.Roots
	Dirs  []string
	// KeepGoing continues with the other roots when one fails, regardless of
	// [Options.KeepGoing].
	KeepGoing bool
	// Silent suppresses warnings that are expected or already known.
	Silent bool

	// Reuse is called with the record of each unchanged root. If it returns true, the root is
	// not planned. With Unseen, the command does not need the results of these roots, and the
	// warnings of their steps are not repeated. [Run.Results] then records the inputs of the other
	// roots.
	Reuse  func(dir string, r *records.Record) bool
	Unseen bool
	// Text makes [Run.Print] reuse the list of the only root as YAML.
	Text bool
	// Key makes [Run.Print] reuse a text about all roots. It identifies the text by everything that
	// affects it other than the roots: the command and the output format. If the text is not
	// cached, the roots for which Reuse returns true are not planned. After the text was written,
	// or could not be written, Noted is called with the record of every planned root. It reports
	// whether all steps that the command needs have run. It may be nil.
	Key   string
	Noted func(dir string, r *records.Record) bool
	// Observe records the files that layers have accessed: see [planner.Plan.Observed]. This
	// includes roots whose references cannot be fetched, which are planned even if a record has
	// their errors.
	Observe bool

	// Instead replaces the contents of files. Files are planned instead of layers, one entry
	// per root. Taken is the number of bytes that the command has read for them.
	Instead map[string][]byte
	Files   []*planner.Files
	Taken   int64
	// Fetch fetches content for the plan. The default is to use the sources of the options.
	Fetch loaders.Fetch
	// Functions replaces the function options if it is not nil, except for the capabilities of
	// this machine.
	Functions *planner.Functions
	// Compile makes the plan. The default is [render.Compile].
	Compile func(context.Context, render.Options) (*planner.Plan, error)
	// Lock controls the use of the lock file.
	Lock LockUse
}

// LockUse controls how a command uses the lock file and fetches content.
type LockUse struct {
	// Seen collects the fetched content and the requirements of functions. It may be nil.
	Seen *lockfile.Seen
	// Learn accepts content that is not locked. Entries for which Again returns true are then
	// ignored, so that they are fetched again.
	Learn bool
	Again func(lock.Entry) bool
	// Refetch ignores the vendor folder. Only restricts fetching to locked content.
	Refetch, Only bool
	// Copy keeps the cache open and tracks the entries used: see [cache.Cache.CopyUsed]. The
	// caller must close it.
	Copy bool
}

// A Search describes where to look for roots.
type Search struct {
	// Args are directories. The default is the working directory.
	Args []string
	// Base is the directory to which the places of roots in the output are relative. The
	// default is the directory in Args.
	Base string
	// Tree is the revision to search, nil for the files of this machine. With a Tree, the roots
	// are names in it, without places, and the result may be empty: a directory that the
	// revision lacks is not an error. Remote content is an error, because a revision does not
	// record its former content.
	Tree *revision.Tree
	// Below finds the roots below Args without their places, regardless of [Options.Recursive],
	// and without warnings.
	Below bool
}

// Find returns the roots selected by directories, without duplicates, and the number of roots
// that were found but left out. Of these it returns only the roots of [Options.Shard]; see
// [Engine.Split]. It prints warnings about directories. An invalid selection is a
// usage error.
func (e *Engine) Find(ctx context.Context, s Search) (render.Roots, int, error) {
	e.host.Recorder.Stage(profile.Finding)
	list := s.Args
	if len(list) == 0 {
		list = []string{"."}
	}
	if s.Tree != nil {
		names, err := e.findIn(ctx, s.Tree, list)
		nameOf := func(r render.Root) (string, error) { return e.objects.here.NameIn(s.Tree, r.Dir) }
		return unplaced(e.split.OldSide(names, nameOf)), 0, err
	}
	if s.Below {
		selection := e.withObjects(e.o.Selection, nil, nil)
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
		if err := e.findNamed(ctx, list); err != nil {
			return nil, 0, err
		}
		found, err := e.place(list, base)
		if err != nil {
			return nil, 0, err
		}
		return e.share(found), 0, nil
	}
	selection, search := e.withObjects(e.o.Selection, nil, e.warn), e.openSearch(list)
	selection.Known, selection.Recall = search.Known(), true
	found, err := e.host.Watch.find(ctx, selection, list)
	if err != nil {
		return nil, 0, err
	}
	search.Save(found.Known)
	if w := e.host.Watch; w != nil {
		e.objects.here = w.gitops
	}
	for _, w := range found.Warnings {
		e.host.Log.Warn(planner.WarningOf(w))
	}
	e.host.Log.LeftOut(found)
	placed, err := e.place(found.Dirs, base)
	if err != nil {
		return nil, 0, err
	}
	return e.share(placed), found.LeftOut(), nil
}

// openSearch opens the files that earlier searches have read. It does not use the cache of the
// engine, whose place is checked against the roots: they are not known yet.
func (e *Engine) openSearch(args []string) records.Search {
	s := e.o.Sources
	if s.NoCache || e.o.Fresh || e.host.Watch != nil || debugs("cacheverify") {
		return records.Search{}
	}
	s.CacheUnused, s.Rendered, s.Places = nil, args, &e.places
	c, err := s.OpenLasting()
	if err != nil {
		return records.Search{} // the plan reports the error
	}
	e.host.Exits.Add(func() { c.Close() })
	return records.OpenSearch(c, append(slices.Clone(args), e.o.Version+records.Executable(), e.o.Plan.Cwd,
		strconv.FormatBool(e.o.Selection.Hidden), string(e.o.GitOps.Mode))...)
}

// unplaced returns roots without a place in the output.
func unplaced(dirs []string) render.Roots {
	list := make(render.Roots, len(dirs))
	for i, dir := range dirs {
		list[i].Dir = dir
	}
	return list
}

// Plan finds the roots of a request, looks up their records, and plans the roots that cannot be
// reused. It prints the warnings. The errors of all roots are joined and returned, unless the
// run keeps going and at least one root has no error: then they are in the plan.
func (e *Engine) Plan(ctx context.Context, q Request) (*Run, error) {
	r := &Run{e: e, request: q, roots: q.Roots, dirs: q.Dirs, keepGoing: e.o.KeepGoing || q.KeepGoing, log: e.host.Log,
		seen: cmp.Or(q.Lock.Seen, &lockfile.Seen{})}
	if q.Silent {
		r.log = silent{}
	}
	if r.dirs != nil {
		if err := e.findNamed(ctx, r.dirs); err != nil {
			return nil, err
		}
		r.roots = unplaced(r.dirs)
	} else if r.roots == nil {
		var err error
		if r.roots, _, err = e.Find(ctx, Search{Args: q.Args}); err != nil {
			return nil, err
		}
	}
	r.dirs = r.roots.Dirs()
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

// Prepare returns the options with which [Engine.Plan] would plan directories, for a command
// that must read files first. The Sources of the result are not nil.
func (e *Engine) Prepare(ctx context.Context, dirs []string) (render.Options, error) {
	return e.prepare(ctx, dirs, Request{}, &lockfile.Seen{})
}

func (e *Engine) prepare(ctx context.Context, names []string, q Request, seen *lockfile.Seen) (render.Options, error) {
	log, dirs := e.host.Log, e.directories(names)
	if e.asked != nil {
		log = silent{} // an earlier plan of the command has reported the places
	}
	e.warnUnfinished(log, dirs)
	if check := e.host.CheckRoots; check != nil {
		wd, _ := os.Getwd()
		err := check(dirs, func(path string) string { return e.places.TreesOf(locals(dirs, wd), wd).Around(path) })
		if err != nil {
			return render.Options{}, err
		}
	}
	sources, err := e.sources(log, dirs, q.Lock, seen)
	if err != nil {
		return render.Options{}, err
	}
	e.asked = dirs
	e.limit(ctx, q.Taken)
	e.host.Usage.Made.Add(int64(len(names)) * rootWorth)
	o := render.Options{Dirs: names, Plan: e.o.Plan, Sources: &sources}
	o.Plan.Objects = e.objects.here
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

// rootWorth is the number of bytes that each root adds to limits.Usage.Made, which raises the
// memory limit: the plan of a root takes memory even if its files are small, and a record that is
// checked takes memory although its files are not read.
const rootWorth = 256 << 10

// locals returns the absolute paths of the directories that are not remote.
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
	progress := e.show(nil)
	plan, err := compile(ctx, r.options)
	progress.Stop()
	if err != nil {
		return err
	}
	r.reusing.addFailed(plan, r.dirs, r.recordPath)
	r.setPlan(plan)
	if e.host.Watch == nil {
		r.reusing.draft(plan)
	}
	r.logPlanned()
	r.warnUnlocked()
	if err := plan.Err(); err != nil && !r.keepGoing {
		for _, d := range plan.Denied {
			// Not as DeniedError: the planning error determines the exit code.
			err = errors.Join(err, d.Err)
		}
		return err
	}
	return nil
}

func (r *Run) setPlan(plan *planner.Plan) {
	r.plan, r.planWarnings, r.called = plan, len(plan.Warnings), nil
	if planned := r.e.host.Planned; planned != nil {
		planned(plan, r.options.Dirs)
	}
}

// logPlanned prints the warnings of the plan, and the recorded warnings of reused roots.
func (r *Run) logPlanned() {
	all := *r.plan
	planned, ran := r.reusing.warned(r.dirs, !r.request.Unseen)
	all.Warnings = slices.Concat(planned, slices.DeleteFunc(slices.Clone(r.plan.Warnings), func(w planner.Warning) bool {
		return slices.ContainsFunc(planned, func(p planner.Warning) bool { return p.String() == w.String() })
	}))
	r.log.Planned(&all)
	switch {
	case r.request.Key == "":
		for _, w := range ran {
			r.log.Warn(w)
		}
	case r.hasText: // all at once and sorted, as a preview prints them
		slices.SortStableFunc(ran, planner.Warning.Compare)
		r.log.Planned(&planner.Plan{Warnings: ran})
	}
}

// warnUnlocked warns about content that is not in the lock file and has no fixed version. It
// does nothing without a lock file.
func (r *Run) warnUnlocked() {
	file := r.options.Sources.Lock
	if file == nil || r.request.Lock.Learn {
		return
	}
	for _, c := range r.seen.Unlocked(file) {
		r.log.Warn(planner.Warning{Msg: fmt.Sprintf("%s is not in %s; it is %s now", c.Name, file.Path, c.New.Version()),
			Hints: []string{"add it with krmflow lock"}, Code: diag.Unlocked})
	}
}

// planAgain also compiles the roots in dirs, which were to be reused but must be rendered after
// all. Their warnings have been printed already.
func (r *Run) planAgain(ctx context.Context, dirs []string) error {
	r.options.Dirs = slices.Concat(r.options.Dirs, dirs)
	for _, dir := range dirs {
		delete(r.reusing.used, dir)
	}
	plan, err := render.Compile(ctx, r.options)
	if err != nil {
		return err
	}
	r.reusing.addFailed(plan, slices.Concat(r.options.Dirs, slices.Sorted(maps.Keys(r.reusing.failed))), r.recordPath)
	r.setPlan(plan)
	if err := errors.Join(plan.Err(), r.mayRun(plan)); err != nil && !r.keepGoing {
		return err
	}
	return nil
}

// sources returns the fetch options of a run that renders dirs.
func (e *Engine) sources(log Log, dirs []string, use LockUse, seen *lockfile.Seen) (render.Sources, error) {
	s := e.o.Sources
	s.CacheUnused, s.Progress = e.warnCacheUnused, e.host.Log.Fetch
	s.Found, s.Rendered, s.Places = seen.Add, dirs, &e.places
	if w := e.host.Watch; w != nil {
		s.Memory = &w.remote
	}
	if !use.Refetch {
		s.Vendor = e.beside(log, e.o.Vendor, dirs)
	}
	if _, err := os.Stat(s.Vendor); s.Vendor != "" && err != nil {
		return s, diag.NoSuchFile.Errorf("--vendor: %q does not exist", s.Vendor)
	}
	var err error
	if path := e.beside(log, e.o.LockFile, dirs); path != "" {
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

// warnCacheUnused prints, once, why the user's cache folder is not used in this run. The
// message is a notice and not a warning: it concerns the machine, so --strict must not turn it
// into an error.
func (e *Engine) warnCacheUnused(why error) {
	if e.o.Quiet {
		return
	}
	e.cacheTold.Do(func() { e.host.Log.Notice(CacheUnused(why)) })
}

// CacheUnused returns the message for a user's cache that cannot be used.
func CacheUnused(why error) planner.Warning {
	return planner.Warning{Msg: "the cache is not used: " + why.Error(),
		Hints: []string{"set a different folder with --cache-dir, or add --no-cache"}, Code: diag.CacheFolder}
}

// beside returns the path of a file or folder that belongs to the roots, or "" if it is not
// used: see [Place].
func (e *Engine) beside(log Log, b Place, dirs []string) string {
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
		log.Warn(w)
		return ""
	}
	return b.Path
}
