package filestat

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Dirs resolves directory paths and caches the results. It looks at each directory only once,
// so a Dirs must not be kept across changes of the file system; see [Dirs.Only]. The zero Dirs
// is empty and ready to use. A Dirs must not be used concurrently.
type Dirs struct {
	places map[string]place
	lists  map[string]*list // by real path
}

// A place is the resolved location of a directory.
type place struct {
	real string // "" if the directory does not exist
	info fs.FileInfo
}

// A list has the entries of a directory, and the regular files that were looked up, sorted by name.
type list struct {
	entries []fs.DirEntry
	files   []File
	folded  map[string]bool // see folded; nil before the first use
}

// Real returns the absolute, clean path of a directory with all symbolic links resolved, or ""
// if path is not a directory.
func (d *Dirs) Real(path string) string { return d.at(path).real }

// Find returns the path that Real returns and the directory's file information, which is nil if
// path is not a directory.
func (d *Dirs) Find(path string) (real string, info fs.FileInfo) {
	p := d.at(path)
	if p.real != "" && p.info == nil { // known from the list of its parent
		if p.info, _ = os.Lstat(p.real); p.info == nil || !p.info.IsDir() {
			p = place{}
		}
		d.places[path] = p
	}
	return p.real, p.info
}

// A File is a regular file in a directory.
type File struct {
	Name string
	Stat Stat
}

// List records the entries of a directory, and regular files among them that were looked up, each
// sorted by name. real is its path without symbolic links. Later lookups use them instead of the
// file system.
func (d *Dirs) List(real string, entries []fs.DirEntry, files []File) {
	if d.lists == nil {
		d.lists = map[string]*list{}
	}
	d.lists[real] = &list{entries: entries, files: files}
}

// Stat returns the Stat of a recorded regular file in a directory, given by its path without
// symbolic links.
func (d *Dirs) Stat(real, name string) (s Stat, ok bool) {
	l := d.lists[real]
	if l == nil {
		return s, false
	}
	i, ok := slices.BinarySearchFunc(l.files, name, func(f File, name string) int { return strings.Compare(f.Name, name) })
	if ok {
		s = l.files[i].Stat
	}
	return s, ok
}

// Lacks reports whether a recorded list shows that a directory, given by its path without symbolic
// links, has no entry with this name. If it returns false, nothing is known.
func (d *Dirs) Lacks(real, name string) bool {
	l := d.lists[real]
	return l != nil && l.lacks(name)
}

func (l *list) find(name string) fs.DirEntry {
	i, ok := slices.BinarySearchFunc(l.entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if !ok {
		return nil
	}
	return l.entries[i]
}

// few is the number of names up to which comparing all of them takes less time than a map.
const few = 16

// lacks also returns false for a name that differs from an entry only in case, because a file
// system may ignore case. Some ignore more differences between characters other than ASCII.
func (l *list) lacks(name string) bool {
	if l.find(name) != nil || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	if len(l.entries) <= few {
		return !slices.ContainsFunc(l.entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
	}
	if l.folded == nil {
		l.folded = make(map[string]bool, len(l.entries))
		for _, e := range l.entries {
			l.folded[folded(e.Name())] = true
		}
	}
	return !l.folded[folded(name)]
}

// folded returns the same text for all names that [strings.EqualFold] considers equal to a name in
// ASCII.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }

func (d *Dirs) at(path string) place {
	if p, ok := d.places[path]; ok {
		return p
	}
	if d.places == nil {
		d.places = map[string]place{}
	}
	p := d.find(path)
	d.places[path] = p
	return p
}

func (d *Dirs) find(path string) place {
	up := filepath.Dir(path)
	if up == path {
		info, _ := os.Lstat(path)
		return place{path, info}
	}
	within := d.Real(up)
	if within == "" {
		return place{}
	}
	full := path
	if within != up {
		full = filepath.Join(within, filepath.Base(path))
	}
	if l := d.lists[within]; l != nil {
		if e := l.find(filepath.Base(path)); e != nil && e.IsDir() {
			return place{real: full}
		}
	}
	info, err := os.Lstat(full)
	switch {
	case err != nil:
		return place{}
	case info.IsDir():
		return place{full, info}
	case info.Mode()&fs.ModeSymlink == 0:
		return place{}
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return place{}
	}
	if info, err = os.Lstat(full); err != nil || !info.IsDir() {
		return place{}
	}
	return place{full, info}
}

// Looked reports whether the directory at path has been looked up before.
func (d *Dirs) Looked(path string) bool {
	_, ok := d.places[path]
	return ok
}

// Only drops all lists, and all cached results except those for paths and their parent directories.
func (d *Dirs) Only(paths iter.Seq[string]) {
	only := map[string]place{}
	for path := range paths {
		for {
			p, ok := d.places[path]
			if _, done := only[path]; done || !ok {
				break
			}
			only[path] = p
			path = filepath.Dir(path)
		}
	}
	d.places = only
	d.lists = nil
}
