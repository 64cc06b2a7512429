package output

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/output/manifest"
)

// journalName is the staging folder's name from the moment on at which its files must reach the output. So a folder that
// cannot be exchanged as a whole still changes in one step: before the rename to this name the old state counts, after it the
// new one, and whoever finds a journal completes it. The journal needs no list of what to do: the files and manifests that are in it are to
// be moved, nextName says which ones stay, and the manifests of the folder which ones were there.
const journalName = ".krmflow-journal"

// nextName is the file of a journal that has the manifests of all roots. It goes when all is done. Journals of earlier versions have their only
// manifest in the place of the new one.
const nextName = manifest.Reserved + "next"

// commitJournal turns the staging folder into the journal, at name in dir, and carries it out.
func (o *Dir) commitJournal(dir *os.Root, name string) error {
	if err := dir.Rename(o.stageName, name); err != nil {
		return err
	}
	o.stageName = ""
	if err := rollForward(o.out, o.dir, o.opts.Force); err != nil {
		return fmt.Errorf("the next run will complete this one, which stopped half-way: %w", withoutPath(err))
	}
	return nil
}

// rollForward carries out the journal in out, if there is one; messages call the folder dir. It may stop anywhere and start
// again: what is removed may be missing, what was moved is no longer in the journal, and manifests move when the files of all roots
// have, so that until then the old ones say what to remove. A folder from somebody else may hold a journal that krmflow did not make. Therefore
// a journal is refused if it would replace or remove what krmflow did not write, or, without force, what was changed since.
func rollForward(out *os.Root, dir string, force bool) error {
	info, err := out.Lstat(journalName)
	if notExist(err) || err == nil && !info.IsDir() {
		return nil // anything but a folder is not ours, and is found by the scan
	}
	if err != nil {
		return err
	}
	journal, err := out.OpenRoot(journalName)
	if err != nil {
		return err
	}
	next, name, err := readNext(journal)
	switch {
	case err == nil:
		err = carryOut(out, journal, next, name, dir, force)
	case notExist(err): // all is done already
		err = nil
	default:
		err = badManifest(path.Join(dir, journalName, name), err)
	}
	journal.Close() // before the folder goes: some systems do not remove what is open
	if err != nil {
		return err
	}
	return out.RemoveAll(journalName)
}

// readNext returns what the folder will have when the journal is carried out, and the name of the file that says so.
func readNext(journal *os.Root) (*manifest.Manifest, string, error) {
	name := nextName
	text, err := readText(journal, name)
	if notExist(err) {
		name = manifest.Name
		if text, err = readText(journal, name); err == nil && !manifest.IsOld(text) {
			err = fs.ErrNotExist
		}
	}
	next := manifest.New()
	if err == nil {
		err = next.Read(".", text)
	}
	return next, name, err
}

func readText(dir *os.Root, name string) (string, error) {
	d, err := openFolder(dir, ".")
	if err != nil {
		return "", err
	}
	defer d.close()
	text, err := d.readWhole(name, nil, manifest.MaxSize)
	return string(text), err
}

// carryOut makes out what next says; the last step ends the journal.
func carryOut(out, journal *os.Root, next *manifest.Manifest, last, dir string, force bool) error {
	now, err := discover(out, next.Folders(), nil)
	if err != nil {
		return now.refuse(dir, err)
	}
	old := now.Manifest
	put := make(map[string][]string, len(next.Files))
	for folder, files := range next.Files {
		put[folder] = inJournal(journal, folder, slices.Collect(maps.Keys(files)))
	}
	if err := refuseLosses(dir, losses(out, old, next, put), force); err != nil {
		return err
	}
	if err := removeStale(out, old, next); err != nil {
		return err
	}
	for _, folder := range slices.Sorted(maps.Keys(put)) {
		if err := moveFiles(out, folder, put[folder]); err != nil {
			return err
		}
	}
	if last == manifest.Name {
		return out.Rename(path.Join(journalName, last), last)
	}
	for _, root := range slices.Backward(append([]string{"."}, slices.Sorted(maps.Keys(next.Roots))...)) { // "." comes last: it tells of all
		if err := moveFiles(out, root, inJournal(journal, root, []string{manifest.Name})); err != nil {
			return err
		}
	}
	return out.Remove(path.Join(journalName, last))
}

// inJournal returns which files of a folder are in the journal. The others were moved already, or are kept.
func inJournal(journal *os.Root, dir string, files []string) []string {
	if checkPlain(journal, dir) != nil {
		return nil
	}
	var there []string
	for _, name := range files {
		if info, err := journal.Lstat(path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			there = append(there, name)
		}
	}
	return there
}

// removeStale removes the files and manifests of old that are not in next, and the folders that this leaves empty.
func removeStale(out *os.Root, old, next *manifest.Manifest) error {
	for dir, files := range old.Files {
		if checkPlain(out, dir) != nil {
			continue
		}
		for name := range files {
			if _, stays := next.Files[dir][name]; stays {
				continue
			}
			if err := removeFile(out, path.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for root := range old.Roots { // when their files are gone: until then they say whose these are
		if next.Roots[root] || root == "." || checkPlain(out, root) != nil {
			continue
		}
		if err := removeFile(out, path.Join(root, manifest.Name)); err != nil {
			return err
		}
	}
	stay := next.Folders()
	gone := slices.Sorted(maps.Keys(old.Folders()))
	slices.SortStableFunc(gone, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, dir := range gone {
		if !stay[dir] && checkPlain(out, dir) == nil {
			out.Remove(dir) // fails if files of others are in it, and then it must stay
		}
	}
	return nil
}

// removeFile removes a file or a link, if there is one.
func removeFile(out *os.Root, file string) error {
	info, err := out.Lstat(file)
	if err == nil && (info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0) {
		err = out.Remove(file)
	}
	if notExist(err) {
		return nil
	}
	return err
}

// moveFiles moves files of a folder from the journal.
func moveFiles(out *os.Root, dir string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	err := checkPlain(out, dir)
	if notExist(err) {
		err = out.MkdirAll(dir, 0o777)
	}
	for _, name := range files {
		if err == nil {
			file := path.Join(dir, name)
			err = out.Rename(path.Join(journalName, file), file)
		}
	}
	return err
}
