// Package known stores file metadata of an output folder, so that unchanged files need not be
// read again.
package known

import (
	"maps"
	"sync"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/manifest"
)

// Files are the known files of an output folder by path. A nil Files is empty and stores nothing.
// It must be used by one run at a time. Is and Add can be called concurrently.
type Files struct {
	// By has the files by path.
	By map[string]File
	// Changed is true after any change of By.
	Changed bool
	// Lists has the folder listings of earlier runs. It may be nil.
	Lists *Listings

	mu sync.RWMutex
}

// A File is the metadata of a file together with the digest of its content at that time.
type File struct {
	Stat filestat.Stat
	Sum  krm.Digest // digest in the manifest
}

// New returns empty Files.
func New() *Files { return &Files{By: map[string]File{}} }

// Is reports whether a file with this metadata is known to have the content of rec.
func (f *Files) Is(file string, stat filestat.Stat, rec manifest.Record) bool {
	if f == nil || stat == (filestat.Stat{}) {
		return false
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	was, ok := f.By[file]
	return ok && was == File{stat, rec.Sum}
}

// Add records that a file with this metadata, which must be settled, has the content of rec.
func (f *Files) Add(file string, stat filestat.Stat, rec manifest.Record) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.By[file], f.Changed = File{stat, rec.Sum}, true
}

// Forget removes and returns the files in all folders for which in returns true.
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

// IsLinked reports whether a file with this metadata has the content of rec because it is f with
// an additional hard link. Linking changes only the status change time.
func (f File) IsLinked(stat filestat.Stat, rec manifest.Record) bool {
	f.Stat.Ctime = stat.Ctime
	return f == File{stat, rec.Sum}
}
