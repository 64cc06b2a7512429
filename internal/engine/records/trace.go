package records

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/reference"
)

// A trace has the inputs of a root that its layers accessed: files, directories and remote
// references.
type trace struct {
	dirs    []*dir
	files   []*file
	fetches []fetch
}

// A dir is a directory, or a path at which one was looked for.
type dir struct {
	path string
	real string // with symbolic links resolved, "" if it did not exist
}

// A file is an entry of a directory that was looked for. The records of a pack share their files
// and directories.
type file struct {
	dir  *dir
	name string
	// SawFile, SawFolder, SawNothing or SawNoDir; watched files also have SawOther.
	kind loaders.Kind
	stat filestat.Stat
	sum  krm.Digest
	link string // target of a symbolic link, "" for any other file

	now   *look // during Find: the file as it is now
	fresh bool  // stat is newer than the stored one
}

func (f *file) path() string { return f.dir.path + string(filepath.Separator) + f.name }

func (d *dir) part() Part { return Part{Path: d.path, Real: d.real, Kind: loaders.SawDir} }

func (f *file) part() Part {
	p := Part{Path: f.path(), Real: f.link, Kind: f.kind, Sum: f.sum, Stat: f.stat}
	switch {
	case f.link != "":
	case f.dir.real == f.dir.path:
		p.Real = p.Path // the common case; joining thousands of paths takes time
	default:
		p.Real = filepath.Join(f.dir.real, f.name)
	}
	return p
}

// A fetch is a remote reference and the version that it yielded.
type fetch struct {
	text string
	use  reference.Use
	from remote.Origin
	came string
}

// newTrace returns the trace of observations made since begun, without those of kind SawOther.
// same is false if a directory has changed since. Files are not checked again: the record of a
// file that has changed since is not valid for the next run.
func newTrace(seen []*loaders.Observation, v *view, begun time.Time) (t *trace, same bool) {
	t, same = &trace{files: make([]*file, 0, len(seen))}, true
	at := map[string]*dir{}
	add := func(path, real string) *dir {
		d := at[path]
		if d == nil {
			d = &dir{path, real}
			at[path] = d
			t.dirs = append(t.dirs, d)
		}
		return d
	}
	up := "" // directory of the last file, which most files share
	for _, o := range seen {
		// Only functions use a whole file or directory.
		if o.InFetched || o.Kind == loaders.SawOther || o.Kind == loaders.SawWhole {
			continue
		}
		if o.Kind == loaders.SawFetched {
			t.fetches = append(t.fetches, fetch{o.Path, o.Use, o.From, o.Came})
			continue
		}
		if o.Kind == loaders.SawDir {
			same = same && v.dirs.Real(o.Path) == o.Real
			add(o.Path, o.Real)
			continue
		}
		if !in(o.Path, up) {
			up = filepath.Dir(o.Path)
		}
		real := up
		if !o.Plain {
			real = v.dirs.Real(up)
		}
		f := &file{dir: add(up, real), name: filepath.Base(o.Path), kind: o.Kind}
		if o.Kind == loaders.SawFolder {
			f.sum = krm.Digest(o.Source.Digest())
		}
		if o.Kind == loaders.SawFile {
			f.sum = krm.Digest(o.Source.Digest())
			if !o.Plain {
				f.link = v.look(o.Path).real
			}
			if o.Stat.Settled(begun) { // later changes have given it a different Stat
				f.stat = o.Stat
			}
		}
		t.files = append(t.files, f)
	}
	return t, same
}

// WarningsIn returns the warnings that concern files read by the layers of a root, which made these
// observations.
func WarningsIn(seen []*loaders.Observation, warnings []planner.Warning) (in []planner.Warning) {
	files := map[string]bool{}
	for _, o := range seen {
		if o.Kind == loaders.SawFile {
			files[o.Source.File] = true
		}
	}
	for _, w := range warnings {
		if files[w.Pos.File] && (w.Also == "" || files[w.Also]) {
			in = append(in, w)
		}
	}
	return in
}

// in reports whether path is a direct entry of dir. Both must be clean.
func in(path, dir string) bool {
	i := strings.LastIndexByte(path, filepath.Separator)
	return i > 0 && path[:i] == dir
}

