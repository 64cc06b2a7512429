// Package records stores the inputs and results of rendered roots, so that later runs need not
// render unchanged roots again.
//
// A [Record] has all inputs of the result: settings, and everything that the layers of the root
// have accessed in the file system, including files that were looked for and did not exist. A
// later run checks all of them. A file whose size, times and inode number are unchanged is not
// read again: see package filestat. If all inputs are unchanged, so is the result.
//
// Remote references are resolved again, as planning would, and must yield the same version.
//
// Only roots whose results are fully determined by these inputs are reused. Roots that call
// functions are not.
package records

import (
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
)

// A Setting is an input of results other than a file: a flag, or the version of krmflow.
type Setting struct{ Name, Value string }

// A Record describes one render of a root.
type Record struct {
	settings []Setting
	trace    trace
	inputs   krm.Digest // see inputsOf

	// Rendered is false if the root was only planned.
	Rendered bool
	// Functions are the functions that the root calls. A record with functions is not valid for
	// later runs; it only describes the inputs of the last run.
	Functions []Setting
	// Planned and Ran are the warnings of planning and of rendering the root.
	Planned, Ran []planner.Warning
	// Unavailable has all errors of a root that could not be planned, if the only reason was
	// that references could not be fetched. It is empty otherwise.
	Unavailable []planner.Warning
	// Text is the digest of the YAML stream, which the cache stores under the Inputs. It is
	// zero if the stream was not stored.
	Text krm.Digest

	forms []form
	fresh bool // the trace has new metadata
}

// A form has the digest of a root's files in output folders with the same options. The contents
// of the files are not stored.
type form struct{ key, files krm.Digest }

// maxForms is the maximum number of forms of a record. A tree is usually rendered to one
// folder.
const maxForms = 4

// Form returns the digest of the root's files in output folders of a form, and whether it is
// known.
func (r *Record) Form(key krm.Digest) (krm.Digest, bool) {
	i := slices.IndexFunc(r.forms, func(f form) bool { return f.key == key })
	if i < 0 {
		return krm.Digest{}, false
	}
	return r.forms[i].files, true
}

// SetForm records the digest of the root's files in output folders of a form.
func (r *Record) SetForm(key, files krm.Digest) {
	r.forms = slices.DeleteFunc(slices.Clone(r.forms), func(f form) bool { return f.key == key })
	r.forms = append([]form{{key, files}}, r.forms[:min(len(r.forms), maxForms-1)]...)
}

// Inputs returns a digest of all inputs of the root: settings, contents, and the absence of
// files.
func (r *Record) Inputs() krm.Digest { return r.inputs }

// Contradicts reports whether r and o describe different results.
func (r *Record) Contradicts(o *Record) bool {
	none := krm.Digest{}
	if r.Text != o.Text && r.Text != none && o.Text != none {
		return true
	}
	return slices.ContainsFunc(r.forms, func(f form) bool {
		files, ok := o.Form(f.key)
		return ok && files != f.files
	})
}

// Bytes returns the encoded record.
func (r *Record) Bytes() []byte {
	return pack{"": {records: []*Record{r}}}.bytes()
}

// Dirs yields the directories of the root's layers, with symbolic links resolved.
func (r *Record) Dirs(yield func(string) bool) {
	for _, d := range r.trace.dirs {
		if d.real != "" && !yield(d.real) {
			return
		}
	}
}

// A Part is a single access of a root's layers to the file system.
type Part struct {
	// Path is absolute. Real is the path of a file or directory with symbolic links resolved.
	Path, Real string
	// Kind is [loaders.SawFile], SawDir, SawFolder, SawNothing or SawNoDir.
	Kind loaders.Kind
	// Sum is the digest of the content of a file, or of the names in a folder.
	Sum krm.Digest
	// Stat is the metadata of a file, or zero if it is not known.
	Stat filestat.Stat
}

// Checker returns a function that reports whether holds is true for all parts of a record. It
// caches the results for parts that records share. The function must not be called concurrently.
func Checker(holds func(Part) bool) func(*Record) bool {
	dirs, files := map[*dir]bool{}, map[*file]bool{}
	return func(r *Record) bool {
		return every(r.trace.dirs, dirs, func(d *dir) bool { return d.real == "" || holds(d.part()) }) &&
			every(r.trace.files, files, func(f *file) bool { return holds(f.part()) })
	}
}

// every reports whether holds is true for all items. known caches its results.
func every[T comparable](items []T, known map[T]bool, holds func(T) bool) bool {
	for _, item := range items {
		ok, found := known[item]
		if !found {
			ok = holds(item)
			known[item] = ok
		}
		if !ok {
			return false
		}
	}
	return true
}

// Names reports whether the run used this absolute path for a layer of the root.
func (r *Record) Names(path string) bool {
	return slices.ContainsFunc(r.trace.dirs, func(d *dir) bool { return d.path == path && d.real != "" })
}

// Remote reports whether the root has remote references.
func (r *Record) Remote() bool { return len(r.trace.fetches) > 0 }

