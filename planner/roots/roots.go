// Package roots finds the directories at or below given directories that can be rendered, and
// selects among them.
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
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A Selection selects roots below a directory. The zero Selection selects all.
type Selection struct {
	// Leaves excludes layers that other layers use, except roots that match a pattern in Keep:
	// bases
	// that are also installed directly. A pattern without a slash matches names at any depth.
	Leaves bool
	Keep   []string
	// Only and Exclude are patterns, see package glob. A root must match one of Only, unless it
	// is empty, and none of Exclude. Patterns are matched against the path of the root, and of
	// the folders that contain it, relative to the searched directory.
	Only, Exclude []string
	// Hidden also searches directories with a leading dot, except .git.
	Hidden bool
	// Jobs is the number of files to read concurrently; less than 2 means one.
	Jobs int
	// Visit is called with the absolute path, without symbolic links, of each searched directory.
	// It may be nil.
	Visit func(dir string)
	// Objects returns the roots that YAML files contain, besides the directories. It may be nil.
	// layers reads the layers in the searched directories.
	// skipped are objects that cannot be rendered.
	Objects func(ctx context.Context, files []File, layers func() ([]Layer, error)) (found []Object, skipped []Skipped, err error)
	// FS contains the directories; nil means this machine's file system. Its Open and Stat must
	// follow symbolic links.
	FS fs.FS
}

// A File is a YAML file at or below a searched directory. Top is that directory without symbolic
// links, and Rel the slash-separated path of the file below it.
type File struct{ Path, Top, Rel string }

// An Object is a root that is not a directory. Name is its name, also for patterns. File is the
// file that contains it, and Dirs are the paths, without symbolic links, of the directories that it
// renders. Key identifies its content.
type Object struct {
	Name, File, Key string
	Dirs            []string
}

// Skipped is an object that is not a root, and the reason.
type Skipped struct{ Name, Reason string }

// A Layer is a directory that holds a Kustomization, Component or Composition.
type Layer struct {
	// Dir is its path for messages, Rel its path below the searched directory, and Real its path
	// without symbolic links.
	Dir, Rel, Real string
	// Root reports that the layer can be rendered, and Used that other layers use it.
	Root, Used bool
	// Uses are the paths, without symbolic links, of the layers and files that it names.
	Uses []string
}

// Found is the result of [Selection.Find].
type Found struct {
	// Dirs are the selected roots, sorted within each searched directory.
	Dirs []string
	// Used are the roots excluded only by [Selection.Leaves], and Excluded those excluded by
	// patterns. UsedBy has a user of each of Used.
	Used, UsedBy, Excluded []string
	// Ignored are the directories excluded by ignore files. They are not searched for roots.
	Ignored []string
	// Skipped are the objects that cannot be rendered. Keys are the keys of all others.
	Skipped []Skipped
	Keys    []string
	// Warnings report patterns without a match.
	Warnings []*diag.Error
}

// LeftOut returns the number of roots that are not selected.
func (f *Found) LeftOut() int { return len(f.Used) + len(f.Excluded) + len(f.Skipped) }