// A Change is a changed input that makes a record invalid.
type Change struct {
	// What is the absolute path of a file or directory, a remote reference, or the name of a
	// flag or function.
	What string
	// Setting is true for flags and functions, which are not part of the tree.
	Setting bool
	// Old and New describe the former and the current state, for example with digests of files.
	Old, New string
}

// seen reports whether all inputs in the file system are unchanged. The record of a file that
// was written again with the same content gets the new metadata.
func (r *Record) seen(v *view) bool {
	t := &r.trace
	for _, d := range t.dirs {
		if v.dirs.Real(d.path) != d.real {
			return false
		}
	}
	v.near = &filestat.Looker{}
	defer func() {
		v.near.Close()
		v.near = nil
	}()
	for _, f := range t.files {
		if !f.check(v) {
			return false
		}
		r.fresh = r.fresh || f.fresh
	}
	return true
}

// came reports whether all remote references yield the same versions.
func (t *trace) came(v *view) bool {
	return !slices.ContainsFunc(t.fetches, func(f fetch) bool { return v.came(f) != f.came })
}

// changes returns all changes.
func (t *trace) changes(v *view) (changes []Change) {
	for _, d := range t.dirs {
		if now := v.dirs.Real(d.path); now != d.real {
			changes = append(changes, Change{What: d.path, Old: dirWords(d.real), New: dirWords(now)})
		}
	}
	for _, f := range t.files {
		if !f.check(v) {
			changes = append(changes, f.change(f.path(), v))
		}
	}
	for _, f := range t.fetches {
		if came := v.came(f); came != f.came {
			changes = append(changes, Change{What: diag.Redact(f.text), Old: f.came, New: came})
		}
	}
	return changes
}

// check reports whether a file is unchanged. If it was read for that, it gets the new metadata.
func (f *file) check(v *view) bool {
	now := f.now
	if now == nil {
		now = v.look(f.path())
	}
	switch f.kind {
	case loaders.SawNothing:
		return !now.exists() && !now.failed
	case loaders.SawNoDir:
		return now.mode&fs.ModeDir == 0 && !now.failed
	case loaders.SawFolder:
		return now.mode.IsDir() && now.sum(f.path()) == f.sum
	case loaders.SawOther:
		return now.real == f.link && (now.stat == f.stat && f.stat != (filestat.Stat{}) || now.whatever(f.path()) == f.sum)
	}
	switch {
	case !now.mode.IsRegular() || now.real != f.link:
		return false
	case now.stat == f.stat && f.stat != (filestat.Stat{}):
		return true
	case f.stat != (filestat.Stat{}) && now.stat.Size != f.stat.Size, now.sum(f.path()) != f.sum:
		return false
	}
	f.stat = filestat.Stat{} // the old one has other permissions or another time
	if now.stat.Settled(now.hashedAt) {
		f.stat, f.fresh = now.stat, true
	}
	return true
}

// mustRead reports whether check reads the file or directory found by now.
func (f *file) mustRead(now *look) bool {
	switch f.kind {
	case loaders.SawFolder:
		return now.mode.IsDir()
	case loaders.SawFile:
		same := now.stat == f.stat && f.stat != (filestat.Stat{})
		return now.mode.IsRegular() && now.real == f.link && !same && (f.stat == filestat.Stat{} || now.stat.Size == f.stat.Size)
	}
	return false
}

// change describes the change of a file.
func (f *file) change(path string, v *view) Change {
	c := Change{What: path, Old: "none", New: "none"}
	switch now := v.look(path); {
	case now.mode.IsRegular():
		c.New = now.sum(path).String()
	case now.mode.IsDir():
		c.New = "a directory"
	case now.exists():
		c.New = "not a regular file"
	}
	switch {
	case f.kind == loaders.SawFile:
		c.Old = f.sum.String()
		if c.New == c.Old {
			c.New, c.Old = "a link to "+v.look(path).real, "a link to "+f.link
		}
	case f.kind == loaders.SawNoDir:
		c.Old = "no directory"
	case f.kind == loaders.SawFolder:
		c.Old = "a directory with other files"
	}
	return c
}

func dirWords(real string) string {
	if real == "" {
		return "no directory"
	}
	return "the directory " + real
}
