package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/krmflow/krmflow/internal/sys/flock"
	"github.com/krmflow/krmflow/internal/sys/swap"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
)

// WriteFileAtomic replaces the content of the file at path. A reader, also one after a crash,
// sees either the old or the new content. perm is the mode of a new file before the umask;
// narrower permissions of an existing file are preserved. A symbolic link is replaced and not
// followed. A device, a pipe or a stream of the process (/dev/fd/3) is written to.
//
// The error is a [*RefusedError] for a folder, a [*LockedError] while another run writes the
// file, and otherwise a [*WriteError].
func WriteFileAtomic(path string, data []byte, perm fs.FileMode) error {
	return writeFile(path, data, perm, (*os.File).Sync)
}

// CheckFile returns a [*RefusedError] if [WriteFileAtomic] cannot write to path, as far as that
// can be determined without writing. For a file that is opened and not replaced, such as a pipe,
// it returns nil.
func CheckFile(path string) error {
	through, err := checkFile(path)
	if err != nil || through {
		return err
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case notExist(err):
		return &RefusedError{Path: path, Reason: fmt.Sprintf("the folder %s does not exist", names.Show(dir))}
	case err == nil && !info.IsDir():
		return &RefusedError{Path: path, Reason: fmt.Sprintf("%s is a file, not a folder", names.Show(dir))}
	case err == nil:
		err = swap.CheckWritable(dir)
	}
	if err != nil {
		return &RefusedError{Path: path, Reason: fmt.Sprintf("cannot write to the folder %s: %v", names.Show(dir), withoutPath(err))}
	}
	return nil
}

// checkFile refuses paths that cannot name a file. through reports whether to write to path
// directly and not replace it. This is the case for devices, pipes and streams, but not for other
// symbolic links, whatever their target is.
func checkFile(path string) (through bool, err error) {
	if path == "" {
		return false, &RefusedError{Path: path, Reason: "the output file has no name"}
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() || os.IsPathSeparator(path[len(path)-1]) {
		return false, &RefusedError{Path: path, Reason: "is a folder, not a file"}
	}
	if isStream(path) {
		return true, nil
	}
	info, err = os.Lstat(path)
	return err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0, nil
}

// EditFile replaces the content of the file at path with the result of edit, like
// [WriteFileAtomic]. edit gets the old content, or nil if the file does not exist. perm applies
// only to a new file; an existing file keeps its mode and, if permitted, its owner. Concurrent
// edits by several processes are serialized. The file does not change if edit returns an error or
// the old content.
func EditFile(path string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) error {
	through, err := checkFile(path)
	if err == nil && through {
		err = &RefusedError{Path: path, Reason: "is not a regular file"}
	}
	if err != nil {
		return err
	}
	var failed error // error of edit
	var was fs.FileInfo
	finish := func(f *os.File) error {
		if was != nil {
			GiveTo(f, was)
			if err := f.Chmod(was.Mode()); err != nil {
				return err
			}
		}
		return f.Sync()
	}
	err = replace(path, perm, finish, func() ([]byte, error) {
		old, err := os.ReadFile(path)
		if err == nil {
			was, err = os.Stat(path)
		} else if notExist(err) {
			old, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := edit(old)
		if failed = err; err == nil && old != nil && bytes.Equal(old, data) {
			err = errSame
		}
		return data, err
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, errSame):
		return nil
	}
	return err
}

// ReplaceFile is [WriteFileAtomic] for a file whose content must not be lost. A file that is not
// empty and differs from data is replaced only if mine returns true for the digest of its content;
// otherwise the error is a [*RefusedError]. A nil mine allows every replacement. A file with equal
// content is not replaced, unless other users can read it and perm does not allow that. ReplaceFile
// compares the target of a symbolic link, and replaces the link itself.
func ReplaceFile(path string, data []byte, perm fs.FileMode, mine func(krm.Digest) bool) (Change, error) {
	if through, err := checkFile(path); err != nil || through {
		if err == nil {
			err = writeError(path, writeThrough(path, data))
		}
		return Streamed, err
	}
	var change Change
	err := replace(path, perm, (*os.File).Sync, func() (_ []byte, err error) {
		change, err = replacing(path, data, perm, mine)
		return data, err
	})
	if errors.Is(err, errSame) {
		err = nil
	}
	return change, err
}

// A Change is the result of writing a file.
type Change string

// The changes of a file. Streamed means that the data was written to a pipe or a device.
const (
	Added     Change = "added"
	Changed   Change = "changed"
	Unchanged Change = "unchanged"
	Streamed  Change = "streamed"
)

// replacing returns the change that replacing a file would make. The error is [errSame] if the file
// is up to date, and a [*RefusedError] if it must not be replaced.
func replacing(path string, data []byte, perm fs.FileMode, mine func(krm.Digest) bool) (Change, error) {
	was, err := os.Stat(path)
	switch {
	case err != nil: // missing, or a dangling link
		return Added, nil
	case !was.Mode().IsRegular(), was.Size() == 0:
		return Changed, nil
	}
	sum, err := digestOf(path)
	private := runtime.GOOS == "windows" || was.Mode()&^perm&0o077 == 0 || perm&0o077 != 0
	switch {
	case err == nil && sum == krm.DigestOf(data) && private:
		return Unchanged, errSame
	case mine == nil || err == nil && (sum == krm.DigestOf(data) || mine(sum)):
		return Changed, nil
	case err != nil:
		return "", err
	}
	return "", &RefusedError{Path: path, Reason: "has content that krmflow did not write", Hint: "to replace it, add --force"}
}

func digestOf(path string) (sum krm.Digest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return krm.Digest(h.Sum(nil)), err
}

// errSame reports that a file already has the new content.
var errSame = errors.New("nothing changes")

// WriteFile is [WriteFileAtomic] without a sync: after a system crash, the file can be empty.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return writeFile(path, data, perm, nil)
}

func writeFile(path string, data []byte, perm fs.FileMode, finish func(*os.File) error) error {
	through, err := checkFile(path)
	if err != nil {
		return err
	}
	if through {
		return writeError(path, writeThrough(path, data))
	}
	return replace(path, perm, finish, func() ([]byte, error) { return data, nil })
}

// replace replaces a file with the result of content. Other processes of krmflow cannot replace
// the file at the same time. finish, if not nil, is called with the new file before it is renamed
// to path.
func replace(path string, perm fs.FileMode, finish func(*os.File) error, content func() ([]byte, error)) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return writeError(path, err)
	}
	defer dir.Close()
	name := filepath.Base(path)
	err = replaceFile(dir, name, content, perm, finish)
	switch {
	case errors.Is(err, flock.ErrBusy):
		return &LockedError{Path: path}
	case errors.Is(err, flock.ErrNotOurs):
		return &RefusedError{Path: filepath.Join(filepath.Dir(path), tempNameOf(name)), Reason: flock.ErrNotOurs.Error(), Hint: removeHint}
	}
	return writeError(path, err)
}

