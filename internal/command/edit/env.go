package edit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
)

// env returns the environment of edits: their access to the directory.
func (s *Session) env() edit.Env {
	return edit.Env{
		Glob:   s.glob,
		Exists: func(path string) bool { _, err := os.Stat(s.in(path)); return err == nil },
		IsFile: func(path string) bool {
			info, err := os.Stat(s.in(path))
			return err == nil && info.Mode().IsRegular()
		},
		ReadFile:  s.content,
		WriteFile: s.writeLater,
		Check:     s.check,
		IsRemote:  loaders.IsRemote,
		Warn: func(format string, args ...any) {
			fmt.Fprintf(s.Stderr, "Warning: %s\n", fmt.Sprintf(format, args...))
		},
	}
}

// in resolves a path relative to the directory.
func (s *Session) in(path string) string {
	if s.dir == "" || path == "" || filepath.IsAbs(path) {
		return path
	}
	return s.dir + string(filepath.Separator) + path
}

// check validates an entry of a generator by configuring the generator.
func (s *Session) check(kind string, entry yaml.Value) error {
	var generator builtins.Builtin
	var mistakes []*yaml.DecodeError
	if kind == "Secret" {
		var args builtins.SecretArgs
		mistakes = yaml.Decode(entry, &args)
		generator = args.Generator(nil)
	} else {
		var args builtins.ConfigMapArgs
		mistakes = yaml.Decode(entry, &args)
		generator = args.Generator(nil)
	}
	if len(mistakes) > 0 {
		return mistakes[0]
	}
	return generator.Configure(builtins.Env{Read: s.readSource})
}

// An other is an additional file that an edit changes.
type other struct {
	path     string
	old, new []byte
}

// readRegular reads a regular file. Opening anything else, such as a pipe, could block forever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSource))
}

// content returns the content of an additional file after the edits so far.
func (s *Session) content(path string) ([]byte, error) {
	if o := s.other(path); o != nil {
		return o.new, nil
	}
	return readRegular(s.in(path))
}

// writeLater records the new content of an additional file.
func (s *Session) writeLater(path string, data []byte) error {
	if o := s.other(path); o != nil {
		o.new = data
		return nil
	}
	old, err := readRegular(s.in(path))
	if err == nil && !bytes.Equal(old, data) {
		s.others = append(s.others, other{filepath.Clean(s.in(path)), old, data})
	}
	return err
}

// other returns the recorded change of an additional file, or nil.
func (s *Session) other(path string) *other {
	i := slices.IndexFunc(s.others, func(o other) bool { return o.path == filepath.Clean(s.in(path)) })
	if i < 0 {
		return nil
	}
	return &s.others[i]
}

// readSource reads a source file of a generator. For a remote file it returns an empty source,
// because edits fetch nothing.
func (s *Session) readSource(path string) (*yaml.Source, error) {
	if loaders.IsRemoteFile(path) {
		return &yaml.Source{File: path}, nil
	}
	data, err := s.readFile(path)
	return &yaml.Source{File: path, Data: data}, err
}

// maxSource is the maximum size in bytes of a file that edits read, such as a source file of a
// generator.
const maxSource = 64 << 20

// readFile reads a file in or below the directory.
func (s *Session) readFile(path string) ([]byte, error) {
	root, err := filepath.EvalSymlinks(filepath.Join(s.dir, "."))
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(s.in(path))
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, fmt.Errorf("%s does not exist", path)
	}
	if !diag.Within(real, root) {
		return nil, fmt.Errorf("%s is outside the directory", path)
	}
	return readRegular(real)
}

// glob returns the paths that match a pattern, in the form and order of kustomize. Hidden files
// match only if the last element of the pattern begins with a dot.
func (s *Session) glob(pattern string) ([]string, error) {
	paths, err := s.matches(pattern)
	if err != nil || isHidden(pattern) {
		return paths, err
	}
	return slices.DeleteFunc(paths, isHidden), nil
}

// isHidden reports whether the last element of a path begins with a dot.
func isHidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

// matches is [filepath.Glob] relative to the directory.
func (s *Session) matches(pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		if _, err := os.Lstat(s.in(pattern)); err != nil {
			return nil, nil
		}
		return []string{pattern}, nil
	}
	dir, file := filepath.Split(pattern)
	switch {
	case dir == "":
		dir = "."
	case dir != string(filepath.Separator):
		dir = dir[:len(dir)-1]
	}
	dirs := []string{dir}
	if strings.ContainsAny(dir, `*?[\`) {
		if dir == pattern {
			return nil, filepath.ErrBadPattern
		}
		var err error
		if dirs, err = s.matches(dir); err != nil {
			return nil, err
		}
	}
	var found []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(s.in(dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if ok, err := filepath.Match(file, e.Name()); err != nil {
				return nil, err
			} else if ok && !output.IsTemporary(e.Name()) { // skip the session's own temporary files
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	return found, nil
}
