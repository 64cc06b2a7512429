package flock

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// ErrNotOurs reports a file with a reserved name that krmflow did not create and therefore must
// not remove.
var ErrNotOurs = errors.New("was not created by krmflow")

// ErrNotRegular reports a directory, a device or a link in the place of a file.
var ErrNotRegular = errors.New("not a regular file")

// Open creates and locks the file name in dir, waiting at most wait for another process
// that holds it. The lock ends with the process. An existing file of a dead process is replaced
// and never written to, because it may be a hard link to a different file. Symbolic links are
// refused. If the previous holder removes or renames the file while Open waits, it starts
// again.
//
// If the lock is held after wait, the error is ErrBusy and the file is returned open and
// unlocked.
func Open(dir *os.Root, name string, perm fs.FileMode, wait time.Duration) (*os.File, error) {
	deadline := time.Now().Add(wait)
	pause := time.Millisecond
	for {
		f, created, err := openRegular(dir, name, perm)
		if err != nil {
			return nil, err
		}
		err = Try(f)
		switch {
		case err == nil && IsFile(dir, name, f):
			if created {
				return f, nil
			}
			err = removeLeft(dir, name, f)
		case errors.Is(err, ErrBusy):
			if !time.Now().Before(deadline) {
				return f, ErrBusy
			}
			err = nil
			time.Sleep(pause)
			pause = min(2*pause, 50*time.Millisecond)
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// removeLeft removes the file name in dir, which is open as f, if krmflow may have created it.
func removeLeft(dir *os.Root, name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !canBeOurs(info) {
		return &fs.PathError{Op: "remove", Path: name, Err: ErrNotOurs}
	}
	return dir.Remove(name)
}

// openRegular opens or creates a regular file. It checks an existing file before opening it,
// because opening follows links. Creating never does.
func openRegular(dir *os.Root, name string, perm fs.FileMode) (f *os.File, created bool, err error) {
	for {
		f, err = dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, true, err
		}
		info, err := dir.Lstat(name)
		if err == nil && !info.Mode().IsRegular() {
			return nil, false, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
		}
		if err == nil {
			f, err = dir.OpenFile(name, os.O_RDWR, 0)
		}
		if err == nil {
			if same, err := f.Stat(); err == nil && os.SameFile(info, same) {
				return f, false, nil
			}
			f.Close()
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
}

// IsFile reports whether name in dir is still the open file f.
func IsFile(dir *os.Root, name string, f *os.File) bool {
	there, err := dir.Lstat(name)
	if err != nil {
		return false
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(there, mine)
}
