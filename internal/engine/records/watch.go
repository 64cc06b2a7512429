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

// A watched set of roots is what the last run was made from, for a process that waits until that changes.
type watched struct {
	roots map[string]*Record
	// files leads from the directory entries that decide about files to the paths by which layers name these; leads are those that decide where
	// directories are, or are symbolic links.
	files map[string][]string
	leads map[string]bool
}

// Again prepares rs for another run in the same process. c may be nil: then nothing is kept for other processes. What was seen is not looked at
// again but for what [Records.Forget] says.
func (rs *Records) Again(c *cache.Cache, settings []Setting, fetch loaders.Fetch) {
	rs.cache, rs.settings, rs.begun, rs.after, rs.view.fetch = c, settings, time.Now(), nil, fetch
}

// Saw makes what the last run has seen of a root, by the path of its directory, what is watched. nil stands for a root that was not looked at.
func (rs *Records) Saw(root string, seen []*loaders.Observation) {
	rs.afterwards()
	t, ok := newTrace(seen, rs.after, rs.begun)
	if !ok {
		t.files = append(t.files, file{kind: loaders.SawOther}) // it has changed meanwhile: nothing is like that
	}
	for _, o := range seen {
		if o.Kind == loaders.SawOther && o.Path != "" {
			rs.addFile(t, o.Path)
		}
	}
	t.addDir(root, rs.after)
	rs.watch(root, &Record{trace: *t})
}

// SawFiles makes files that no layer has read what is watched.
func (rs *Records) SawFiles(paths []string) {
	rs.afterwards()
	r := &Record{}
	for _, path := range paths {
		rs.addFile(&r.trace, path)
	}
	rs.watch("", r)
}

// Used makes what a record holds of what is watched, which was found for a root.
func (rs *Records) Used(dir string, r *Record) { rs.watch(dir, r) }

func (rs *Records) watch(dir string, r *Record) {
	if rs.watched.roots == nil {
		rs.watched.roots = map[string]*Record{}
	}
	rs.watched.roots[dir] = r
}

// Unwatch ends the watch of all roots.
func (rs *Records) Unwatch() { rs.watched.roots = nil }

// addDir adds a directory, and returns where it is in t.dirs.
func (t *trace) addDir(path string, v *view) int {
	i := slices.IndexFunc(t.dirs, func(d dir) bool { return d.path == path })
	if i < 0 {
		i = len(t.dirs)
		t.dirs = append(t.dirs, dir{path, v.dirs.Real(path)})
	}
	return i
}

// addFile adds what is at a path, whatever it is. What the last run has found there is not known: it is what was there before, if that is known, or
// what is there now, if that has not changed since. Otherwise nothing is like it.
func (rs *Records) addFile(t *trace, path string) {
	now := rs.view.files[path]
	if now == nil {
		now = rs.after.look(path)
	}
	f := file{dir: t.addDir(filepath.Dir(path), rs.after), name: filepath.Base(path), kind: loaders.SawOther, link: now.real}
	switch {
	case now.stat.Settled(rs.begun):
		f.stat = now.stat
	case now.hashed || !now.mode.IsRegular():
		f.sum = now.whatever(path)
	}
	t.files = append(t.files, f)
}

// Entries returns the directory entries that decide about all that is watched, as paths: what is watched is as it was until one of them changes.
func (rs *Records) Entries() map[string]bool {
	w := &rs.watched
	w.files, w.leads = map[string][]string{}, map[string]bool{}
	dirs := map[string]string{} // without symbolic links
	lead := func(entry string) { w.leads[entry] = true }
	leads := func(path, real string) {
		if path != real { // there is a link on the way, or nothing
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
		for i := range r.trace.files {
			f := &r.trace.files[i]
			path := r.trace.path(f)
			real := dirs[r.trace.dirs[f.dir].path]
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
	// What was looked at besides is not watched.
	maps.DeleteFunc(rs.view.files, func(path string, _ *look) bool { return !looked[path] })
	rs.view.dirs.Only(maps.Keys(dirs))
	all := maps.Clone(w.leads)
	for entry := range w.files {
		all[entry] = true
	}
	return all
}

// Decides reports whether one of the entries that [Records.Entries] has returned last is this one.
func (rs *Records) Decides(entry string) bool {
	return rs.watched.leads[entry] || rs.watched.files[entry] != nil || rs.watched.files[listOf(entry)] != nil
}

// listOf returns how the directory that an entry is in is called among the files of [watched], if what comes and goes there decides.
func listOf(entry string) string { return filepath.Dir(entry) + string(filepath.Separator) }

// Forget makes the next run look again at what some directory entries decide about, or at everything.
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

// Holds reports whether a record of an earlier run of this process holds. What is remote is not asked for again.
func (rs *Records) Holds(r *Record) bool {
	return slices.Equal(r.settings, rs.settings) && r.seen(rs.view)
}

// Hold reports whether all that is watched is as it was.
func (rs *Records) Hold() bool {
	for _, r := range rs.watched.roots {
		if !r.seen(rs.view) {
			return false
		}
	}
	return true
}
