package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/output/names"
)

// A WriteError reports a failed write, for example because of a full disk, a broken pipe or
// missing permission. The previous content is intact unless the message says otherwise.
type WriteError struct {
	Path string // as known to the user
	Err  error
}

func (e *WriteError) Error() string { return fmt.Sprintf("%s: %v", names.Show(e.Path), e.Err) }
func (e *WriteError) Unwrap() error { return e.Err }

// Kind returns the error's code; see [diag.CodeOf].
func (e *WriteError) Kind() diag.Code { return diag.OutputLost }

// writeError converts err to an error type of this package. It removes the names of temporary
// files, which mean nothing to the user.
func writeError(path string, err error) error {
	var written *WriteError
	var locked *LockedError
	var refused *RefusedError
	if err == nil || errors.As(err, &written) || errors.As(err, &locked) || errors.As(err, &refused) {
		return err
	}
	return &WriteError{path, withoutPath(err)}
}

// withoutPath removes the operation and path that package os adds.
func withoutPath(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

// A LockedError reports that another run writes the same output.
type LockedError struct {
	Path string
	PID  int // 0 if unknown
}

func (e *LockedError) Error() string {
	by := "another run"
	if e.PID > 0 {
		by = fmt.Sprintf("pid %d", e.PID)
	}
	return fmt.Sprintf("%s: locked by %s, which is writing there", names.Show(e.Path), by)
}

// Kind returns the error's code; see [diag.CodeOf].
func (e *LockedError) Kind() diag.Code { return diag.OutputLocked }

// A RefusedError reports why krmflow does not write to a path. Nothing was written.
type RefusedError struct {
	Path   string
	Reason string
	Names  []string // files that are the reason, relative to Path; may be empty
	Hint   string   // instructions, one or more lines; may be empty
}

func (e *RefusedError) Error() string { return e.Diag().Error() }

// Kind returns the error's code; see [diag.CodeOf].
func (e *RefusedError) Kind() diag.Code { return diag.OutputRefused }

// Diag returns e as a [diag.Error] with its names and hint as hints.
func (e *RefusedError) Diag() *diag.Error {
	const most = 10
	err := &diag.Error{Msg: names.Show(e.Path) + ": " + e.Reason, Err: e}
	for i, name := range e.Names {
		if i == most {
			err.Hint("and %d more", len(e.Names)-most)
			break
		}
		err.Hint("%s", names.Show(name))
	}
	for line := range strings.Lines(e.Hint) {
		err.Hint("%s", strings.TrimSuffix(line, "\n"))
	}
	return err
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
