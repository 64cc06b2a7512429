// Package rewrite changes several files of a directory: all or none. If the process is killed, some
// files may be old and some new until the next process completes the change.
//
// The new contents are first written to a hidden folder of the directory. Renaming that folder to
// [Journal] commits the change: from then on it will be completed. Then each file is renamed to its
// place. After a killed process, [Open] completes the change, and [Pending] reports it to readers.
// Files that do not change are not touched.
//
// Exchanging the whole directory with renameat2 would be atomic. But users edit the directory: it
// holds files that do not belong to krmflow, such as .git, and files that editors have open. They
// would have to be moved or linked, and concurrent writes to them would be lost.
package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/output"
)

// Names of the leftovers of a killed run.
const (
	staging = ".krmflow-run-staging"
	// Journal is the folder of a change that must be completed.
	Journal = ".krmflow-run-journal"
	list    = "files.json" // in the journal
	lock    = ".krmflow-run-lock"
)

// A File is a file to change.
type File struct {
	// Path is relative to the directory and slash-separated.
	Path string
	// Old is the current content, nil if the file does not exist. New is the new content, nil to
	// remove the file.
	Old, New []byte
	// Mode is the mode of an existing file. For a new file, 0 means the default.
	Mode fs.FileMode
}

// An entry is the change of one file in the journal.
type entry struct {
	Path string `json:"path"`
	// Old is the digest of the old content, empty if the file did not exist.
	Old string `json:"old,omitempty"`
	// Staged is the name in the journal of the new file, empty to remove the file.
	Staged string `json:"staged,omitempty"`
	New    string `json:"new,omitempty"`
}

// A Dir is a directory that is locked against changes by other runs.
type Dir struct {
	name   string
	hidden string // the only hidden file that may change
	root   *os.Root
	free   func()
	// Completed is true if Open completed a killed run. Discarded is true if Open removed the
	// files of a killed run that had not changed anything yet.
	Completed, Discarded bool
}

