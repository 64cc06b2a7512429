// Package affected finds the roots that a change can affect: the roots with at least one
// changed input.
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
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/review/inputs"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/revision"
)

// The ways in which a file can differ from its earlier state.
const (
	Added   = "added"
	Deleted = "deleted"
	Changed = "changed"
	// Named marks a file that the user listed as changed.
	Named = "named"
	// Unknown marks a file that cannot be compared.
	Unknown = "unknown"
)

// A Change is a path whose content differs, and how it differs.
type Change struct{ Path, How string }

// Changes reports the changes to an input.
type Changes interface {
	Of(in inputs.Input) []Change
	// holds reports whether Of would certainly return no change for the input in, a file with the
	// content digest sum or an absent path. executable reports whether any execute bit of the file
	// is set. The paths of recorded inputs have known contents, so this is faster than Of.
	holds(in inputs.Input, sum krm.Digest, executable bool) bool
}

// names is a set of files that the user listed as changed.
type names struct {
	set   map[string]bool
	below map[string][]string // listed files by each directory above them
}

// Files returns Changes for the given absolute paths. The paths need not exist. A path may be a
// directory; then everything below it has changed.
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

// withoutLinks resolves the symbolic links in the directory part of path, as far as that
// directory exists.
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

// Of returns the listed paths that contain the input or are the input itself, since a listed
// path may have been a directory before. For a folder, and for an input that was absent, it
// also returns the listed paths below: the absent path may be a directory now.
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

func (n names) holds(in inputs.Input, _ krm.Digest, _ bool) bool { return len(n.Of(in)) == 0 }

// ReadNames parses a list of files in git's formats: one name per line, quoted if it contains
// special characters, or names that end with a zero byte if the list contains any. A list with
// more fields than names is an error.
func ReadNames(list []byte) (all []string, err error) {
	if status().Match(list) {
		return nil, options.UsageError(diag.Errorf(diag.Pos{}, "", "standard input has more than names: %q for instance",
			diag.OneLine(string(status().Find(list)))).With(diag.Arguments).
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

// status matches the output of git diff --name-status, --numstat and --raw, and of git status
// --porcelain, up to the end of the first line. Without this check such a line would be read as
// the name of a file that no root uses. The tab-separated forms cannot match a listed name,
// because git quotes names that contain tabs.
var status = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ACDMRTUXB][0-9]*\t|[0-9-]+\t[0-9-]+\t|:[0-7]{6} |(?: [MADRCUT]|[MADRCUT] |\?\?|!!) )[^\n\x00]*`)
})

// since compares a revision with the work tree.
type since struct {
	tree  *revision.Tree
	ids   *records.IDs
	then  inputs.Place
	now   inputs.Place
	known map[inputs.Input][]Change
}

// Since returns the changes between a revision and the work tree of its repository. It compares
// only the requested inputs, and byte by byte: git's settings for a file, such as ignore rules,
// have no effect. ids are the known object ids of files.
func Since(tree *revision.Tree, ids *records.IDs) Changes {
	return &since{tree, ids, inputs.In(tree, tree.Top()), inputs.Place{}, map[inputs.Input][]Change{}}
}

func (s *since) Of(in inputs.Input) []Change {
	if !diag.Within(in.Path, s.tree.Top()) {
		return nil // outside the repository: the revision has no state to compare with
	}
	all, ok := s.known[in]
	if !ok {
		all = s.compare(in.Path, in.Kind == inputs.Folder)
		s.known[in] = all
	}
	return all
}

// compare returns the difference at path. With whole set it also descends into a directory that
// exists on both sides.
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

// same reports whether a regular file has the same content and mode in the revision.
func (s *since) same(path string, info fs.FileInfo) bool {
	name, err := filepath.Rel(s.tree.Top(), path)
	if err != nil {
		return false
	}
	data, err := os.ReadFile(path)
	return err == nil && s.tree.Holds(filepath.ToSlash(name), s.tree.IDOf(data), executable(info.Mode()))
}

func (s *since) holds(in inputs.Input, sum krm.Digest, executable bool) bool {
	if !diag.Within(in.Path, s.tree.Top()) {
		return true // as in Of
	}
	name, err := filepath.Rel(s.tree.Top(), in.Path)
	switch {
	case err != nil:
		return false
	case in.Kind == inputs.Absent:
		return s.tree.Lacks(filepath.ToSlash(name))
	}
	id := s.ids.OfFile(in.Path, sum, s.tree.IDOf)
	return id != "" && s.tree.Holds(filepath.ToSlash(name), id, executable)
}

// executable reports whether any execute bit of a file is set. Windows has none.
func executable(mode fs.FileMode) bool { return runtime.GOOS != "windows" && mode&0o111 != 0 }

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

// States without further content; the state of a file or a link also includes its content.
const (
	nothing    = ""
	directory  = "directory"
	unreadable = "?"
)

// state describes the content at path. Two paths have the same content exactly if their states
// are equal.
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
	return "file " + strconv.FormatBool(executable(info.Mode())) + string(data)
}
