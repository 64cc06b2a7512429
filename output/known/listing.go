package known

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
)

// Listings are folder listings from an earlier run of this process. A nil Listings is empty.
type Listings struct {
	top string
	by  map[string]*Listing
}

// NewListings returns empty Listings for the output at an absolute path.
func NewListings(top string) *Listings { return &Listings{top, map[string]*Listing{}} }

// Top returns the path of the output.
func (ls *Listings) Top() string { return ls.top }

// A Listing is the content of a folder together with its metadata. While the metadata stays the
// same, no entry was added or removed.
type Listing struct {
	Entries []fs.DirEntry
	// Writable is true if the folder was found to be writable.
	Writable bool

	stat     filestat.Stat
	same     bool          // its files match its manifest
	text     string        // of the manifest
	textStat filestat.Stat // of the manifest file
}

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
	if l := ls.by[dir]; l != nil && l.stat == stat {
		return l, nil
	}
	entries, err := read()
	l := &Listing{stat: stat, Entries: entries}
	delete(ls.by, dir)
	if err == nil && stat.Settled(began) {
		ls.by[dir] = l
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

// IsSame reports whether an earlier run of this process called SetSame for the current listing of
// a folder.
func (ls *Listings) IsSame(dir string) bool {
	return ls != nil && ls.by[dir] != nil && ls.by[dir].same
}

// SetSame records that the files in a folder match its manifest.
func (ls *Listings) SetSame(dir string) {
	if ls != nil && ls.by[dir] != nil {
		ls.by[dir].same = true
	}
}
