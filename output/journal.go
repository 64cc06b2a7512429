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

// journalName is the name of a staging folder that is committed. Renaming the staging folder to
// it makes a change atomic if the output cannot be exchanged as a whole: before the rename the
// old state is valid, after it the new state, and the next process that finds a journal completes
// it.
//
// The journal needs no list of operations. Its files and manifests are to be moved into the
// output, its nextName file lists the files that remain, and the manifests in the output list the
// files that were there before.
const journalName = ".krmflow-journal"

// staleName is the folder of a journal with a folder for each folder of the output that is removed.
const staleName = manifest.Reserved + "stale"

// nextName is the file of a journal with the manifests of all roots. It is removed last. Journals
// of earlier versions have their only manifest under the name of the new one instead.
const nextName = manifest.Reserved + "next"

// commitJournal renames the staging folder to the journal, at name in dir, and completes it.
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

// rollForward completes the journal in out, if there is one. dir is the name of the folder in
// messages.
//
// It can be interrupted at any point and started again: files to remove may already be missing,
// moved files are no longer in the journal, and manifests are moved after the files of all roots,
// so that until then the old ones list the files to remove.
//
// A folder from an untrusted source may contain a forged journal. A journal is therefore refused
// if it would replace or remove files that krmflow did not write or, without force, files that
// were edited since.
func rollForward(out *os.Root, dir string, force bool) error {
	info, err := out.Lstat(journalName)
	if notExist(err) || err == nil && !info.IsDir() {
		return nil // not ours; reported by the scan
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
	case notExist(err): // already completed
		err = nil
	default:
		err = badManifest(path.Join(dir, journalName, name), err)
	}
	journal.Close() // before removing it, because some systems cannot remove an open folder
	if err != nil {
		return err
	}
	return out.RemoveAll(journalName)
}

// readNext returns the manifest of the folder after completion of the journal, and the name of
// the file with it.
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

// carryOut changes out to the state in next. Its last step removes or moves the file last, which
// ends the journal.
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
	if err := removeStale(out, journal, old, next); err != nil {
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
	// "." comes last, because it marks the folder as a complete output.
	for _, root := range slices.Backward(append([]string{"."}, slices.Sorted(maps.Keys(next.Roots))...)) {
		if err := moveFiles(out, root, inJournal(journal, root, []string{manifest.Name})); err != nil {
			return err
		}
	}
	return out.Remove(path.Join(journalName, last))
}

// inJournal returns the files that are in a folder of the journal. All others were already moved,
// or are kept.
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

// removeStale removes the files and manifests of old that are not in next, and the folders that
// become empty. The journal lists these folders first: without a manifest, the next run cannot
// recognise them.
func removeStale(out, journal *os.Root, old, next *manifest.Manifest) error {
	stay := next.Folders()
	for dir := range old.Folders() {
		if !stay[dir] {
			if err := journal.MkdirAll(path.Join(staleName, dir), 0o777); err != nil {
				return err
			}
		}
	}
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
	for root := range old.Roots { // after their files, because the manifests prove that these are krmflow's
		if next.Roots[root] || root == "." || checkPlain(out, root) != nil {
			continue
		}
		if err := removeFile(out, path.Join(root, manifest.Name)); err != nil {
			return err
		}
	}
	var folders []string
	err := fs.WalkDir(journal.FS(), staleName, func(name string, e fs.DirEntry, err error) error {
		if dir, ok := strings.CutPrefix(name, staleName+"/"); ok && err == nil && e.IsDir() {
			folders = append(folders, dir)
		}
		return err
	})
	if notExist(err) { // no folder is removed
		err = nil
	}
	for _, dir := range slices.Backward(folders) { // children before their parents
		if !stay[dir] && checkPlain(out, dir) == nil {
			out.Remove(dir) // fails for a folder with foreign files, which must stay
		}
	}
	return err
}

// removeFile removes a regular file or a symbolic link. A missing file is not an error.
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

// moveFiles moves files of a folder from the journal to the output.
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