// Files yields the paths of the input files of the root.
func (r *Record) Files(yield func(string) bool) {
	for _, f := range r.trace.files {
		if f.kind == loaders.SawFile && !yield(f.path()) {
			return
		}
	}
}

// Records are the records in a cache. They must not be used concurrently.
type Records struct {
	cache    *cache.Cache
	scope    string
	settings []Setting
	begun    time.Time
	view     *view // the file system before any input is read
	after    *view // the file system after all inputs were read
	known    map[string][]*Record
	valid    map[*Record]bool // the result of the last Find
	watched  watched
}

// Open returns the records in a cache for a run with these settings. It must be called before
// the run reads any input, but directories may have been looked up already. scope is the working
// directory; runs in different ones do not share records. fetch fetches remote content and may be
// nil. c may be nil.
func Open(c *cache.Cache, scope string, settings []Setting, fetch loaders.Fetch, dirs *filestat.Dirs) *Records {
	return &Records{cache: c, scope: scope, settings: settings, begun: time.Now(), view: newView(fetch, dirs),
		known: map[string][]*Record{}}
}

// maxRecords is the maximum number of records of a root, for different branches or flags.
const maxRecords = 4

// real returns the key of a root: its directory with symbolic links resolved, or the text of
// another key, which is not an absolute path. It returns "" if there is no such directory.
func (rs *Records) real(dir string) string {
	if dir != "" && !filepath.IsAbs(dir) {
		return dir
	}
	return rs.view.dirs.Real(dir)
}

// of returns the records of a root, the latest first.
func (rs *Records) of(real string) []*Record {
	all, ok := rs.known[real]
	if !ok {
		rs.read([]string{real})
		all = rs.known[real]
	}
	return all
}

// Find returns a valid record for each of these roots: absolute paths of directories, or other keys
// of roots. The result is nil for roots without one.
func (rs *Records) Find(dirs []string) []*Record {
	found := make([]*Record, len(dirs))
	reals := make([]string, len(dirs))
	for i, dir := range dirs {
		reals[i] = rs.real(dir)
	}
	rs.read(reals)
	defer rs.lookAhead(reals)()
	var fetches []fetch
	for i, real := range reals {
		for _, r := range rs.of(real) {
			if rs.fits(r) && r.seen(rs.view) {
				found[i] = r
				fetches = append(fetches, r.trace.fetches...)
				break
			}
		}
	}
	rs.view.fetchAll(fetches)
	var changed []string
	for i, r := range found {
		if r == nil {
			continue
		}
		if !r.trace.came(rs.view) {
			found[i] = nil
			continue
		}
		if all := rs.known[reals[i]]; r.fresh || r != all[0] {
			rs.add(reals[i], all, r)
			changed = append(changed, reals[i])
		}
	}
	for _, real := range changed { // keep stores the new metadata
		r := rs.known[real][0]
		r.fresh = false
		for _, f := range r.trace.files {
			f.fresh = false
		}
	}
	rs.valid = map[*Record]bool{}
	for _, r := range found {
		rs.valid[r] = r != nil
	}
	_ = rs.keep(changed) // on failure, the next run only takes longer
	return found
}

// fits reports whether a record may be valid, depending on its inputs in the file system.
func (rs *Records) fits(r *Record) bool {
	return len(r.Functions) == 0 && slices.Equal(r.settings, rs.settings)
}

// lookAhead looks up the files of the records that Find examines first, on all cores. The caller
// must call reset.
func (rs *Records) lookAhead(reals []string) (reset func()) {
	var traces []*trace
	for _, real := range reals {
		all := rs.of(real)
		if i := slices.IndexFunc(all, rs.fits); i >= 0 {
			traces = append(traces, &all[i].trace)
		}
	}
	return rs.view.lookAhead(traces)
}

// New returns a record of a root whose layers have made these observations since the run began.
// It returns nil if a directory has changed since. It must be called after all roots are
// planned.
func (rs *Records) New(seen []*loaders.Observation) *Record {
	rs.afterwards()
	t, ok := newTrace(seen, rs.after, rs.begun)
	if !ok {
		return nil
	}
	return &Record{settings: rs.settings, trace: *t, inputs: inputsOf(rs.settings, t)}
}

func (rs *Records) afterwards() {
	if rs.after == nil {
		rs.after = newView(nil, &filestat.Dirs{})
	}
}

// Save stores each record as the latest record of the root in a directory, which is an absolute
// path. After an error some records may not be stored.
func (rs *Records) Save(records iter.Seq2[string, *Record]) error {
	var changed []string
	for dir, r := range records {
		if real := rs.real(dir); real != "" {
			rs.add(real, rs.of(real), r)
			changed = append(changed, real)
		}
	}
	return rs.keep(changed)
}

// add makes r the latest of all records of a root.
func (rs *Records) add(real string, all []*Record, r *Record) {
	all = slices.DeleteFunc(slices.Clone(all), func(o *Record) bool { return o == r || o.inputs == r.inputs })
	rs.known[real] = append([]*Record{r}, all[:min(len(all), maxRecords-1)]...)
}
