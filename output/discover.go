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

// A found is what [discover] has seen.
type found struct {
	*manifest.Manifest
	bad     string // the manifest that an error is about, "" if it is about something else
	entries map[string]*known.Listing
	known   map[string]bool // folders to look into
	all     bool            // to look into every folder
	lists   *known.Listings
}

// discover reads the manifests of an output folder. Without one of the whole folder it looks into known folders alone, so that a folder that has
// nothing to do with krmflow is not searched. A folder with a manifest of a whole output is one of its own.
func discover(out *os.Root, folders map[string]bool, lists *known.Listings) (*found, error) {
	f := &found{Manifest: manifest.New(), entries: map[string]*known.Listing{}, known: folders, lists: lists}
	top, err := openFolder(out, ".")
	if err != nil {
		return f, fmt.Errorf("%s: %w", names.Show("."), withoutPath(err))
	}
	defer top.close()
	return f, f.look(top, ".", func() (*folder, error) { return top, nil })
}

// look looks into the folder dir of top, which open opens.
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
		var sub *folder // opened when something must be read
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

// list returns what is in a folder, from what was seen if that was.
func (f *found) list(out *os.Root, dir string, lists *known.Listings) (*known.Listing, error) {
	if f != nil && f.entries[dir] != nil {
		return f.entries[dir], nil
	}
	return lists.Of(dir, func() ([]fs.DirEntry, error) { return listFolder(out, dir) })
}

// refuse returns err of discover as the reason to refuse the folder that messages call dir.
func (f *found) refuse(dir string, err error) error {
	if f.bad != "" {
		return badManifest(path.Join(dir, f.bad), err)
	}
	return &RefusedError{Path: dir, Reason: withoutPath(err).Error()}
}

// badManifest refuses a folder with a manifest that cannot be read: nobody knows then which files are krmflow's.
func badManifest(file string, err error) error {
	return &RefusedError{Path: file, Reason: fmt.Sprintf("bad manifest: %v", withoutPath(err)),
		Hint: "it tells which files krmflow wrote: restore it; or remove it, and krmflow takes over the files that are what it would write"}
}
