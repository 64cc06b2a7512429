package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/internal/sys/flock"
	"github.com/krmflow/krmflow/output/names"
)

// errNotLeft reports a file with a reserved name that krmflow did not create and therefore must
// not remove.
var errNotLeft = errors.New("was not created by krmflow")

// removeHint is the hint for a file with a reserved name that no run holds.
const removeHint = "remove it or move it away: no run uses it"

// openLocked creates and locks the file name in dir, waiting at most wait for another process
// that holds it. The lock ends with the process. An existing file of a dead process is replaced
// and never written to, because it may be a hard link to a different file. Symbolic links are
// refused. If the previous holder removes or renames the file while openLocked waits, it starts
// again.
//
// If the lock is held after wait, the error is flock.ErrBusy and the file is returned open and
// unlocked.
func openLocked(dir *os.Root, name string, perm fs.FileMode, wait time.Duration) (*os.File, error) {
	deadline := time.Now().Add(wait)
	pause := time.Millisecond
	for {
		f, created, err := openRegular(dir, name, perm)
		if err != nil {
			return nil, err
		}
		err = flock.Try(f)
		switch {
		case err == nil && isFile(dir, name, f):
			if created {
				return f, nil
			}
			err = removeLeft(dir, name, f)
		case errors.Is(err, flock.ErrBusy):
			if !time.Now().Before(deadline) {
				return f, flock.ErrBusy
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
		return &fs.PathError{Op: "remove", Path: name, Err: errNotLeft}
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
			return nil, false, notRegular(name)
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
		if !notExist(err) {
			return nil, false, err
		}
	}
}

// isFile reports whether name in dir is still the open file f.
func isFile(dir *os.Root, name string, f *os.File) bool {
	there, err := dir.Lstat(name)
	if err != nil {
		return false
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(there, mine)
}

// An outputLock prevents other runs from writing the same output.
type outputLock struct {
	dir  *os.Root
	name string
	f    *os.File
}

// lockOutput locks the file name in dir and writes the process id to it. out is the name of the
// output in messages.
func lockOutput(dir *os.Root, name, out string, wait time.Duration) (*outputLock, error) {
	f, err := openLocked(dir, name, 0o600, wait)
	if errors.Is(err, flock.ErrBusy) {
		defer f.Close()
		return nil, &LockedError{out, readPID(f)}
	}
	if err != nil {
		file := filepath.Join(out, "..", name)
		if name == lockSuffix { // inside the output
			file = filepath.Join(out, name)
		}
		refused := &RefusedError{Path: out, Reason: "cannot lock it: " + names.Show(file) + ": " + withoutPath(err).Error()}
		if errors.Is(err, errNotLeft) || errors.Is(err, errNotRegular) {
			refused.Hint = removeHint
		}
		return nil, refused
	}
	l := &outputLock{dir, name, f}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		l.release()
		return nil, writeError(out, err)
	}
	return l, nil
}

// Lock locks the file called name in root until free is called. dir is the name of the directory
// in messages. It does not wait: while another process holds the lock, the error is a
// [*LockedError].
func Lock(root *os.Root, name, dir string) (free func(), err error) {
	l, err := lockOutput(root, name, dir, 0)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// release removes the lock file while it is still locked. A waiting process notices that and
// starts again.
func (l *outputLock) release() {
	if l != nil {
		if isFile(l.dir, l.name, l.f) {
			l.dir.Remove(l.name)
		}
		l.f.Close()
	}
}

func readPID(f *os.File) int {
	b := make([]byte, 20)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	return max(pid, 0)
}