// Open locks a directory and completes the changes of a killed run. The error is an
// [*output.LockedError] while another run holds the lock.
//
// hidden is the path of the only hidden file that may change.
func Open(name, hidden string) (*Dir, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	d := &Dir{name: name, hidden: hidden, root: root}
	if d.free, err = output.Lock(root, lock, name); err != nil {
		root.Close()
		return nil, err
	}
	if err := d.recover(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Pending reports whether changes of a killed run must be completed before the directory is read.
func Pending(name string) bool {
	_, err := os.Lstat(filepath.Join(name, Journal))
	return err == nil
}

// Close unlocks the directory.
func (d *Dir) Close() {
	d.free()
	d.root.Close()
}

func (d *Dir) recover() error {
	if info, err := d.root.Lstat(staging); err == nil && info.IsDir() {
		if err := d.root.RemoveAll(staging); err != nil {
			return err
		}
		d.Discarded = true
	}
	info, err := d.root.Lstat(Journal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return d.refuse(Journal, "is not a folder of an interrupted run: remove it")
	}
	text, err := d.root.ReadFile(path.Join(Journal, list))
	if errors.Is(err, fs.ErrNotExist) { // already completed
		d.Completed = true
		return d.root.RemoveAll(Journal)
	}
	if err != nil {
		return err
	}
	var entries []entry
	if err := json.Unmarshal(text, &entries); err != nil {
		return d.refuse(Journal, "is not a folder of an interrupted run: remove it")
	}
	if err := d.check(entries); err != nil {
		return err
	}
	d.Completed = true
	return d.carryOut(entries)
}

// check refuses a journal that would replace files edited since, or that may not have been
// created here, because it could have come with the directory.
func (d *Dir) check(entries []entry) error {
	for _, e := range entries {
		if !d.mayChange(e.Path) || strings.ContainsAny(e.Staged, `/\.`) {
			return d.refuse(Journal, "is not a folder of an interrupted run: remove it")
		}
		if err := d.plain(e.Path); err != nil {
			return err
		}
		now, err := d.digest(e.Path)
		if err != nil {
			return err
		}
		if now != e.Old && now != e.New {
			return d.refuse(e.Path,
				"was changed after an interrupted run that would have replaced it: remove %s to keep all files as they are",
				filepath.Join(d.name, Journal))
		}
	}
	return nil
}

// mayChange reports whether a run may change the file at a path: it must be inside the directory
// and not hidden. A directory from an untrusted source may contain a forged journal, which must
// not reach .git/hooks.
func (d *Dir) mayChange(p string) bool {
	if !filepath.IsLocal(filepath.FromSlash(p)) || path.Clean(p) != p || strings.Contains(p, `\`) {
		return false
	}
	return p == d.hidden || !strings.HasPrefix(p, ".") && !strings.Contains(p, "/.")
}

// refuse returns the error for a file that must not be written.
func (d *Dir) refuse(p, format string, args ...any) error {
	return &output.RefusedError{Path: filepath.Join(d.name, filepath.FromSlash(p)), Reason: fmt.Sprintf(format, args...)}
}

// plain returns an error if a path leads through a symbolic link or ends in an existing file that
// is not regular.
func (d *Dir) plain(p string) error {
	names := strings.Split(p, "/")
	for i := range names {
		at := path.Join(names[:i+1]...)
		info, err := d.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case i < len(names)-1 && !info.IsDir(), i == len(names)-1 && !info.Mode().IsRegular():
			return d.refuse(at, "is a link or not a regular file: krmflow does not write there")
		}
	}
	return nil
}

// digest returns the digest of a file, or an empty string if it does not exist.
func (d *Dir) digest(p string) (string, error) {
	data, err := d.root.ReadFile(p)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return digestOf(data), err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Write changes the files. After an error nothing has changed, unless the message says otherwise.
func (d *Dir) Write(files []File) error {
	if len(files) == 0 {
		return nil
	}
	entries, err := d.stage(files)
	if err != nil {
		_ = d.root.RemoveAll(staging) // otherwise the next run removes it
		return err
	}
	if err := d.root.Rename(staging, Journal); err != nil {
		_ = d.root.RemoveAll(staging)
		return err
	}
	if err := d.sync("."); err != nil {
		return err
	}
	if err := d.carryOut(entries); err != nil {
		return fmt.Errorf("the next run will complete this one, which stopped half-way: %w", err)
	}
	return nil
}

// stage writes the new contents to the staging folder. It refuses files that were edited since
// they were read.
func (d *Dir) stage(files []File) ([]entry, error) {
	if err := d.root.Mkdir(staging, 0o700); err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for _, f := range files {
		if !d.mayChange(f.Path) {
			return nil, diag.OutsideDirectory.Errorf("%q is outside the directory, or hidden", f.Path)
		}
		if err := d.plain(f.Path); err != nil {
			return nil, err
		}
		addFolders(folders, f.Path)
	}
	if err := d.takes(folders); err != nil {
		return nil, err
	}
	var entries []entry
	for i, f := range files {
		if folders[f.Path] {
			return nil, d.refuse(f.Path, "would be both a file and a folder")
		}
		now, err := d.digest(f.Path)
		if err != nil {
			return nil, err
		}
		e := entry{Path: f.Path}
		if f.Old != nil {
			e.Old = digestOf(f.Old)
		}
		if now != e.Old {
			return nil, d.refuse(f.Path, "was changed while the functions ran; run it again")
		}
		if f.New != nil {
			e.Staged, e.New = strconv.Itoa(i), digestOf(f.New)
			if err := d.create(path.Join(staging, e.Staged), f.New, f); err != nil {
				return nil, err
			}
		}
		entries = append(entries, e)
	}
	text, err := json.Marshal(entries)
	if err == nil {
		err = d.create(path.Join(staging, list), text, File{})
	}
	if err == nil {
		err = d.sync(staging)
	}
	return entries, err
}

// addFolders adds all parents of a path, including ".".
func addFolders(folders map[string]bool, p string) {
	for p = path.Dir(p); !folders[p]; p = path.Dir(p) {
		folders[p] = true
	}
}

// takes returns an error if files cannot be renamed into one of the existing folders. Checking
// first avoids failing halfway.
func (d *Dir) takes(folders map[string]bool) error {
	home, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer home.Close()
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		f, err := d.root.Open(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = canRename(home, f)
		f.Close()
		if err != nil {
			return d.refuse(folder, "cannot move files there: %v", err)
		}
	}
	return nil
}

func (d *Dir) create(p string, data []byte, like File) error {
	f, err := d.root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := d.root.Lstat(like.Path); err == nil && like.Old != nil {
		output.GiveTo(f, info)
	}
	if like.Old != nil || like.Mode != 0 {
		if err := f.Chmod(like.Mode); err != nil {
			return err
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// sync syncs the names in a folder. The files were synced when they were written.
func (d *Dir) sync(folder string) error {
	f, err := d.root.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	// Windows cannot sync folders.
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "windows" {
		return err
	}
	return nil
}

// carryOut moves the files of the journal into place. It can be interrupted at any point and
// started again. The list in the journal is removed last, after all folders are synced.
func (d *Dir) carryOut(entries []entry) error {
	folders := map[string]bool{}
	for _, e := range entries {
		if err := d.carry(e); err != nil {
			return err
		}
		addFolders(folders, e.Path)
	}
	for folder := range folders {
		if err := d.sync(folder); err != nil {
			return err
		}
	}
	if err := d.root.Remove(path.Join(Journal, list)); err != nil {
		return err
	}
	return d.root.RemoveAll(Journal)
}

func (d *Dir) carry(e entry) error {
	if e.Staged == "" {
		if err := d.root.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	from := path.Join(Journal, e.Staged)
	if _, err := d.root.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil // already moved
	}
	if err := d.root.MkdirAll(path.Dir(e.Path), 0o777); err != nil {
		return err
	}
	return d.root.Rename(from, e.Path)
}
