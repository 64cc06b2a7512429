package output

import (
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
)

// A found is the result of [discover].
type found struct {
	*manifest.Manifest
	bad     string // the invalid manifest, if an error concerns one
	entries map[string]*known.Listing
	known   map[string]bool // folders to search
	all     bool            // search all folders
	lists   *known.Listings
}

// discover reads the manifests of an output folder. If the folder has no top manifest, only the
// given folders are searched, so that a folder unrelated to krmflow is not walked. A nested
// folder with a top manifest is a separate output and is skipped.
func discover(out *os.Root, folders map[string]bool, lists *known.Listings) (*found, error) {
	f := &found{Manifest: manifest.New(), entries: map[string]*known.Listing{}, known: folders, lists: lists}
	top, err := openFolder(out, ".")
	if err != nil {
		return f, fmt.Errorf("%s: %w", names.Show("."), withoutPath(err))
	}
	defer top.close()
	return f, f.look(top, ".", func() (*folder, error) { return top, nil })
}

// look searches the folder dir of top. open opens the folder and is called only if something must
// be read.
func (f *found) look(top *folder, dir string, open func() (*folder, error)) error {
	seen, err := f.lists.Of(dir, func() ([]fs.DirEntry, error) {
		d, err := open()
		if err != nil {
			return nil, err
		}
		return d.entries()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", names.Show(dir), withoutPath(err))
	}
	entries := seen.Entries
	for _, e := range entries {
		if e.Name() != manifest.Name {
			continue
		}
		text, err := seen.Manifest(func() (filestat.Stat, error) {
			stat, _, err := top.stat(path.Join(dir, manifest.Name))
			return stat, err
		}, func() ([]byte, error) {
			d, err := open()
			if err != nil {
				return nil, err
			}
			return d.readWhole(manifest.Name, nil, manifest.MaxSize)
		})
		if dir != "." && err == nil && manifest.IsTop(text) {
			return nil
		}
		if err == nil {
			err = f.Read(dir, text)
		}
		if err != nil {
			f.bad = path.Join(dir, manifest.Name)
			return err
		}
		if dir == "." && manifest.IsOld(text) {
			for lead := range f.Folders() {
				f.known[lead] = true
			}
		} else if dir == "." {
			f.all = true
		}
	}
	f.entries[dir] = seen
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		name := path.Join(dir, e.Name())
		if !f.all && !f.known[name] || dir == "." && (e.Name() == journalName || isStageName(e.Name(), "") || e.Name() == ".git") {
			continue
		}
		var sub *folder // opened on demand
		err := f.look(top, name, func() (_ *folder, err error) {
			if sub == nil {
				var d *folder
				if d, err = open(); err == nil {
					sub, err = d.sub(e.Name())
				}
			}
			return sub, err
		})
		sub.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the listing of a folder, reusing discover's if possible.
func (f *found) list(out *os.Root, dir string, lists *known.Listings) (*known.Listing, error) {
	if f != nil && f.entries[dir] != nil {
		return f.entries[dir], nil
	}
	return lists.Of(dir, func() ([]fs.DirEntry, error) { return listFolder(out, dir) })
}

// refuse converts an error of discover to a [*RefusedError] for the folder dir.
func (f *found) refuse(dir string, err error) error {
	if f.bad != "" {
		return badManifest(path.Join(dir, f.bad), err)
	}
	return &RefusedError{Path: dir, Reason: withoutPath(err).Error()}
}

// badManifest refuses a folder with an invalid manifest: without it, the files written by krmflow
// are unknown.
func badManifest(file string, err error) error {
	return &RefusedError{Path: file, Reason: fmt.Sprintf("bad manifest: %v", withoutPath(err)),
		Hint: "it lists the files that krmflow wrote: restore it, or remove it to let krmflow take over the files that match its output"}
}
