// Package affected finds out which roots a change can affect: those of which something that decides about their output is another thing now.
package affected

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/review/inputs"
	"github.com/krmflow/krmflow/loaders/revision"
)

// How a file differs from what it was.
const (
	Added   = "added"
	Deleted = "deleted"
	Changed = "changed"
	// Named is said of a file that the user has named.
	Named = "named"
	// Unknown is said of what nobody can compare.
	Unknown = "unknown"
)

// A Change is a path that is another thing than it was.
type Change struct{ Path, How string }

// Changes tell what of an input has changed.
type Changes interface {
	Of(in inputs.Input) []Change
}

// names are files that are said to have changed.
type names struct {
	set   map[string]bool
	below map[string][]string // those below a directory
}

// Files returns the changes of files that are named by absolute paths: these may be there or not, and be directories of which all has changed.
func Files(paths []string) Changes {
	n := names{map[string]bool{}, map[string][]string{}}
	for _, path := range paths {
		for _, path := range []string{filepath.Clean(path), withoutLinks(filepath.Clean(path))} {
			if n.set[path] {
				continue
			}
			n.set[path] = true
			for up := filepath.Dir(path); ; up = filepath.Dir(up) {
				n.below[up] = append(n.below[up], path)
				if up == filepath.Dir(up) {
					break
				}
			}
		}
	}
	return n
}

// withoutLinks returns a path whose directory is one without symbolic links, as far as that exists.
func withoutLinks(path string) string {
	up := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(up); err == nil {
		return filepath.Join(real, filepath.Base(path))
	}
	if up == path {
		return path
	}
	return filepath.Join(withoutLinks(up), filepath.Base(path))
}

// Of returns the names that an input has, or what it is in: that may have been something else. What was not there may be a directory now.
func (n names) Of(in inputs.Input) (all []Change) {
	for path := in.Path; ; path = filepath.Dir(path) {
		if n.set[path] {
			all = append(all, Change{path, Named})
		}
		if path == filepath.Dir(path) {
			break
		}
	}
	if in.Kind == inputs.Absent || in.Kind == inputs.Folder {
		for _, path := range n.below[in.Path] {
			all = append(all, Change{path, Named})
		}
	}
	return all
}

// ReadNames returns the names in a list of files as git prints it: one in each line, in quotation marks if there are odd characters in it, or ended
// by zero bytes if there are any. A list with more than names is an error.
func ReadNames(list []byte) (all []string, err error) {
	if status().Match(list) {
		return nil, options.UsageError(diag.Errorf(diag.Pos{}, "", "standard input has more than names: %q for instance", diag.OneLine(string(status().Find(list)))).With(diag.Arguments).
			Hint("git diff --name-only --no-renames prints names"))
	}
	if bytes.IndexByte(list, 0) >= 0 {
		for name := range strings.SplitSeq(string(list), "\x00") {
			if name != "" {
				all = append(all, name)
			}
		}
		return all, nil
	}
	for name := range strings.Lines(string(list)) {
		name = strings.TrimRight(name, "\r\n")
		if name == "" {
			continue
		}
		if plain, err := strconv.Unquote(name); err == nil && name[0] == '"' {
			name = plain
		}
		all = append(all, name)
	}
	return all, nil
}

// status is what git diff --name-status, --numstat and --raw, and git status --porcelain print before the first name: taken for a name, it would be that
// of a file which no root reads. Git puts names with tabs into quotation marks.
var status = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ACDMRTUXB][0-9]*\t|[0-9-]+\t[0-9-]+\t|:[0-7]{6} |(?: [MADRCUT]|[MADRCUT] |\?\?|!!) )[^\n\x00]*`)
})

// since compares a revision with the work tree.
type since struct {
	tree  *revision.Tree
	then  inputs.Place
	now   inputs.Place
	known map[inputs.Input][]Change
}

// Since returns the changes between a revision and the work tree of its repository. Only what is asked for is compared, byte by byte: it does
// not count what git has been told about a file, whether it is ignored for instance.
func Since(tree *revision.Tree) Changes {
	return &since{tree, inputs.In(tree, tree.Top()), inputs.Place{}, map[inputs.Input][]Change{}}
}

func (s *since) Of(in inputs.Input) []Change {
	if !diag.Within(in.Path, s.tree.Top()) {
		return nil // no revision says what it was
	}
	all, ok := s.known[in]
	if !ok {
		all = s.compare(in.Path, in.Kind == inputs.Folder)
		s.known[in] = all
	}
	return all
}

// compare returns what is not the same at a path and, if it is a directory that counts as a whole, below it.
func (s *since) compare(path string, whole bool) []Change {
	now, err := s.now.Lstat(path)
	if err == nil && now.Mode().IsRegular() && s.same(path, now) {
		return nil
	}
	was, is := s.state(s.then, path), s.state(s.now, path)
	switch {
	case was == is && was == directory && whole:
		return s.compareFolders(path)
	case was == unreadable || is == unreadable:
		return []Change{{path, Unknown}}
	case was == is:
		return nil
	case was == nothing:
		return []Change{{path, Added}}
	case is == nothing:
		return []Change{{path, Deleted}}
	}
	return []Change{{path, Changed}}
}

// same reports whether a regular file is what the revision has.
func (s *since) same(path string, info fs.FileInfo) bool {
	name, err := filepath.Rel(s.tree.Top(), path)
	if err != nil {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && s.tree.Holds(filepath.ToSlash(name), data, executable(info))
}

// executable reports whether somebody may run a file. Windows does not know.
func executable(info fs.FileInfo) bool { return runtime.GOOS != "windows" && info.Mode()&0o111 != 0 }

func (s *since) compareFolders(dir string) (all []Change) {
	entries := map[string]bool{}
	for _, place := range []inputs.Place{s.then, s.now} {
		list, err := place.ReadDir(dir)
		if err != nil {
			return []Change{{dir, Unknown}}
		}
		for _, e := range list {
			entries[e.Name()] = true
		}
	}
	for name := range entries {
		all = append(all, s.compare(filepath.Join(dir, name), true)...)
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// States are what there can be at a path; that of a file or a link has more.
const (
	nothing    = ""
	directory  = "directory"
	unreadable = "?"
)

// state returns what there is at a path in words: two that are the same have the same words.
func (s *since) state(place inputs.Place, path string) string {
	info, err := place.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nothing
	case err != nil:
		return unreadable
	case info.IsDir():
		return directory
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err := place.ReadLink(path); err == nil {
			return "link " + target
		}
		return unreadable
	case !info.Mode().IsRegular():
		return info.Mode().Type().String()
	}
	data, err := place.ReadFile(path)
	if err != nil {
		return unreadable
	}
	return "file " + strconv.FormatBool(executable(info)) + string(data)
}
