package output

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// journalName is the staging folder's name from the moment on at which its files must reach the output. So a folder that
// cannot be exchanged as a whole still changes in one step: before the rename to this name the old state counts, after it the
// new one, and whoever finds a journal completes it. The journal needs no list of what to do: the files that are in it are to be
// moved, its manifest says which ones stay, and the manifest of the folder which ones were there.
const journalName = ".krmflow-journal"

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
// again: what is removed may be missing, what was moved is no longer in the journal, and the manifest moves last, so that until
// then the old one says what to remove. A folder from somebody else may hold a journal that krmflow did not make. Therefore
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
	next, err := readManifest(journal)
	switch {
	case err == nil:
		err = carryOut(out, journal, next, dir, force)
	case notExist(err): // it moved already
		err = nil
	default:
		err = badManifest(path.Join(dir, journalName), err)
	}
	journal.Close() // before the folder goes: some systems do not remove what is open
	if err != nil {
		return err
	}
	return out.RemoveAll(journalName)
}

func carryOut(out, journal *os.Root, next manifest, dir string, force bool) error {
	old, err := readManifest(out)
	if err != nil && !notExist(err) {
		return badManifest(dir, err)
	}
	put := make(map[string][]string, len(next))
	for root, files := range next {
		put[root] = inJournal(journal, root, files)
	}
	if err := refuseLosses(dir, losses(out, old, next, put), force); err != nil {
		return err
	}
	if err := removeStale(out, old, next); err != nil {
		return err
	}
	for _, root := range slices.Sorted(maps.Keys(put)) {
		if err := moveFiles(out, root, put[root]); err != nil {
			return err
		}
	}
	return out.Rename(path.Join(journalName, manifestName), manifestName)
}

// inJournal returns which files of a root are in the journal. The others were moved already, or are kept.
func inJournal(journal *os.Root, root string, files map[string]record) []string {
	if checkPlain(journal, root) != nil {
		return nil
	}
	var names []string
	for name := range files {
		if info, err := journal.Lstat(path.Join(root, name)); err == nil && info.Mode().IsRegular() {
			names = append(names, name)
		}
	}
	return names
}

// removeStale removes the files of old that are not in next, and the folders that this leaves empty.
func removeStale(out *os.Root, old, next manifest) error {
	for root, files := range old {
		if checkPlain(out, root) != nil {
			continue
		}
		for name := range files {
			if _, stays := next[root][name]; stays {
				continue
			}
			if err := removeFile(out, path.Join(root, name)); err != nil {
				return err
			}
		}
	}
	stay := next.folders()
	gone := slices.Sorted(maps.Keys(old.folders()))
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

// moveFiles moves files of root from the journal.
func moveFiles(out *os.Root, root string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	err := checkPlain(out, root)
	if notExist(err) {
		err = out.MkdirAll(root, 0o777)
	}
	for _, name := range names {
		if err == nil {
			file := path.Join(root, name)
			err = out.Rename(path.Join(journalName, file), file)
		}
	}
	return err
}
