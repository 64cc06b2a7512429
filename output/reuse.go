package output

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"time"

	"github.com/krmflow/krmflow/internal/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/listing"
	"github.com/krmflow/krmflow/output/manifest"
)

// Known is what is known of the files of an output folder from earlier runs, so that a file that was not touched need not be read. A
// nil one knows nothing. It belongs to one [Dir] at a time.
type Known struct {
	// Files are the files, by their paths in the folder.
	Files map[string]KnownFile
	// Changed tells that Files is not what it was.
	Changed bool

	lists *listing.Listings
}

// A KnownFile is a file that had these contents when the file system said this of it.
type KnownFile struct {
	Stat filestat.Stat
	Sum  krm.Digest
}

// is reports whether a file that the file system says stat of has the content of rec.
func (k *Known) is(file string, stat filestat.Stat, rec manifest.Record) bool {
	if k == nil || stat == (filestat.Stat{}) {
		return false
	}
	was, ok := k.Files[file]
	return ok && was.Stat == stat && was.Sum == rec.Sum
}

// keep tells that some of the files are not known that the folder has.
func (k *Known) keep(m *manifest.Manifest) {
	if k == nil {
		return
	}
	n := 0
	for _, files := range m.Files {
		n += len(files)
	}
	k.Changed = k.Changed || n != len(k.Files)
}

// learn looks at all files of a part of the folder that was written just now.
func (k *Known) learn(parent *os.Root, base string, m *manifest.Manifest, part string) {
	if k == nil || parent == nil {
		return
	}
	k.Changed = true
	maps.DeleteFunc(k.Files, func(file string, _ KnownFile) bool {
		dir, _ := manifest.Split(file)
		return isIn(dir, part)
	})
	out, err := parent.OpenRoot(base)
	if err != nil {
		return
	}
	defer out.Close()
	for dir, files := range m.Files {
		if !isIn(dir, part) {
			continue
		}
		d, err := openFolder(out, dir)
		if err != nil {
			continue
		}
		now := time.Now()
		for name, rec := range files {
			if stat, _, err := d.stat(name); err == nil && stat.Settled(now) {
				k.Files[path.Join(dir, name)] = KnownFile{stat, rec.Sum}
			}
		}
		d.close()
	}
}

// Files returns a digest of the files that a root has after [Dir.Put] or [Dir.Reuse]: their paths and records.
func (o *Dir) Files(root string) krm.Digest {
	o.mu.Lock()
	defer o.mu.Unlock()
	st := o.roots[path.Clean(root)]
	if st == nil {
		return krm.Digest{}
	}
	files := make(map[string]map[string]manifest.Record, len(st.folders))
	for dir, f := range st.folders {
		files[dir] = f.files
	}
	return digestOf(files)
}

func digestOf(folders map[string]map[string]manifest.Record) krm.Digest {
	h := sha256.New()
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		fmt.Fprintf(h, "%q\n", dir)
		for _, name := range slices.Sorted(maps.Keys(folders[dir])) {
			rec := folders[dir][name]
			io.WriteString(h, name)
			h.Write([]byte{0, 0})
			if rec.Secret {
				h.Write([]byte{1})
			}
			h.Write(rec.Sum[:])
		}
	}
	return krm.Digest(h.Sum(nil))
}

// Reuse is [Dir.Put] of a list whose files are those of this digest of [Dir.Files]. It reports false, and does nothing, if these
// are not the files that the folder has. It must not be called while Put or Keep are.
func (o *Dir) Reuse(root string, files krm.Digest) (bool, error) {
	root = path.Clean(root)
	if o.out == nil || !o.old.Roots[root] || o.old.Torn[root] {
		return false, nil
	}
	have := map[string]map[string]manifest.Record{}
	for _, dir := range o.old.Of(root) {
		have[dir] = o.old.Files[dir]
	}
	if digestOf(have) != files {
		return false, nil
	}
	var top *folder // opened if something must be looked at
	defer func() { top.close() }()
	for dir, records := range have {
		if o.lists().IsSame(dir) {
			continue
		}
		if top == nil {
			var err error
			if top, err = openFolder(o.out, "."); err != nil {
				return false, nil
			}
		}
		if !o.has(top, dir, records) {
			return false, nil
		}
	}
	_, st, err := o.claim(root)
	if err != nil {
		return false, err
	}
	for dir, records := range have {
		st.folders[dir] = &folderState{files: records, same: slices.Collect(maps.Keys(records))}
	}
	return true, nil
}

// has reports whether a folder has all these files.
func (o *Dir) has(top *folder, dir string, records map[string]manifest.Record) bool {
	var d *folder // opened if something must be read
	defer func() { d.close() }()
	var buf []byte
	for name, rec := range records {
		file := name
		if dir != "." {
			file = dir + "/" + name
		}
		stat, _, err := top.stat(file)
		if err != nil || !o.private(rec, stat.Mode) {
			return false
		}
		if o.opts.Known.is(file, stat, rec) {
			continue
		}
		if d == nil {
			if d, err = openFolder(o.out, dir); err != nil {
				return false
			}
		}
		at := time.Now()
		if buf, err = d.readWhole(name, buf, maxFile); err != nil || manifest.RecordOf(file, buf, rec.Secret) != rec {
			return false
		}
		if k := o.opts.Known; k != nil && stat.Settled(at) {
			k.Files[file], k.Changed = KnownFile{stat, rec.Sum}, true
		}
	}
	o.lists().SetSame(dir)
	return true
}

// private reports whether a file with a Secret is for its owner alone: see [rootWriter.onDisk].
func (o *Dir) private(rec manifest.Record, mode fs.FileMode) bool {
	return !rec.Secret || mode&0o077 == 0 || runtime.GOOS == "windows" || o.opts.Check
}