// Find returns the selected directories at or below dirs that contain a Kustomization or a
// Composition. It does not follow symbolic links to directories below them. An argument that is
// not a directory is returned unchanged, so that planning reports the problem. Find is not
// subject to the load restrictions of layers, because the user names dirs. It is an error if a
// directory has no roots or none is selected.
func (s Selection) Find(ctx context.Context, dirs []string) (*Found, error) {
	only, err := parse("--only", s.Only)
	if err != nil {
		return nil, err
	}
	exclude, err := parse("--exclude", s.Exclude)
	if err != nil {
		return nil, err
	}
	keep, err := parse("--leaves", s.Keep)
	if err != nil {
		return nil, err
	}
	w := &search{ctx: ctx, Selection: s, known: map[string]*layer{}, knownFiles: map[string]bool{}}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, w.top(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := w.findObjects(); err != nil {
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
	return w.choose(only, exclude, keep)
}

// A search is one call of [Selection.Find].
type search struct {
	ctx context.Context
	Selection
	tops    []*top
	layers  []*layer
	known   map[string]*layer // by the path without symbolic links
	ignored []string
	files   []File // if there is an Objects function
	// knownFiles are the paths of files without symbolic links.
	knownFiles map[string]bool
	keys       []string
	skipped    []Skipped
	// readUses requests the references of layers, and haveRead reports that the layers have been
	// read.
	readUses, haveRead bool
}

// A top is a directory named by the user. Layers are searched at and below it.
type top struct {
	dir, real string
	layers    []*layer
	ignored   int
}

// A layer is a directory with a file that may make it one.
type layer struct {
	dir  string // as displayed in messages
	rel  string // relative to the top, with slashes
	real string
	// files are the names of the files that may make it a layer.
	files []string
	root  bool // it can be rendered, unlike a Component
	given bool // named by the user, but not a directory
	// object reports that the layer is an Object, named dir. It renders the directories dirs.
	object bool
	dirs   []string
	// uses are the texts that may refer to other layers.
	uses   []string
	names  []string // all texts that may name files, with readUses
	used   bool
	usedBy *layer // one of the layers that use it, if it is used
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
		t.real = filepath.Clean(dir) // without a working directory, this is the only name
	}
	s.tops = append(s.tops, t)
	return s.walk(t, filepath.Clean(dir), ".", nil)
}

// walk searches a directory. rel is its path relative to the top.
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
		if s.Objects != nil && d.Type().IsRegular() && IsYAML(name) && !rules.Ignores(join(rel, name), false) {
			s.addFile(File{filepath.Join(dir, name), t.real, join(rel, name)})
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

// isOutput reports whether krmflow wrote a directory: output directories contain no roots.
func (s *search) isOutput(dir string, entries []fs.DirEntry) bool {
	if !slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return d.Name() == manifest.Name }) {
		return false
	}
	data, err := s.readFile(filepath.Join(dir, manifest.Name), manifest.MaxSize)
	return err == nil && manifest.Is(string(data))
}

// addFile adds a file that may contain objects, unless it was already found below another top.
func (s *search) addFile(f File) {
	real := filepath.Join(f.Top, filepath.FromSlash(f.Rel))
	if !s.knownFiles[real] {
		s.knownFiles[real] = true
		s.files = append(s.files, f)
	}
}

// found adds a layer, unless it was already found below another top.
func (s *search) found(t *top, l *layer) {
	if first := s.known[l.real]; first != nil {
		t.layers = append(t.layers, first)
		return
	}
	s.known[l.real] = l
	s.layers = append(s.layers, l)
	t.layers = append(t.layers, l)
}

// findObjects adds the roots that are not directories.
func (s *search) findObjects() error {
	if len(s.files) == 0 {
		return nil
	}
	objects, skipped, err := s.Objects(s.ctx, s.files, s.allLayers)
	if err != nil {
		return err
	}
	s.skipped = skipped
	tops := map[string]*top{}
	for _, t := range s.tops {
		tops[t.real] = t
	}
	in := map[string]*top{}
	for _, f := range s.files {
		in[f.Path] = tops[f.Top]
	}
	for _, o := range objects {
		s.keys = append(s.keys, o.Key)
		l := &layer{dir: o.Name, rel: o.Name, real: o.Name, root: true, object: true, dirs: o.Dirs}
		t := in[o.File]
		if t == nil {
			t = s.tops[0]
		}
		s.layers, t.layers = append(s.layers, l), append(t.layers, l)
	}
	return nil
}

// allLayers reads the layers.
func (s *search) allLayers() (all []Layer, err error) {
	s.readUses = true
	if err := s.read(); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, l := range s.layers {
		at := Layer{Dir: l.dir, Rel: l.rel, Real: l.real, Root: l.root}
		for _, text := range l.uses {
			if other := s.other(l, text); other != nil && other != l {
				at.Uses, used[other.real] = append(at.Uses, other.real), true
			}
		}
		for _, text := range l.names {
			if _, file, ok := strings.Cut(text, "="); ok { // KEY=FILE of a generator
				text = file
			}
			if IsYAML(text) && !filepath.IsAbs(text) && !loaders.IsRemote(text) {
				at.Uses = append(at.Uses, filepath.Join(l.real, text))
			}
		}
		all = append(all, at)
	}
	for i := range all {
		all[i].Used = used[all[i].Real]
	}
	return all, nil
}

// IsYAML reports whether a file may contain objects, by its name.
func IsYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
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
			err.Hint("%s excludes %s below it", ignore.File, diag.Count(t.ignored, "folder"))
		}
		if n := len(s.skipped); n > 0 {
			err.Hint("%s left out, the first because: %s; to see all reasons: --gitops all", diag.Count(n, "GitOps object"), s.skipped[0].Reason)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// join returns the slash-separated path of a name in the directory rel.
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

// Decides reports whether a file of this name in a searched directory can affect which roots
// exist.
func Decides(name string) bool {
	return mayMakeLayer(name) || name == ignore.File || name == manifest.Name
}
