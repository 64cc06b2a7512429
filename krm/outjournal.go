package krm

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// journalName is the staging folder's name from the moment on at which its files must reach the output. It is how a
// folder that cannot be exchanged as a whole changes in one step: before the rename to this name the old state counts,
// after it the new one, and whoever finds a journal completes it.
const journalName = ".krmflow-journal"

// commitJournal turns the staging folder into the journal, at name in dir, and carries it out.
func (o *Output) commitJournal(dir *os.Root, name string) error {
	if err := dir.Rename(o.stageName, name); err != nil {
		return err
	}
	o.stageName = ""
	if err := rollForward(o.out); err != nil {
		return fmt.Errorf("the next run will complete this one, which stopped half-way: %w", withoutPath(err))
	}
	return nil
}

// rollForward carries out the journal in out, if there is one. It may stop anywhere and start again: removed files may
// be missing, moved ones are no longer in the journal, and the manifest moves last.
func rollForward(out *os.Root) error {
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
	if err == nil {
		err = carryOut(out, journal, next)
	} else if notExist(err) {
		err = nil
	}
	journal.Close() // before the folder goes: some systems do not remove what is open
	if err != nil {
		return err
	}
	return out.RemoveAll(journalName)
}

func carryOut(out, journal *os.Root, next manifest) error {
	old, err := readManifest(out)
	if err != nil {
		old = manifest{} // nothing is ours to remove
	}
	if err := removeStale(out, old, next); err != nil {
		return err
	}
	for _, root := range sortedKeys(next) {
		if err := moveFiles(out, journal, root, next[root]); err != nil {
			return err
		}
	}
	return out.Rename(path.Join(journalName, manifestName), manifestName)
}

// removeStale removes the files of old that are not in next, and the folders that this leaves empty.
func removeStale(out *os.Root, old, next manifest) error {
	for root, files := range old {
		for name := range files {
			if _, stays := next[root][name]; stays {
				continue
			}
			if err := out.Remove(path.Join(root, name)); err != nil && !notExist(err) {
				return err
			}
		}
	}
	stay := next.folders()
	gone := sortedKeys(old.folders())
	slices.SortStableFunc(gone, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, dir := range gone {
		if !stay[dir] {
			out.Remove(dir) // fails if files of others are in it, and then it must stay
		}
	}
	return nil
}

func moveFiles(out, journal *os.Root, root string, files map[string]Digest) error {
	info, err := journal.Lstat(root)
	if notExist(err) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if root != "." {
		if err := out.MkdirAll(root, 0o777); err != nil {
			return err
		}
	}
	for name := range files {
		file := path.Join(root, name)
		info, err := journal.Lstat(file)
		if notExist(err) || err == nil && !info.Mode().IsRegular() {
			continue // moved already, or a kept entry that somebody replaced by a link
		}
		if err != nil {
			return err
		}
		if err := out.Rename(path.Join(journalName, file), file); err != nil {
			return err
		}
	}
	return nil
}
