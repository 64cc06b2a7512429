// Package known remembers what the files of an output folder are, so that those that nobody has touched need not be read.
package known

import (
	"maps"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/manifest"
)

// Files are the files of an output folder that are known from earlier runs, by their paths in it. A nil one knows nothing, and learns
// nothing. It belongs to one run at a time, and is not safe for concurrent use.
type Files struct {
	// By has them by their paths.
	By map[string]File
	// Changed tells that By is not what it was.
	Changed bool
	// Lists are what the folders have, for a process that writes the output several times; nil for any other.
	Lists *Listings
}

// A File had this content when the file system said this of it.
type File struct {
	Stat filestat.Stat
	Sum  krm.Digest // that of its record in the manifest
}

// New returns Files without any.
func New() *Files { return &Files{By: map[string]File{}} }

// Is reports whether a file that the file system says stat of has the content of rec.
func (f *Files) Is(file string, stat filestat.Stat, rec manifest.Record) bool {
	if f == nil || stat == (filestat.Stat{}) {
		return false
	}
	was, ok := f.By[file]
	return ok && was == File{stat, rec.Sum}
}

// Add remembers that a file with this Stat, which must be settled, has the content of rec.
func (f *Files) Add(file string, stat filestat.Stat, rec manifest.Record) {
	if f != nil {
		f.By[file], f.Changed = File{stat, rec.Sum}, true
	}
}

// Forget forgets the files in the folders that in reports, and returns them.
func (f *Files) Forget(in func(dir string) bool) map[string]File {
	gone := map[string]File{}
	maps.DeleteFunc(f.By, func(file string, is File) bool {
		dir, _ := manifest.Split(file)
		if in(dir) {
			gone[file] = is
			return true
		}
		return false
	})
	f.Changed = f.Changed || len(gone) > 0
	return gone
}

// IsLinked reports whether a file that the file system says stat of has the content of rec because it is f, which got another name meanwhile: that
// changes nothing but the time of the last change that is not one of the content.
func (f File) IsLinked(stat filestat.Stat, rec manifest.Record) bool {
	f.Stat.Ctime = stat.Ctime
	return f == File{stat, rec.Sum}
}
