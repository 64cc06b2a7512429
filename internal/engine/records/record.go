// Package records remembers what the roots of earlier runs were made from and what came of it, so that a run need not make again what has
// not changed.
//
// A [Record] has what decided about the result: settings, and everything that the layers of the root have seen of the file system, down to
// the files that were looked for and not there. A later run looks at all of that again. A file that has the size, the times and the number
// that it had is not read for that: see package filestat. If everything is as it was, so is the result.
//
// A reference to something remote is opened again, as planning would, and must yield the same version.
//
// Only roots are reused whose results follow from these alone: none that calls a function.
package records

import (
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"golang.org/x/sync/errgroup"
)

// A Setting is something besides files that decides about results: a flag, or the version of krmflow.
type Setting struct{ Name, Value string }

// A Record is what is remembered of one render of a root.
type Record struct {
	settings []Setting
	trace    trace
	inputs   krm.Digest // of contents
	contents []byte     // settings and trace in bytes, whatever the file system said of the files: nil if the record was read

	// Rendered is false if the root was only planned.
	Rendered bool
	// Functions are the functions that it calls, if there are some: such a record does not hold for a later run, it only tells what the last
	// one was made from.
	Functions []Setting
	// Planned and Ran are the warnings that planning the root and rendering it gave.
	Planned, Ran []planner.Warning
	// Unavailable is not empty if the root could not be planned, because what it refers to could not be fetched: all that was wrong.
	Unavailable []planner.Warning
	// Text is a digest of the YAML stream, which the cache keeps for the Inputs. It is zero if the stream was not kept.
	Text krm.Digest

	forms []form
	fresh bool // something of the trace is new
}

// A form tells what files a root has in an output folder, without their contents.
type form struct{ key, files krm.Digest }

// maxForms is how many forms are remembered: a tree is usually rendered to one folder.
const maxForms = 4

// Form returns the digest of the files that the root has in folders of a form, and whether it is known.
func (r *Record) Form(key krm.Digest) (krm.Digest, bool) {
	i := slices.IndexFunc(r.forms, func(f form) bool { return f.key == key })
	if i < 0 {
		return krm.Digest{}, false
	}
	return r.forms[i].files, true
}

// SetForm remembers the digest of the files that the root has in folders of a form.
func (r *Record) SetForm(key, files krm.Digest) {
	r.forms = slices.DeleteFunc(slices.Clone(r.forms), func(f form) bool { return f.key == key })
	r.forms = append([]form{{key, files}}, r.forms[:min(len(r.forms), maxForms-1)]...)
}

// Inputs returns a digest of what the root was made from: settings, contents, and what was not there.
func (r *Record) Inputs() krm.Digest { return r.inputs }

// Contradicts reports whether r says that something else was made than o says.
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

// Bytes returns all that there is to a record.
func (r *Record) Bytes() []byte {
	e := newEncoder(len(r.trace.files))
	e.record(r)
	return e.b
}

// Dirs yields the directories that the layers of the root were found in, without symbolic links.
func (r *Record) Dirs(yield func(string) bool) {
	for _, d := range r.trace.dirs {
		if d.real != "" && !yield(d.real) {
			return
		}
	}
}

// A Part is one thing that the layers of a root have seen of the file system.
type Part struct {
	// Path is absolute, and Real is where a file or directory is without symbolic links.
	Path, Real string
	// Kind is [loaders.SawFile], SawDir, SawFolder, SawNothing or SawNoDir.
	Kind loaders.Kind
	// Sum is the digest of the content of a file, or of the names in a folder.
	Sum krm.Digest
}

// Parts yields all that the root was made from, but for what is remote.
func (r *Record) Parts(yield func(Part) bool) {
	for _, d := range r.trace.dirs {
		if d.real != "" && !yield(Part{Path: d.path, Real: d.real, Kind: loaders.SawDir}) {
			return
		}
	}
	for i := range r.trace.files {
		f := &r.trace.files[i]
		p := Part{Path: r.trace.path(f), Real: f.link, Kind: f.kind, Sum: f.sum}
		switch d := r.trace.dirs[f.dir]; {
		case f.link != "":
		case d.real == d.path:
			p.Real = p.Path // as nearly always, and there are thousands
		default:
			p.Real = filepath.Join(d.real, f.name)
		}
		if !yield(p) {
			return
		}
	}
}

// Remote reports whether the root refers to something remote.
func (r *Record) Remote() bool { return len(r.trace.fetches) > 0 }

