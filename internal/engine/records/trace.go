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
	"github.com/krmflow/krmflow/reference"
)

// A trace is what a root was made from: what its layers have seen of the file system.
type trace struct {
	dirs    []dir
	files   []file
	fetches []fetch
}

// A dir is a directory, or what leads to one.
type dir struct {
	path string
	real string // without symbolic links, "" if there was none
}

// A file is something in a directory that was looked for.
type file struct {
	dir  int // of trace.dirs
	name string
	kind loaders.Kind // SawFile, SawFolder, SawNothing or SawNoDir; watched files have SawOther, too
	stat filestat.Stat
	sum  krm.Digest
	link string // where a symbolic link leads to, "" for any other file
}

// A fetch is a reference to something remote, and what came of it.
type fetch struct {
	text string
	use  reference.Use
	from remote.Origin
	came string
}

// newTrace returns the trace of what was seen since begun, but for what is SawOther, and reports false if a directory is another one now. Files need no
// second look: one that has changed since does not hold for the next run.
func newTrace(seen []*loaders.Observation, v *view, begun time.Time) (t *trace, same bool) {
	t, same = &trace{files: make([]file, 0, len(seen))}, true
	at := map[string]int{}
	add := func(path, real string) int {
		i, ok := at[path]
		if !ok {
			i = len(t.dirs)
			at[path] = i
			t.dirs = append(t.dirs, dir{path, real})
		}
		return i
	}
	up := "" // of the last file: most have it, too
	for _, o := range seen {
		if o.InFetched || o.Kind == loaders.SawOther || o.Kind == loaders.SawWhole { // what uses a whole thing calls a function
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
		f := file{dir: add(up, real), name: filepath.Base(o.Path), kind: o.Kind}
		if o.Kind == loaders.SawFolder {
			f.sum = krm.Digest(o.Source.Digest())
		}
		if o.Kind == loaders.SawFile {
			f.sum = krm.Digest(o.Source.Digest())
			if !o.Plain {
				f.link = v.look(o.Path).real
			}
			if o.Stat.Settled(begun) { // a change since then has given it another one
				f.stat = o.Stat
			}
		}
		t.files = append(t.files, f)
	}
	return t, same
}

// in reports whether a path is that of something in a directory, and not further below; both are clean.
func in(path, dir string) bool {
	i := strings.LastIndexByte(path, filepath.Separator)
	return i > 0 && path[:i] == dir
}

// A Change is why something that was made once does not hold any more.
type Change struct {
	// What is the absolute path of a file or directory, a reference to something remote, the name of a flag or of a function.
	What string
	// Setting tells that it is nothing of the tree.
	Setting bool
	// Old and New are what was there and is, in words: digests of files for instance.
	Old, New string
}

// seen reports whether everything that was seen of the file system is as it was. A file that holds although it was written again gets what
// the file system says now.
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
	for i := range t.files {
		holds, again := t.files[i].check(t.path(&t.files[i]), v)
		if !holds {
			return false
		}
		r.fresh = r.fresh || again
	}
	return true
}

// came reports whether each fetch comes to the same.
func (t *trace) came(v *view) bool {
	return !slices.ContainsFunc(t.fetches, func(f fetch) bool { return v.came(f) != f.came })
}

// changes returns all that has changed.
func (t *trace) changes(v *view) (changes []Change) {
	for _, d := range t.dirs {
		if now := v.dirs.Real(d.path); now != d.real {
			changes = append(changes, Change{What: d.path, Old: dirWords(d.real), New: dirWords(now)})
		}
	}
	for i := range t.files {
		f := &t.files[i]
		if holds, _ := f.check(t.path(f), v); !holds {
			changes = append(changes, f.change(t.path(f), v))
		}
	}
	for _, f := range t.fetches {
		if came := v.came(f); came != f.came {
			changes = append(changes, Change{What: diag.Redact(f.text), Old: f.came, New: came})
		}
	}
	return changes
}

func (t *trace) path(f *file) string { return t.dirs[f.dir].path + string(filepath.Separator) + f.name }

// check reports whether a file is as it was, and whether it had to be read to know that.
func (f *file) check(path string, v *view) (holds, again bool) {
	now := v.look(path)
	switch f.kind {
	case loaders.SawNothing:
		return !now.exists(), false
	case loaders.SawNoDir:
		return now.mode&fs.ModeDir == 0, false
	case loaders.SawFolder:
		return now.mode.IsDir() && now.sum(path) == f.sum, false
	case loaders.SawOther:
		return now.real == f.link && (now.stat == f.stat && f.stat != (filestat.Stat{}) || now.whatever(path) == f.sum), false
	}
	switch {
	case !now.mode.IsRegular() || now.real != f.link:
		return false, false
	case now.stat == f.stat && f.stat != (filestat.Stat{}):
		return true, false
	case f.stat != (filestat.Stat{}) && now.stat.Size != f.stat.Size, now.sum(path) != f.sum:
		return false, false
	}
	if now.stat.Settled(now.hashedAt) {
		f.stat = now.stat
		return true, true
	}
	return true, false
}

// change says what of a file has changed.
func (f *file) change(path string, v *view) Change {
	c := Change{What: path, Old: "none", New: "none"}
	switch now := v.look(path); {
	case now.mode.IsRegular():
		c.New = now.sum(path).String()
	case now.mode.IsDir():
		c.New = "a directory"
	case now.exists():
		c.New = "no regular file"
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
