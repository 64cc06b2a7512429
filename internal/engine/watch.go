package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/roots"
)

// A Watch has the state shared by the rounds of a command that renders again when files change.
// Each round has its own engine. The zero Watch is ready to use. A Watch must not be used
// concurrently.
type Watch struct {
	last    *Run             // nil before the first plan
	records *records.Records // nil before the first plan
	cache   *cache.Cache     // nil if no cache is used
	outputs map[string]*known.Files
	written map[string]*records.LastWrite // the file written in the last round
	cwd     string
	roots   int // number of roots in the last round

	broken  map[string]brokenRoot // by the paths of their directories
	sources []*yaml.Source        // the files with the errors of broken roots

	remote remote.Memory // remote content that roots refer to

	search  func(ctx context.Context) (*roots.Found, error) // nil without -R
	objects bool                                            // it also finds GitOps objects
	gitops  Objects                                         // those that search has found
	// The result of search, nil if it must be repeated.
	found    *roots.Found
	searched map[string]bool
	own      []string // paths that rounds write, without symbolic links
}

// A brokenRoot is a root with errors. The errors remain the same as long as record is valid.
type brokenRoot struct {
	record *records.Record
	err    planner.RootError
}

// began reports whether a round has planned roots.
func (w *Watch) began() bool { return w.records != nil }

// close closes the cache.
func (w *Watch) close() {
	if w.cache != nil {
		w.cache.Close()
	}
}

// writes records that rounds write a file or folder.
func (w *Watch) writes(path string) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		dir = filepath.Dir(abs)
	}
	if own := filepath.Join(dir, filepath.Base(abs)); !slices.Contains(w.own, own) {
		w.own = append(w.own, own)
	}
}

// isOwn reports whether a path is part of the output, or of temporary files next to it.
func (w *Watch) isOwn(entry string) bool {
	return slices.ContainsFunc(w.own, func(own string) bool {
		return diag.Within(entry, own) || strings.HasPrefix(entry, own+manifest.Reserved)
	})
}