// isStream reports whether path names an open file of a process. Such a link must not be
// replaced, even if it leads to a regular file. Other links in these directories are ordinary
// files of a user.
func isStream(path string) bool {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	return path == "/dev/stdout" || path == "/dev/stderr" || dir == "/dev/fd" ||
		strings.HasPrefix(dir, "/proc/") && filepath.Base(dir) == "fd"
}

func writeThrough(path string, data []byte) error {
	before, err := os.Lstat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if after, err := f.Stat(); err != nil || !isStream(path) && !os.SameFile(before, after) {
		return errors.New("it was replaced while krmflow was opening it")
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// replaceFile writes a temporary file next to name and renames it. The temporary name depends
// only on name, and the file is locked. Concurrent runs therefore take turns, and the next run
// replaces the leftover of a killed one.
func replaceFile(dir *os.Root, name string, content func() ([]byte, error), perm fs.FileMode, finish func(*os.File) error) error {
	temp := tempNameOf(name)
	f, err := flock.Open(dir, temp, perm, defaultWait)
	if errors.Is(err, flock.ErrBusy) {
		f.Close()
		return err
	}
	if err != nil {
		return err
	}
	data, err := content()
	if err == nil {
		err = fillFile(dir, name, f, data)
	}
	if err == nil && finish != nil {
		err = finish(f)
	}
	if err != nil {
		dir.Remove(temp)
		f.Close()
		return err
	}
	err = dir.Rename(temp, name)
	if err != nil {
		dir.Remove(temp)
	}
	return errors.Join(err, f.Close())
}

func tempNameOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return tempPrefix + hex.EncodeToString(sum[:4])
}

const tempPrefix = manifest.Reserved + "tmp-"

// IsTemporary reports whether name is the name of a temporary file of this package.
func IsTemporary(name string) bool { return strings.HasPrefix(name, tempPrefix) }

func fillFile(dir *os.Root, name string, f *os.File, data []byte) error {
	if old, err := dir.Lstat(name); err == nil && old.Mode().IsRegular() {
		mine, err := f.Stat()
		if err != nil {
			return err
		}
		if narrow := mine.Mode().Perm() & old.Mode().Perm(); narrow != mine.Mode().Perm() {
			if err := f.Chmod(narrow); err != nil {
				return err
			}
		}
	}
	_, err := f.Write(data)
	return err
}
