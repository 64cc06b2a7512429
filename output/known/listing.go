package known

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
)

// Listings are what the folders of an output had when an earlier run of this process has looked. A nil one knows nothing.
type Listings struct {
	top string
	by  map[string]*Listing
}

// NewListings returns what is known of the folders of an output, by its absolute path: nothing.
func NewListings(top string) *Listings { return &Listings{top, map[string]*Listing{}} }

// Top returns the path of the output.
func (ls *Listings) Top() string { return ls.top }

// A Listing is what a folder had when the file system said this of it: as long as it says so, nothing has come or gone there.
type Listing struct {
	Entries []fs.DirEntry
	// Writable tells that the folder was found to be.
	Writable bool

	stat     filestat.Stat
	same     bool          // its files were those that its manifest lists
	text     string        // of its manifest
	textStat filestat.Stat // of the file that has it
}

// Of returns what is in a folder, by its path in the output: what is known, or what read returns.
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

// Manifest returns the text of the manifest in a folder, from what is known if the file system says of the file what it said then.
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

// IsSame reports whether an earlier run of this process has found the files in a folder as its manifest lists them, and nothing has come or gone since.
func (ls *Listings) IsSame(dir string) bool {
	return ls != nil && ls.by[dir] != nil && ls.by[dir].same
}

// SetSame says that the files in a folder are those that its manifest lists.
func (ls *Listings) SetSame(dir string) {
	if ls != nil && ls.by[dir] != nil {
		ls.by[dir].same = true
	}
}
