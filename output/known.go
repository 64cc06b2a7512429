package output

import (
	"maps"
	"path"
	"runtime"
	"slices"
	"time"

	"io/fs"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/manifest"
)

// learn records the metadata of the files in the part of the folder that was just committed. It
// records files that this run wrote, if they did not change after they became visible, and files
// that were already known and were only linked. Files of kept roots are not recorded, because
// their content was not verified.
func (o *Dir) learn(part string) error {
	k := o.opts.Known
	if k == nil || o.parent == nil {
		return nil
	}
	was := k.Forget(func(dir string) bool { return isIn(dir, part) })
	top, err := openFolder(o.parent, o.base)
	defer top.close()
	if err != nil || !filestat.MaySettle(o.began) { // all of part was written later
		return nil
	}
	return inParallel(maps.Keys(o.roots), func(root string) error {
		for dir, files := range o.roots[root].folders {
			if o.roots[root].kept || !isIn(dir, part) {
				continue
			}
			linked := map[string]bool{}
			for _, name := range files.same {
				linked[name] = true
			}
			for name, rec := range files.files {
				file := path.Join(dir, name)
				stat, _, err := top.stat(file)
				if err == nil && stat.Settled(o.shownAt) && (!linked[name] || was[file].IsLinked(stat, rec)) {
					k.Add(file, stat, rec)
				}
			}
		}
		return nil
	})
}

// Files returns a digest of the paths and records of a root's files. It is valid after [Dir.Put]
// or [Dir.Reuse].
func (o *Dir) Files(root string) krm.Digest {
	o.mu.Lock()
	defer o.mu.Unlock()
	files := map[string]map[string]manifest.Record{}
	if st := o.roots[path.Clean(root)]; st != nil {
		for dir, f := range st.folders {
			files[dir] = f.files
		}
	}
	return manifest.Digest(files)
}

// Reuse replaces [Dir.Put] if the digest of the files it would write is known from [Dir.Files] of
// an earlier run. If the folder does not have exactly these files, Reuse does nothing and returns
// false. It can be called concurrently for different roots, but not with Put or Keep.
func (o *Dir) Reuse(root string, files krm.Digest) (bool, error) {
	root = path.Clean(root)
	if o.out == nil || !o.old.Roots[root] || o.old.Torn[root] {
		return false, nil
	}
	have := map[string]map[string]manifest.Record{}
	for _, dir := range o.old.Of(root) {
		have[dir] = o.old.Files[dir]
	}
	if manifest.Digest(have) != files {
		return false, nil
	}
	for dir, records := range have {
		top, err := o.opened()
		if err != nil || !o.has(top, dir, records) {
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

// opened opens the output folder once, for Reuse.
func (o *Dir) opened() (top *folder, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.top == nil {
		o.top, err = openFolder(o.out, ".")
	}
	return o.top, err
}

// has reports whether a folder has all these files.
func (o *Dir) has(top *folder, dir string, records map[string]manifest.Record) bool {
	var d *folder // opened on demand
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
		if o.opts.Known.Is(file, stat, rec) {
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
		if stat.Settled(at) {
			o.opts.Known.Add(file, stat, rec)
		}
	}
	return true
}

// private reports whether a file with a Secret is readable only for its owner; see
// [rootWriter.onDisk].
func (o *Dir) private(rec manifest.Record, mode fs.FileMode) bool {
	return !rec.Secret || mode&0o077 == 0 || runtime.GOOS == "windows" || o.opts.Check
}
