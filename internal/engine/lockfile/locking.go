// Package lockfile reads and writes the lock file of rendered roots.
package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/output"
)

// Read reads a lock file. If must is false and the file does not exist, the result is nil.
func Read(path string, must bool) (*lock.File, error) {
	data, err := loaders.ReadFile(path, yaml.MaxFile)
	var missing *loaders.NotFoundError
	switch {
	case errors.As(err, &missing) && !must:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("--lock-file: %w", err)
	}
	return lock.Parse(&yaml.Source{File: path, Data: data})
}

// Outside returns the first directory that is not below the working directory, or "" if all
// are. Remote directories are ignored if there are local ones, and are returned without
// credentials. Files in the working directory must not affect directories elsewhere, because
// other users may be able to write to it.
func Outside(dirs []string) string {
	cwd, err := os.Getwd()
	remote, below := "", false
	for _, dir := range dirs {
		if loaders.IsRemote(dir) {
			remote = diag.Redact(dir)
			continue
		}
		abs, errAbs := filepath.Abs(dir)
		if err != nil || errAbs != nil || !diag.Within(abs, cwd) {
			return dir
		}
		below = true
	}
	if below {
		return ""
	}
	return remote
}

// Seen collects the fetched content and the requirements of functions. Add and Moved may be
// called concurrently.
type Seen struct {
	mu      sync.Mutex
	entries map[string]lock.Entry
	// ambiguous has an error for each name that refers to different contents.
	ambiguous []error
	// Text about the commits between two versions, by the name of the repository.
	between map[string]string
}

// Add adds an entry. An entry for a catalog takes precedence over the entry for the same
// content as a file.
func (s *Seen) Add(e lock.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = map[string]lock.Entry{}
	}
	known, ok := s.entries[e.Name]
	switch {
	case ok && known.Kind == e.Kind && known.Version() != e.Version():
		err := diag.Errorf(diag.Pos{}, "", "%s is the name of several references: it resolves to %s and to %s", e.Name, known.Version(),
			e.Version())
		s.ambiguous = append(s.ambiguous,
			err.Hint("the lock file has no credentials and no parameters; add digests to references that differ only in these: #sha256=…"))
	case !ok || known.Kind != lock.Catalog:
		s.entries[e.Name] = e
	}
}

// maxSubjects is the maximum number of commits that are printed, and maxSubject the maximum
// number of bytes of the first line of each.
const (
	maxSubjects = 20
	maxSubject  = 120
)

