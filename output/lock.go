package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/internal/sys/flock"
	"github.com/krmflow/krmflow/output/names"
)

// removeHint is the hint for a file with a reserved name that no run holds.
const removeHint = "remove it or move it away: no run uses it"

// An outputLock prevents other runs from writing the same output.
type outputLock struct {
	dir  *os.Root
	name string
	f    *os.File
}

// lockOutput locks the file name in dir and writes the process id to it. out is the name of the
// output in messages.
func lockOutput(dir *os.Root, name, out string, wait time.Duration) (*outputLock, error) {
	f, err := flock.Open(dir, name, 0o600, wait)
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
		if errors.Is(err, flock.ErrNotOurs) || errors.Is(err, flock.ErrNotRegular) {
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
		if flock.IsFile(l.dir, l.name, l.f) {
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
