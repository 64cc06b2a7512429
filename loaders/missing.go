package loaders

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/reference"
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
	if strings.Contains(e.Path, `\`) && filepath.Separator == '/' {
		return []string{fmt.Sprintf("did you mean %q? paths have slashes", e.withSlashes())}
	}
	if e.IsPattern() {
		hint := "patterns are not expanded: list each file"
		if names := e.matches(); len(names) > 0 {
			hint += ", here " + diag.Some(names)
		}
		return []string{hint}
	}
	if near := e.near(); near != "" {
		return []string{fmt.Sprintf("did you mean %q?", near)}
	}
	dir, names := e.parent()
	inside := dir != "." && len(names) > 0 // a part of the path exists, so it is not an address
	if meant := reference.Corrected(e.Path); meant != "" && !inside {
		if hint := PageHint(e.Path); hint != "" {
			return []string{hint}
		}
		return []string{fmt.Sprintf("without https:// or another scheme this is a path: did you mean %q?", diag.Redact(meant))}
	}
	switch {
	case strings.Contains(e.Path, " - "):
		return []string{"this looks like two entries in one: align all items of a list in the same column"}
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
	if dir != "." { // dir is relative to the file with the path, not to the working directory
		return []string{fmt.Sprintf("files in %q: %s", diag.Redact(dir), diag.Some(names))}
	}
	return []string{"there are: " + diag.Some(names)}
}

// withSlashes returns the path with slashes in place of backslashes, relative to the drive.
func (e *NotFoundError) withSlashes() string {
	text := strings.ReplaceAll(e.Path, `\`, "/")
	if len(text) > 1 && text[1] == ':' {
		text = strings.TrimLeft(text[2:], "/")
	}
	return diag.Redact(text)
}

// braces matches the alternatives of a pattern.
var braces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]*,[^{}]*\}`) })

// IsPattern reports whether the path is probably a pattern for several files. The query of a web
// address is not a pattern.
func (e *NotFoundError) IsPattern() bool {
	text, query, _ := strings.Cut(e.Path, "?")
	return strings.Contains(text, "*") || braces().MatchString(text) || strings.Contains(e.Path, "?") && !strings.Contains(query, "=") ||
		strings.Contains(text, "[") && len(e.matches()) > 0
}

// matches returns the names that match the last part of a pattern, without files of layers.
func (e *NotFoundError) matches() (names []string) {
	if e.abs == "" {
		return nil
	}
	for _, name := range e.list(filepath.Dir(e.abs)) {
		layer := strings.EqualFold(strings.TrimSuffix(name, filepath.Ext(name)), "kustomization")
		if ok, err := filepath.Match(filepath.Base(e.abs), name); ok && err == nil && !layer {
			names = append(names, filepath.Join(filepath.Dir(e.Path), name))
		}
	}
	slices.Sort(names)
	return names
}

// near returns an existing path that differs from the missing one only by misspelled names, "" if
// there is none.
func (e *NotFoundError) near() string {
	if e.abs == "" {
		return ""
	}
	written := strings.Split(filepath.Clean(e.Path), string(filepath.Separator))
	dir, depth := filepath.Dir(e.abs), 1
	for ; depth < len(written) && len(e.list(dir)) == 0; depth++ {
		dir = filepath.Dir(dir)
	}
	for i := len(written) - depth; i < len(written); i++ {
		names := e.list(dir)
		if !slices.Contains(names, written[i]) {
			if written[i] = diag.Nearest(written[i], names); written[i] == "" {
				return ""
			}
		}
		dir = filepath.Join(dir, written[i])
	}
	return filepath.Join(written...)
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

// parent returns the nearest existing directory above the missing path, as the user would write it,
// and the names in it.
func (e *NotFoundError) parent() (dir string, names []string) {
	if e.abs == "" {
		return "", nil
	}
	dir = filepath.Dir(e.Path)
	for abs := filepath.Dir(e.abs); ; abs, dir = filepath.Dir(abs), filepath.Dir(dir) {
		if names = e.list(abs); names != nil || dir == "." || filepath.Base(dir) == ".." || abs == filepath.Dir(abs) {
			return dir, names
		}
	}
}

// list returns the names in a directory, nil if it does not exist. Partial results are sufficient.
func (e *NotFoundError) list(dir string) (names []string) {
	if e.fs != nil {
		list, _ := fs.ReadDir(e.fs, dir)
		for _, d := range list {
			names = append(names, d.Name())
		}
		return names
	}
	f, err := os.Open(dir)
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
	return diag.Errorf(diag.Pos{}, "", "%q is not a directory", diag.Redact(path)).With(diag.NotAFile).Hint("name its directory: %s",
		diag.ShellWord(diag.Redact(filepath.Dir(path))))
}