// Moved records the new commits of a repository, the newest first, or the reason why they are
// unknown.
func (s *Seen) Moved(name string, subjects []string, err error) {
	var b strings.Builder
	for _, subject := range subjects[:min(len(subjects), maxSubjects)] {
		if len(subject) > maxSubject {
			subject = strings.ToValidUTF8(subject[:maxSubject], "") + "…"
		}
		fmt.Fprintf(&b, "           %s\n", diag.OneLine(subject))
	}
	if more := len(subjects) - maxSubjects; more > 0 {
		fmt.Fprintf(&b, "           … and %s before\n", diag.Count(more, "commit"))
	}
	if err != nil {
		text, _ := diag.Parts(err)
		fmt.Fprintf(&b, "           the commits in between are unknown: %s\n", diag.OneLine(text))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.between == nil {
		s.between = map[string]string{}
	}
	s.between[name] = b.String()
}

// Any reports whether entries were added.
func (s *Seen) Any() bool { return len(s.entries) > 0 }

// Ambiguous returns an error for each name with different contents. That happens if references
// differ in parts that their names omit, such as the value of a parameter.
func (s *Seen) Ambiguous() error { return errors.Join(s.ambiguous...) }

// all returns the entries, sorted by name.
func (s *Seen) all() []lock.Entry {
	return slices.SortedFunc(maps.Values(s.entries), func(a, b lock.Entry) int { return strings.Compare(a.Name, b.Name) })
}

// Unlocked returns the content that has neither an entry in the file nor a fixed version.
func (s *Seen) Unlocked(file *lock.File) (missing []lock.Change) {
	now := file.Without(nil)
	for _, c := range now.Learn(s.all(), lock.Learning{}) {
		// The repository has its own entry.
		inRepository := c.New.Kind == lock.Catalog && c.New.Commit != ""
		if c.Old.Kind == "" && !c.New.Fixed() && !inRepository {
			missing = append(missing, c)
		}
	}
	return missing
}

// An Update describes how the entries of a lock file change.
type Update struct {
	// Names are the names of entries to fetch again: see [lock.Entry.Is].
	Names []string
	// All fetches all entries again. Prune removes entries that are not used.
	All, Prune bool
}

// Moves reports whether an entry is fetched again.
func (u Update) Moves(e lock.Entry) bool { return u.All || slices.ContainsFunc(u.Names, e.Is) }

// Check returns an error for a name without an entry.
func (u Update) Check(file *lock.File) error {
	for _, name := range u.Names {
		if !slices.ContainsFunc(file.Entries(), func(e lock.Entry) bool { return e.Is(name) }) {
			var names []string
			for _, e := range file.Entries() {
				names = append(names, e.Name)
			}
			e := diag.Errorf(diag.Pos{}, "", "no entry %q", diag.Redact(name))
			e.Hints = diag.DidYouMean(name, names)
			return e
		}
	}
	return nil
}

// Learn updates a lock with the content of s and returns the changes. An entry that is selected
// by name but was not seen is removed. An edition of a catalog that is older than the locked
// one is an error that wraps [loaders.ErrVerification], because it may have known mistakes.
func (u Update) Learn(file *lock.File, s *Seen) ([]lock.Change, error) {
	drop := func(e lock.Entry) bool { return u.Prune || slices.ContainsFunc(u.Names, e.Is) }
	changes := file.Learn(s.all(), lock.Learning{Update: u.Moves, Drop: drop})
	for _, c := range changes {
		if c.RolledBack() {
			err := &diag.Error{Msg: fmt.Sprintf("%s now has the serial %d, but %d in the lock: it is older", c.Name, c.New.Serial,
				c.Old.Serial), Err: loaders.ErrVerification}
			return nil, err.Hint("if that is intended, remove the entry from %s first", file.Path)
		}
	}
	return changes, nil
}

// Write updates the lock file at path with the content of s. It reads the file again, because
// another run may have written to it. If the file does not exist and s is empty, no file is
// created.
func (u Update) Write(path string, s *Seen) (file *lock.File, changes []lock.Change, err error) {
	file = &lock.File{Path: path}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !s.Any() {
		return file, nil, nil
	}
	if err := output.CheckFile(path); err != nil {
		return nil, nil, err
	}
	err = output.EditFile(path, 0o666, func(old []byte) ([]byte, error) {
		if old != nil {
			if file, err = lock.Parse(&yaml.Source{File: path, Data: old}); err != nil {
				return nil, err
			}
		}
		if changes, err = u.Learn(file, s); err != nil || old != nil && len(changes) == 0 {
			return old, err
		}
		return file.Text(), nil
	})
	return file, changes, err
}

// Report returns a description of changes for the user.
func (s *Seen) Report(file *lock.File, changes []lock.Change) string {
	var b strings.Builder
	for _, change := range changes {
		fmt.Fprintln(&b, change)
		if old, now := change.Old.Serial, change.New.Serial; old > 0 && now > old {
			fmt.Fprintf(&b, "           serial %d -> %d\n", old, now)
		}
		if change.Old.Commit != change.New.Commit {
			b.WriteString(s.between[change.Name])
		}
	}
	unused := file.Without(func(e lock.Entry) bool {
		_, used := s.entries[e.Name]
		return used
	})
	fmt.Fprintf(&b, "%s: %d locked, %d changed", file.Path, len(file.Entries()), len(changes))
	if n := len(unused.Entries()); n > 0 {
		fmt.Fprintf(&b, ", %d not used by these directories (--prune removes them)", n)
	}
	return b.String() + "\n"
}
