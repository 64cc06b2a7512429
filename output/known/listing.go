package known

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
)

// Listings are folder listings from earlier runs. A nil Listings is empty.
type Listings struct {
	top     string
	by      map[string]*Listing
	changed bool
}

// NewListings returns empty Listings for the output at an absolute path.
func NewListings(top string) *Listings { return &Listings{top: top, by: map[string]*Listing{}} }

// Top returns the path of the output.
func (ls *Listings) Top() string { return ls.top }

// A Listing is the content of a folder together with its metadata. While the metadata stays the
// same, no entry was added or removed.
type Listing struct {
	Entries []fs.DirEntry
	// Writable is true if the folder was found to be writable.
	Writable bool

	stat     filestat.Stat
	text     string        // of the manifest
	textStat filestat.Stat // of the manifest file
	used     bool          // in this process
}

// Stored is a Listing in the cache.
type Stored struct {
	Stat, TextStat filestat.Stat
	Text           string
	Entries        []Entry
	Writable       bool
}

// An Entry is a directory entry of a [Stored].
type Entry struct {
	Base string
	Mode fs.FileMode // only the type
}

// Name, IsDir, Type and Info implement [fs.DirEntry]. Info always fails.
func (e Entry) Name() string               { return e.Base }
func (e Entry) IsDir() bool                { return e.Mode.IsDir() }
func (e Entry) Type() fs.FileMode          { return e.Mode }
func (e Entry) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// Restore adds a stored listing of a folder.
func (ls *Listings) Restore(dir string, s Stored) {
	l := &Listing{Writable: s.Writable, stat: s.Stat, text: s.Text, textStat: s.TextStat, Entries: make([]fs.DirEntry, len(s.Entries))}
	for i := range s.Entries {
		l.Entries[i] = &s.Entries[i]
	}
	ls.by[dir] = l
}

// Changed reports whether the listings have changed since the last call. Listings that this process
// has not used are then dropped.
func (ls *Listings) Changed() bool {
	was := ls.changed
	for dir, l := range ls.by {
		if !l.used {
			delete(ls.by, dir)
			was = true
		}
	}
	ls.changed = false
	return was
}

// All yields the listings of all folders.
func (ls *Listings) All(yield func(dir string, s Stored) bool) {
	for dir, l := range ls.by {
		s := Stored{Writable: l.Writable, Stat: l.stat, Text: l.text, TextStat: l.textStat, Entries: make([]Entry, len(l.Entries))}
		for i, e := range l.Entries {
			s.Entries[i] = Entry{e.Name(), e.Type()}
		}
		if !yield(dir, s) {
			return
		}
	}
}

// Len returns the number of listings.
func (ls *Listings) Len() int { return len(ls.by) }

// Of returns the listing of a folder, given by its path in the output. It calls read if the
// listing is not known or out of date.
func (ls *Listings) Of(dir string, read func() ([]fs.DirEntry, error)) (*Listing, error) {
	if ls == nil {
		entries, err := read()
		return &Listing{Entries: entries}, err
	}
	began := time.Now()
	stat := filestat.Stat{}
	if info, err := os.Lstat(filepath.Join(ls.top, filepath.FromSlash(dir))); err == nil {
		stat = filestat.OfFolder(info)
	}
	if l := ls.by[dir]; l != nil && l.stat == stat && stat != (filestat.Stat{}) {
		l.used = true
		return l, nil
	}
	entries, err := read()
	l := &Listing{stat: stat, Entries: entries, used: true}
	delete(ls.by, dir)
	if err == nil && stat.Settled(began) {
		ls.by[dir], ls.changed = l, true
	}
	return l, err
}

// Manifest returns the text of the folder's manifest. It calls look for the metadata of the file
// and read only if the text is not known or out of date.
func (l *Listing) Manifest(look func() (filestat.Stat, error), read func() ([]byte, error)) (string, error) {
	began := time.Now()
	stat, err := look()
	if err == nil && stat == l.textStat && stat != (filestat.Stat{}) {
		return l.text, nil
	}
	data, err := read()
	l.text, l.textStat = string(data), filestat.Stat{}
	if err == nil && stat.Settled(began) {
		l.textStat = stat
	}
	return l.text, err
}