// dirs returns the directories to watch, without symbolic links. It also prepares
// [Watch.matters].
func (w *Watch) dirs() map[string]bool {
	dirs := map[string]bool{}
	for entry := range w.records.Entries() {
		dirs[filepath.Dir(entry)] = true
	}
	for dir := range w.searched {
		if !w.isOwn(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// matters reports whether a change of a directory entry can affect the results.
func (w *Watch) matters(entry string) bool {
	return !w.isOwn(entry) && (w.records.Decides(entry) || w.decidesRoots(entry))
}

// decidesRoots reports whether a change of a directory entry can add or remove roots.
func (w *Watch) decidesRoots(entry string) bool {
	if w.searched[entry] || !w.searched[filepath.Dir(entry)] {
		return w.searched[entry]
	}
	info, err := os.Lstat(entry)
	return roots.Decides(filepath.Base(entry)) || w.objects && roots.IsYAML(entry) || err == nil && info.IsDir()
}

// changed reports whether the next round would have different inputs than the last one. entries
// have changed; all means that any other entry may have changed as well.
func (w *Watch) changed(ctx context.Context, entries []string, all bool) bool {
	w.records.Forget(entries, all)
	return w.otherRoots(ctx, all || slices.ContainsFunc(entries, w.decidesRoots)) || !w.records.Hold()
}

// otherRoots searches for roots again, if maybe is true, and reports whether they have changed.
func (w *Watch) otherRoots(ctx context.Context, maybe bool) bool {
	if w.search == nil || !maybe {
		return false
	}
	was := w.found
	w.found = nil
	found, err := w.search(ctx)
	if err != nil {
		return true // the round reports the error
	}
	w.found = found
	return was == nil || !slices.Equal(was.Dirs, found.Dirs) || !slices.Equal(was.Keys, found.Keys) || was.LeftOut() != found.LeftOut()
}

// find returns the roots below directories. It does not search again if they are the same as in
// the last round.
func (w *Watch) find(ctx context.Context, s roots.Selection, dirs []string) (*roots.Found, error) {
	if w == nil {
		return s.Find(ctx, dirs)
	}
	w.objects = s.Objects != nil
	w.search = func(ctx context.Context) (*roots.Found, error) {
		w.searched = map[string]bool{}
		s.Visit = func(dir string) { w.searched[dir] = true }
		return s.Find(ctx, dirs)
	}
	if w.found != nil {
		return w.found, nil
	}
	var err error
	w.found, err = w.search(ctx)
	return w.found, err
}

// sawAll replaces the watched inputs with the inputs of the last round. A round without a plan
// leaves them unchanged.
func (w *Watch) sawAll() {
	r := w.last
	if r == nil || r.plan == nil {
		return
	}
	plan := r.plan
	w.last, w.roots = nil, len(r.dirs)
	w.records.Unwatch()
	if r.reusing != nil {
		for _, dir := range r.dirs {
			if failed := r.reusing.failed[dir]; failed != nil {
				w.records.Used(r.e.recordPath(dir, w.cwd), failed)
			} else if r.reusing.used[dir] {
				w.records.Used(r.e.recordPath(dir, w.cwd), r.reusing.known[dir])
			}
		}
	}
	seen := w.sawPlanned(r)
	var others []string
	for _, src := range plan.Files() {
		others = append(others, src.File)
	}
	for call := range plan.Graph.Calls() {
		others = append(others, call.Function.Program, call.Function.Archive)
	}
	others = append(others, r.e.o.LockFile.Path, r.e.o.Vendor.Path)
	others = append(others, r.e.o.Reads...)
	var files []string
	for _, file := range others {
		if path := absolute(file, w.cwd); file != "" && path != "" && !loaders.IsRemote(file) && !seen[path] {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	w.records.SawFiles(slices.Compact(files))
}

// sawPlanned adds the inputs of the planned roots to the watched inputs, and returns the files
// among them.
func (w *Watch) sawPlanned(r *Run) (seen map[string]bool) {
	plan := r.plan
	seen = map[string]bool{}
	failed := map[string]planner.RootError{}
	for _, f := range plan.Failed {
		failed[f.Dir] = f
	}
	was, sources := w.broken, w.sources
	w.broken, w.sources = map[string]brokenRoot{}, nil
	for _, dir := range allOf(plan) {
		path := r.e.recordPath(dir, w.cwd)
		if path == "" || loaders.IsRemote(dir) {
			continue
		}
		f, fails := failed[dir]
		if r.reusing != nil && r.reusing.failed[dir] != nil {
			if b, ok := was[path]; ok {
				w.broken[path] = b
				w.keepSources(f, sources)
			}
			continue
		}
		list, enough := plan.Observed(dir)
		for _, o := range list {
			// Records do not include files of kind SawWhole.
			seen[o.Path] = seen[o.Path] || o.Kind != loaders.SawWhole
		}
		w.records.Saw(path, list)
		if !fails || !enough || r.reusing == nil || len(plan.Denied) > 0 {
			continue
		}
		if record := w.records.New(list); record != nil {
			record.Planned = records.WarningsIn(list, plan.Warnings)
			w.broken[path] = brokenRoot{record, f}
			w.keepSources(f, plan.Files())
		}
	}
	return seen
}

// keepSources keeps the files that errors of a root refer to, because their lines are printed
// with the errors.
func (w *Watch) keepSources(f planner.RootError, files []*yaml.Source) {
	for _, err := range f.Errs {
		name := diag.AsError(err).Pos.File
		if i := slices.IndexFunc(files, func(src *yaml.Source) bool { return src.File == name }); i >= 0 &&
			!slices.Contains(w.sources, files[i]) {
			w.sources = append(w.sources, files[i])
		}
	}
}

// Sources returns the files with errors that were found in an earlier round and have not been
// read again in this one.
func (w *Watch) Sources() []*yaml.Source { return w.sources }
