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

// A NotFoundError reports a path that does not exist.
type NotFoundError struct {
	Path string
	// abs is the missing path, in fs if that is set. It is empty if unknown.
	abs string
	fs  fs.FS
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("%q does not exist", diag.Redact(e.Path)) }

// Kind returns the error's code; see [diag.CodeOf].
func (e *NotFoundError) Kind() diag.Code { return diag.NoSuchFile }

// Is reports that the error is an [fs.ErrNotExist].
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// Hints returns one hint: a similar name or a different path that exists, otherwise how paths are
// interpreted.
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
		return []string{"this looks like two entries in one: align all items of a list in the same column"}
	case strings.ContainsAny(e.Path, "*?["):
		return []string{"patterns are not expanded: list each file"}
	case filepath.IsAbs(e.Path):
		return []string{"write a path that is relative to the directory of this file"}
	}
	if way := e.otherWay(); way != "" {
		return []string{fmt.Sprintf("did you mean %q?", way)}
	}
	if len(names) == 0 {
		return []string{"paths are relative to the directory of the file that contains them"}
	}
	slices.Sort(names)
	if dir := filepath.Dir(e.Path); dir != "." { // dir is relative to the file with the path, not to the working directory
		return []string{fmt.Sprintf("files in %q: %s", diag.Redact(dir), diag.Some(names))}
	}
	return []string{"there are: " + diag.Some(names)}
}

// otherWay returns the path with one more ".." in front, if that exists.
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

// siblings returns the names in the directory in which the path is missing.
func (e *NotFoundError) siblings() (names []string) {
	if e.abs == "" {
		return nil
	}
	if e.fs != nil {
		list, _ := fs.ReadDir(e.fs, path.Dir(e.abs)) // partial results are sufficient
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

// Below returns the names of directories at most two levels below d that contain a file with one
// of the names. It is used for hints and ignores unreadable directories. For a directory that is
// not on this machine it returns nil.
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

// A RestrictedError reports a file outside of the directory that its layer may read.
type RestrictedError struct {
	Path, Target, Root string
}

// Kind returns the error's code; see [diag.CodeOf].
func (e *RestrictedError) Kind() diag.Code { return diag.OutsideDirectory }

func (e *RestrictedError) Error() string {
	if e.Target != "" {
		return fmt.Sprintf("%q is a symbolic link to %q, which is outside the directory %q", diag.Redact(e.Path), e.Target, e.Root)
	}
	return fmt.Sprintf("%q is outside the directory %q", diag.Redact(e.Path), e.Root)
}

// Hints returns the flag that lifts the restriction.
func (e *RestrictedError) Hints() []string {
	return []string{"a layer may only read files in or below its own directory; --load-restrictor LoadRestrictionsNone lifts this"}
}

func notDir(path string) error {
	return diag.Errorf(diag.Pos{}, "", "%q is not a directory", diag.Redact(path)).With(diag.NotAFile).Hint("name its directory: %s", diag.ShellWord(diag.Redact(filepath.Dir(path))))
}
