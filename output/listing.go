package output

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/krmflow/krmflow/internal/filestat"
)

// listings are what the folders of an output had when an earlier run of this process has looked. A nil one knows nothing.
type listings struct {
	top string // the absolute path of the output
	by  map[string]*listing
}

// A listing is what a folder had when the file system said this of it: as long as it says so, nothing has come or gone there.
type listing struct {
	stat     filestat.Stat
	entries  []fs.DirEntry
	writable bool          // that was asked, and nothing was wrong
	same     bool          // its files were those that its manifest lists
	text     string        // of its manifest
	textStat filestat.Stat // of the file that has it
}

// of returns what is in a folder: what is known, or what read returns.
func (ls *listings) of(dir string, read func() ([]fs.DirEntry, error)) (*listing, error) {
	if ls == nil {
		entries, err := read()
		return &listing{entries: entries}, err
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
	l := &listing{stat: stat, entries: entries}
	delete(ls.by, dir)
	if err == nil && stat.Settled(began) {
		ls.by[dir] = l
	}
	return l, err
}

// manifest returns the text of the manifest in a folder, from what is known if the file was not touched. name is the path of that file.
func (l *listing) manifest(top *folder, name string, read func() ([]byte, error)) (string, error) {
	began := time.Now()
	stat, _, err := top.stat(name)
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

// isSame reports whether an earlier run of this process has found the files in a folder as its manifest lists them, and nothing has come or gone since.
func (ls *listings) isSame(dir string) bool {
	return ls != nil && ls.by[dir] != nil && ls.by[dir].same
}

func (ls *listings) setSame(dir string) {
	if ls != nil && ls.by[dir] != nil {
		ls.by[dir].same = true
	}
}
