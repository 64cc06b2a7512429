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

// errNotLeft is about a file that has a name of krmflow's own and was not made by krmflow, so that it must not be removed.
var errNotLeft = errors.New("is not a file that krmflow left")

// removeHint is for a file with a name of krmflow's own that no run holds.
const removeHint = "remove it or move it away: no run uses it"

// openLocked creates the file called name in dir with perm and locks it; while another process holds it, it waits for at most wait.
// The lock dies with the process. A file that a dead process left is replaced by a new one and never written to, since it may have
// a second name elsewhere. Symbolic links are refused. The holder before may remove or rename the file while we wait: then it starts
// again.
//
// If the lock is held, the error is flock.ErrBusy and the file is returned open and unlocked.
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

// removeLeft removes the file name in dir, which is f, if a process of ours can have left it.
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

// openRegular opens or creates a regular file. It asks before it opens: opening follows links, creating never does.
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

// isFile reports whether name in dir still is the open file f.
func isFile(dir *os.Root, name string, f *os.File) bool {
	there, err := dir.Lstat(name)
	if err != nil {
		return false
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(there, mine)
}

// An outputLock keeps other runs from writing the same output.
type outputLock struct {
	dir  *os.Root
	name string
	f    *os.File
}

// lockOutput takes the lock file name in dir and writes the process id into it; out is what messages name.
func lockOutput(dir *os.Root, name, out string, wait time.Duration) (*outputLock, error) {
	f, err := openLocked(dir, name, 0o600, wait)
	if errors.Is(err, flock.ErrBusy) {
		defer f.Close()
		return nil, &LockedError{out, readPID(f)}
	}
	if err != nil {
		file := filepath.Join(out, "..", name)
		if name == lockSuffix { // inside
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

// Lock takes the lock file called name in a directory, which messages call dir, until the function that it returns is called. The error is a
// [*LockedError] while another process has it.
func Lock(root *os.Root, name, dir string) (free func(), err error) {
	l, err := lockOutput(root, name, dir, 0)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// release removes the lock file while it is still locked: who waits for it notices and starts again.
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