// Files yields the paths of the files that the root was made from.
func (r *Record) Files(yield func(string) bool) {
	for i := range r.trace.files {
		if f := &r.trace.files[i]; f.kind == loaders.SawFile && !yield(r.trace.path(f)) {
			return
		}
	}
}

// Records are those that a cache has. They are not safe for concurrent use.
type Records struct {
	cache    *cache.Cache
	settings []Setting
	begun    time.Time
	view     *view // before anything is read
	after    *view // when everything was rendered
	known    map[string][]*Record
	watched  watched
}

// Open returns the records in a cache, for a run with these settings that begins now: nothing must have been read before, but it may have
// looked for directories. fetch fetches what is remote, and may be nil.
func Open(c *cache.Cache, settings []Setting, fetch loaders.Fetch, dirs *filestat.Dirs) *Records {
	return &Records{cache: c, settings: settings, begun: time.Now(), view: newView(fetch, dirs), known: map[string][]*Record{}}
}

// kind is what the cache calls records. Its number changes with their form.
const kind = "roots3"

// maxRecords is how many records of a root are kept: of several branches, or with several flags.
const maxRecords = 4

// of returns the records of a root, the last one first.
func (rs *Records) of(real string) []*Record {
	all, ok := rs.known[real]
	if !ok && rs.cache != nil {
		all = rs.read(real)
		rs.known[real] = all
	}
	return all
}

func (rs *Records) read(real string) []*Record {
	data, ok := rs.cache.Kept(kind, krm.DigestOf([]byte(real)))
	if !ok {
		return nil
	}
	all, _ := decodeRecords(data)
	return all
}

// Find returns the record of the root in each of these directories, absolute paths: nil for a root that has none that still holds.
func (rs *Records) Find(dirs []string) []*Record {
	found := make([]*Record, len(dirs))
	all := make([][]*Record, len(dirs))
	var fetches []fetch
	for i, dir := range dirs {
		if real := rs.view.dirs.Real(dir); real != "" {
			all[i] = rs.of(real)
		}
		for _, r := range all[i] {
			if len(r.Functions) == 0 && slices.Equal(r.settings, rs.settings) && r.seen(rs.view) {
				found[i] = r
				fetches = append(fetches, r.trace.fetches...)
				break
			}
		}
	}
	rs.view.fetchAll(fetches)
	for i, r := range found {
		if r == nil {
			continue
		}
		if !r.trace.came(rs.view) {
			found[i] = nil
			continue
		}
		if r.fresh || r != all[i][0] {
			real := rs.view.dirs.Real(dirs[i])
			_ = rs.keep(real, rs.add(real, all[i], r)) // the next run takes more time without it
		}
	}
	return found
}

// New returns a record of a root whose layers have seen these things since the run began. It returns nil if some of them have changed
// since. It is to be called when all roots are rendered.
func (rs *Records) New(seen []*loaders.Observation) *Record {
	rs.afterwards()
	t, ok := newTrace(seen, rs.after, rs.begun)
	if !ok {
		return nil
	}
	contents := contentsOf(rs.settings, t)
	return &Record{settings: rs.settings, trace: *t, inputs: krm.DigestOf(contents), contents: contents}
}

func (rs *Records) afterwards() {
	if rs.after == nil {
		rs.after = newView(nil, &filestat.Dirs{})
	}
}

// Save makes each of these the last record of the root in a directory, an absolute path. They are written on all cores: each has a file of its own. After an
// error some are not kept.
func (rs *Records) Save(records iter.Seq2[string, *Record]) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for dir, r := range records {
		if real := rs.view.dirs.Real(dir); real != "" {
			all := rs.add(real, rs.of(real), r)
			g.Go(func() error { return rs.keep(real, all) })
		}
	}
	return g.Wait()
}

// add makes r the last record of a root that has others, and returns those that count from now on.
func (rs *Records) add(real string, all []*Record, r *Record) []*Record {
	all = slices.DeleteFunc(slices.Clone(all), func(o *Record) bool { return o == r || o.inputs == r.inputs })
	all = append([]*Record{r}, all[:min(len(all), maxRecords-1)]...)
	rs.known[real] = all
	return all
}

// keep writes the records of a root.
func (rs *Records) keep(real string, all []*Record) error {
	if rs.cache == nil {
		return nil
	}
	e := newEncoder(len(all[0].trace.files) * len(all))
	list(e, all, e.record)
	return rs.cache.Keep(kind, krm.DigestOf([]byte(real)), e.b)
}
