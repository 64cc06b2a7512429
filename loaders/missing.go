package loaders

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A NotFoundError says that a path does not exist.
type NotFoundError struct {
	Path string
	// abs is where it is, in fs if that is set. Empty means that nobody knows.
	abs string
	fs  fs.FS
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("%q does not exist", diag.Redact(e.Path)) }

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *NotFoundError) Kind() diag.Code { return diag.NoSuchFile }

// Is makes it one of [fs.ErrNotExist].
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Hints returns a line that says what to do: a similar name or another way there, if there is one, else how paths are read.
func (e *NotFoundError) Hints() []string {
	if e.abs != "" && e.fs == nil {
		if hint := SubmoduleHint(e.abs); hint != "" {
			return []string{hint}
		}
	}
	names := e.siblings()
	if near := diag.Nearest(filepath.Base(e.abs), names); near != "" {
		return []string{fmt.Sprintf("did you mean %q?", filepath.Join(filepath.Dir(e.Path), near))}
	}
	switch {
	case strings.Contains(e.Path, " - "):
		return []string{"it looks like two entries in one: items of one list begin in the same column"}
	case strings.ContainsAny(e.Path, "*?["):
		return []string{"patterns are not expanded: list each file"}
	case filepath.IsAbs(e.Path):
		return []string{"write a path that is relative to the directory of this file"}
	}
	if way := e.otherWay(); way != "" {
		return []string{fmt.Sprintf("did you mean %q?", way)}
	}
	if len(names) == 0 {
		return []string{"paths are relative to the directory of the file that has them"}
	}
	slices.Sort(names)
	if dir := filepath.Dir(e.Path); dir != "." { // which is the directory of the file that has the path, and not that of the reader
		return []string{fmt.Sprintf("in %q there are: %s", diag.Redact(dir), diag.Some(names))}
	}
	return []string{"there are: " + diag.Some(names)}
}

// otherWay returns the path with one more .. in front, if that exists.
func (e *NotFoundError) otherWay() string {
	rest := strings.TrimPrefix(filepath.Clean(e.Path), "./")
	for strings.HasPrefix(rest, "../") {
		rest = rest[len("../"):]
	}
	from, ok := strings.CutSuffix(e.abs, string(filepath.Separator)+rest)
	if !ok || e.fs != nil {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(from), rest)); err != nil {
		return ""
	}
	return filepath.Join("..", e.Path)
}

// siblings returns the names in the directory that does not have it.
func (e *NotFoundError) siblings() (names []string) {
	if e.abs == "" {
		return nil
	}
	if e.fs != nil {
		list, _ := fs.ReadDir(e.fs, path.Dir(e.abs)) // what can be had
		for _, d := range list {
			names = append(names, d.Name())
		}
		return names
	}
	f, err := os.Open(filepath.Dir(e.abs))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ = f.Readdirnames(10_000)
	return names
}

// Below returns the paths of directories at most two levels below d, as messages show them, that have a file of one of the names. It is for hints:
// what cannot be read, or was fetched, has none.
func (d *Dir) Below(names []string) (found []string) {
	if d.tree != nil {
		return nil
	}
	for _, levels := range [...]string{"*", "*/*"} {
		dirs, _ := fs.Glob(os.DirFS(d.Real), levels)
		for _, dir := range dirs[:min(len(dirs), 1000)] {
			hidden := strings.HasPrefix(dir, ".") || strings.Contains(dir, "/.")
			if !hidden && slices.ContainsFunc(names, func(name string) bool {
				_, err := os.Lstat(filepath.Join(d.Real, dir, name))
				return err == nil
			}) {
				found = append(found, diag.Redact(filepath.Join(d.Name, dir)))
			}
		}
	}
	return found
}

// A RestrictedError says that a file lies outside the directory that its layer may read.
type RestrictedError struct {
	Path, Target, Root string
}

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *RestrictedError) Kind() diag.Code { return diag.OutsideDirectory }

func (e *RestrictedError) Error() string {
	if e.Target != "" {
		return fmt.Sprintf("%q is a symbolic link to %q, which is outside the directory %q", diag.Redact(e.Path), e.Target, e.Root)
	}
	return fmt.Sprintf("%q is outside the directory %q", diag.Redact(e.Path), e.Root)
}

// Hints returns the line that names the flag which lifts the restriction.
func (e *RestrictedError) Hints() []string {
	return []string{"a layer may only read files in or below its own directory; --load-restrictor LoadRestrictionsNone lifts this"}
}

func notDir(path string) error {
	return diag.Errorf(diag.Pos{}, "", "%q is not a directory", diag.Redact(path)).With(diag.NotAFile).Hint("name its directory: %s", diag.ShellWord(diag.Redact(filepath.Dir(path))))
}
