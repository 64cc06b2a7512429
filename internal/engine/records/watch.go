package records

import (
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
)

// watched has the inputs of the last run, for a process that waits for changes to them.
type watched struct {
	roots map[string]*Record
	// files maps the directory entries that affect files to the paths by which layers refer to
	// these. leads are the entries that affect the location of directories, and symbolic links.
	files map[string][]string
	leads map[string]bool
}

// Again prepares rs for another run in the same process. c may be nil: then no records are
// stored for other processes. Files that were looked up are not looked up again, unless
// [Records.Forget] invalidates them.
func (rs *Records) Again(c *cache.Cache, settings []Setting, fetch loaders.Fetch) {
	rs.cache, rs.settings, rs.begun, rs.after, rs.view.fetch = c, settings, time.Now(), nil, fetch
	rs.valid = nil
}

// Saw adds the observations of the last run for a root, given by the path of its directory, to
// the watched inputs. seen is nil for a root that was not looked at.
func (rs *Records) Saw(root string, seen []*loaders.Observation) {
	rs.afterwards()
	t, ok := newTrace(seen, rs.after, rs.begun)
	if !ok {
		// A directory has changed meanwhile: never valid.
		t.files = append(t.files, &file{dir: &dir{}, kind: loaders.SawOther})
	}
	for _, o := range seen {
		if o.Kind == loaders.SawOther && o.Path != "" {
			rs.addFile(t, o.Path)
		}
	}
	t.addDir(root, rs.after)
	rs.watch(root, &Record{trace: *t})
}

// SawFiles adds files that layers have not read to the watched inputs.
func (rs *Records) SawFiles(paths []string) {
	rs.afterwards()
	r := &Record{}
	for _, path := range paths {
		rs.addFile(&r.trace, path)
	}
	rs.watch("", r)
}

// Used adds the inputs of a root's record to the watched inputs.
func (rs *Records) Used(dir string, r *Record) { rs.watch(dir, r) }

func (rs *Records) watch(dir string, r *Record) {
	if rs.watched.roots == nil {
		rs.watched.roots = map[string]*Record{}
	}
	rs.watched.roots[dir] = r
}

// Unwatch removes all watched inputs.
func (rs *Records) Unwatch() { rs.watched.roots = nil }

// addDir adds a directory, and returns its entry in t.dirs.
func (t *trace) addDir(path string, v *view) *dir {
	i := slices.IndexFunc(t.dirs, func(d *dir) bool { return d.path == path })
	if i < 0 {
		i = len(t.dirs)
		t.dirs = append(t.dirs, &dir{path, v.dirs.Real(path)})
	}
	return t.dirs[i]
}

// addFile adds the file at a path, of any type. The state that the last run found there is not
// known exactly. addFile uses the state before the run, if it is known, or else the current
// state, if it has not changed since the run began. Otherwise the entry never matches, so that
// another round follows.
func (rs *Records) addFile(t *trace, path string) {
	now := rs.view.files[path]
	if now == nil {
		now = rs.after.look(path)
	}
	f := &file{dir: t.addDir(filepath.Dir(path), rs.after), name: filepath.Base(path), kind: loaders.SawOther, link: now.real}
	switch {
	case now.stat.Settled(rs.begun):
		f.stat = now.stat
	case now.hashed || !now.mode.IsRegular():
		f.sum = now.whatever(path)
	}
	t.files = append(t.files, f)
}

// Entries returns the paths of the directory entries that affect the watched inputs. The inputs
// cannot change unless one of these entries does.
func (rs *Records) Entries() map[string]bool {
	w := &rs.watched
	w.files, w.leads = map[string][]string{}, map[string]bool{}
	dirs := map[string]string{} // with symbolic links resolved
	lead := func(entry string) { w.leads[entry] = true }
	leads := func(path, real string) {
		if path != real { // the path has symbolic links or does not exist
			filestat.Entries(path, lead)
			return
		}
		for ; !w.leads[path] && filepath.Dir(path) != path; path = filepath.Dir(path) {
			lead(path)
		}
	}
	looked := map[string]bool{}
	for _, r := range w.roots {
		for i := range r.trace.dirs {
			path := r.trace.dirs[i].path
			if _, done := dirs[path]; !done {
				dirs[path] = rs.view.dirs.Real(path)
				leads(path, dirs[path])
			}
		}
		for _, f := range r.trace.files {
			path := f.path()
			real := dirs[f.dir.path]
			if f.kind == loaders.SawFolder {
				list := rs.view.dirs.Real(path) + string(filepath.Separator)
				if !slices.Contains(w.files[list], path) {
					w.files[list] = append(w.files[list], path)
				}
			}
			if looked[path] || real == "" {
				continue
			}
			looked[path] = true
			entry := filepath.Join(real, f.name)
			w.files[entry] = append(w.files[entry], path)
			if rs.view.look(path).isLink {
				filestat.Entries(entry, lead)
			}
		}
	}
	// Forget all other paths that were looked up, since they are not watched.
	maps.DeleteFunc(rs.view.files, func(path string, _ *look) bool { return !looked[path] })
	rs.view.dirs.Only(maps.Keys(dirs))
	all := maps.Clone(w.leads)
	for entry := range w.files {
		all[entry] = true
	}
	return all
}

// Decides reports whether entry affects a watched input, according to the last call of
// [Records.Entries].
func (rs *Records) Decides(entry string) bool {
	return rs.watched.leads[entry] || rs.watched.files[entry] != nil || rs.watched.files[listOf(entry)] != nil
}

// listOf returns the key in [watched].files for the directory of an entry, which is set if
// additions to and removals from it matter.
func listOf(entry string) string { return filepath.Dir(entry) + string(filepath.Separator) }

// Forget makes the next run look up the paths again that are affected by these directory
// entries, or all paths.
func (rs *Records) Forget(entries []string, all bool) {
	for _, entry := range entries {
		all = all || rs.watched.leads[entry]
		for _, path := range rs.watched.files[entry] {
			all = all || rs.view.dirs.Looked(path)
			delete(rs.view.files, path)
		}
		for _, path := range rs.watched.files[listOf(entry)] {
			delete(rs.view.files, path)
		}
	}
	if all {
		fetches := rs.view.fetches
		rs.view = newView(rs.view.fetch, &filestat.Dirs{})
		rs.view.fetches = fetches
	}
}

// Holds reports whether a record of an earlier run of this process is valid. Remote references
// are not resolved again.
func (rs *Records) Holds(r *Record) bool {
	return slices.Equal(r.settings, rs.settings) && r.seen(rs.view)
}

// Hold reports whether all watched inputs are unchanged.
func (rs *Records) Hold() bool {
	for _, r := range rs.watched.roots {
		if !r.seen(rs.view) {
			return false
		}
	}
	return true
}
