// Package roots finds the directories that can be rendered at or below some others, and chooses among them.
package roots

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/ignore"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A Selection says which of the roots below a directory are meant. The zero Selection means all.
type Selection struct {
	// Leaves leaves out what other layers use.
	Leaves bool
	// Only are patterns of which one must match a root, unless there are none, and Exclude patterns of which none may: see package glob. They
	// are compared with the path of a root relative to the directory that it was found below, and of the folders that it lies in.
	Only, Exclude []string
	// Hidden looks into directories, too, whose name starts with a dot, other than .git.
	Hidden bool
	// Jobs is how many files are read at the same time; less than 2 means one.
	Jobs int
	// Visit is called with each directory that is searched, an absolute path without symbolic links. It may be nil.
	Visit func(dir string)
	// FS has the directories; nil stands for the file system of this machine. Its Open and Stat must follow symbolic links.
	FS fs.FS
}

// Found are the roots that were found.
type Found struct {
	// Dirs are those that are meant, sorted for each directory that was searched.
	Dirs []string
	// Used are those that only [Selection.Leaves] leaves out, and Excluded those that patterns do.
	Used, Excluded []string
	// Ignored are the directories that ignore files leave out. Nobody knows whether there are roots in them.
	Ignored []string
	// Warnings are about patterns that match nothing.
	Warnings []*diag.Error
}

// LeftOut returns how many of the roots are not meant.
func (f *Found) LeftOut() int { return len(f.Used) + len(f.Excluded) }

// Find returns the directories at or below those of dirs that hold a Kustomization or a Composition. Symbolic links to directories below
// them are not followed. What is no directory is returned as it is, so that planning says what is wrong with it. What the user names is
// looked at as it is: no layer limits it. It is an error if there is nothing, or nothing is left.
func (s Selection) Find(ctx context.Context, dirs []string) (*Found, error) {
	only, err := parse("--only", s.Only)
	if err != nil {
		return nil, err
	}
	exclude, err := parse("--exclude", s.Exclude)
	if err != nil {
		return nil, err
	}
	w := &search{ctx: ctx, Selection: s, known: map[string]*layer{}}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, w.top(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := w.read(); err != nil {
		return nil, err
	}
	if err := w.empty(); err != nil {
		return nil, err
	}
	if s.Leaves {
		w.markUsed()
	}
	return w.choose(only, exclude)
}

// search is one call of [Selection.Find].
type search struct {
	ctx context.Context
	Selection
	tops    []*top
	layers  []*layer
	known   map[string]*layer // by the path without symbolic links
	ignored []string
}

// A top is a directory below which layers are searched.
type top struct {
	dir, real string
	layers    []*layer
	ignored   int
}

// A layer is a directory that has a file which may make it one.
type layer struct {
	dir  string // as messages show it
	rel  string // from the top, with slashes
	real string
	// files are the names of those that may make it a layer.
	files []string
	root  bool // it can be rendered: it is no Component
	given bool // the user named it, and it is no directory
	// uses are the texts by which it may refer to other layers.
	uses []string
	used bool
}

// top searches one of the directories that the user named.
func (s *search) top(dir string) error {
	info, err := s.stat(dir)
	if err != nil || !info.IsDir() {
		l := &layer{dir: dir, rel: ".", root: true, given: true}
		s.layers = append(s.layers, l)
		s.tops = append(s.tops, &top{dir: dir, layers: []*layer{l}})
		return nil
	}
	t := &top{dir: dir}
	if t.real, err = s.real(dir); err != nil {
		t.real = filepath.Clean(dir) // the working directory is gone: there is no other name for it
	}
	s.tops = append(s.tops, t)
	return s.walk(t, filepath.Clean(dir), ".", nil)
}

// walk searches a directory; rel is its path from the top.
func (s *search) walk(t *top, dir, rel string, rules *ignore.Rules) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if s.Visit != nil {
		s.Visit(filepath.Join(t.real, filepath.FromSlash(rel)))
	}
	entries, err := s.readDir(dir)
	if err == nil && hasIgnoreFile(entries) {
		rules, err = s.readRules(dir, rel, rules)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = fmt.Errorf("%s: %w", dir, pe.Err)
		}
		return err
	}
	if s.isOutput(dir, entries) {
		return nil
	}
	var files []string
	for _, d := range entries {
		name := d.Name()
		if !d.IsDir() && mayMakeLayer(name) && !rules.Ignores(join(rel, name), false) {
			files = append(files, name)
		}
	}
	if len(files) > 0 {
		s.found(t, &layer{dir: dir, rel: rel, real: filepath.Join(t.real, filepath.FromSlash(rel)), files: files})
	}
	for _, d := range entries {
		name := d.Name()
		switch sub := join(rel, name); {
		case !d.IsDir() || name[0] == '.' && (!s.Hidden || name == ".git"):
		case rules.Ignores(sub, true):
			s.ignored = append(s.ignored, filepath.Join(dir, name))
			t.ignored++
		default:
			if err := s.walk(t, filepath.Join(dir, name), sub, rules); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOutput reports whether krmflow has written a directory: then nothing in it is a root.
func (s *search) isOutput(dir string, entries []fs.DirEntry) bool {
	if !slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return d.Name() == manifest.Name }) {
		return false
	}
	data, err := s.readFile(filepath.Join(dir, manifest.Name), manifest.MaxSize)
	return err == nil && manifest.Is(string(data))
}

// found adds a layer, unless it is below another top as well.
func (s *search) found(t *top, l *layer) {
	if first := s.known[l.real]; first != nil {
		t.layers = append(t.layers, first)
		return
	}
	s.known[l.real] = l
	s.layers = append(s.layers, l)
	t.layers = append(t.layers, l)
}

// empty returns an error for each top without a root.
func (s *search) empty() error {
	var errs []error
	for _, t := range s.tops {
		if slices.ContainsFunc(t.layers, func(l *layer) bool { return l.root }) {
			continue
		}
		err := diag.Errorf(diag.Pos{}, "", "%s: no Kustomization or Composition at or below this directory", t.dir).With(diag.NoRoots)
		if t.ignored > 0 {
			err.Hint("%s leaves out %s below it", ignore.File, diag.Count(t.ignored, "folder"))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// join returns the path of a name in the directory rel, with slashes.
func join(rel, name string) string {
	if rel == "." {
		return name
	}
	return rel + "/" + name
}

// mayMakeLayer reports whether a file may make its directory a layer.
func mayMakeLayer(name string) bool {
	return (strings.HasPrefix(name, "k") || strings.HasPrefix(name, "K") || strings.HasPrefix(name, "c")) &&
		(slices.Contains(layerfile.Names, name) || slices.Contains(layerfile.CompositionNames, name))
}

// Decides reports whether a file of this name in a directory that is searched may decide which roots there are.
func Decides(name string) bool {
	return mayMakeLayer(name) || name == ignore.File || name == manifest.Name
}
