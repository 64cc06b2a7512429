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
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/internal/sys/ignore"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/planner/layerfile"
	"golang.org/x/sync/errgroup"
)

// A Selection selects roots below a directory. The zero Selection selects all.
type Selection struct {
	// Leaves excludes layers that other layers use, except roots that match a pattern in Keep, such
	// as bases that are also installed directly. A pattern without a slash matches at any depth.
	Leaves bool
	Keep   []string
	// Only and Exclude are patterns, see package glob. A root must match one of Only, unless it
	// is empty, and none of Exclude. Patterns are matched against the path of the root, and of
	// the folders that contain it, relative to the searched directory.
	Only, Exclude []string
	// Hidden also searches directories with a leading dot, except .git.
	Hidden bool
	// Jobs is the number of directories and files to read concurrently; less than 2 means one.
	Jobs int
	// Dirs receives the entries of the searched directories of this machine. It may be nil.
	Dirs *filestat.Dirs
	// Visit is called with the absolute path, without symbolic links, of each searched directory.
	// It may be nil.
	Visit func(dir string)
	// Objects returns the roots that YAML files contain, besides the directories. It may be nil.
	// layers reads the layers in the searched directories.
	// skipped are objects that cannot be rendered.
	Objects func(ctx context.Context, files []File, layers func() ([]Layer, error)) (found []Object, skipped []Skipped, err error)
	// Recall enables the use of Known, the files that an earlier search has read, and sets
	// [Found.Known].
	Recall bool
	Known  Known
	// FS contains the directories; nil means this machine's file system. Its Open and Stat must
	// follow symbolic links.
	FS fs.FS
}

// A File is a YAML file at or below a searched directory. Top is that directory without symbolic
// links, and Rel the slash-separated path of the file below it. The function that reads the file
// may use Traits and add to them; concurrent calls are for different files.
type File struct {
	Path, Top, Rel string
	Traits         *Traits
}

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
	// Known are the files that this search or an earlier one has read, nil if there are no others
	// than before.
	Known Known
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
	w := &search{ctx: ctx, Selection: s, known: map[string]*layer{}, knownFiles: map[string]bool{}, folders: map[string][]*file{},
		begun: time.Now()}
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
	found, err := w.choose(only, exclude, keep)
	if err == nil && s.Recall {
		found.Known = w.learned()
	}
	return found, err
}

// A search is one call of [Selection.Find].
type search struct {
	ctx context.Context
	Selection
	tops    []*top
	layers  []*layer
	known   map[string]*layer // by the path without symbolic links
	ignored []string
	files   []File             // if there is an Objects function
	folders map[string][]*file // by the paths of directories without symbolic links
	begun   time.Time
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
	dir   string // as displayed in messages
	rel   string // relative to the top, with slashes
	real  string
	files []*file // may make it a layer
	root  bool    // it can be rendered, unlike a Component
	given bool    // named by the user, but not a directory
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
	var g errgroup.Group
	if g.SetLimit(0); s.FS == nil {
		g.SetLimit(max(s.Jobs-1, 0))
	}
	f := &folder{dir: filepath.Clean(dir), rel: "."}
	s.walk(&g, t, f, nil)
	_ = g.Wait() // errors are in the folders
	return s.add(t, f)
}

// A folder is a searched directory.
type folder struct {
	dir, rel string // as in layer
	entries  []fs.DirEntry
	rules    *ignore.Rules
	layer    []*file // may make it a layer
	files    []File  // may contain objects
	all      []*file // both
	below    []*folder
	err      error
	// isOutput reports that krmflow wrote the directory, which is then not searched.
	isOutput bool
}

// walk searches a directory and all directories below it, concurrently as far as g allows. rules
// are the rules of the directories above it.
func (s *search) walk(g *errgroup.Group, t *top, f *folder, rules *ignore.Rules) {
	if f.err = context.Cause(s.ctx); f.err != nil {
		return
	}
	entries, err := s.readDir(f.dir)
	if err == nil && hasIgnoreFile(entries) {
		rules, err = s.readRules(f.dir, f.rel, rules)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = fmt.Errorf("%s: %w", f.dir, pe.Err)
		}
		f.err = err
		return
	}
	f.entries, f.rules = entries, rules
	if f.isOutput = s.isOutput(f.dir, entries); f.isOutput {
		return
	}
	known := s.Known[filepath.Join(t.real, filepath.FromSlash(f.rel))]
	var looker filestat.Looker
	for _, d := range entries {
		name := d.Name()
		switch {
		case !d.IsDir():
			s.look(t, f, d, known, &looker)
		case name[0] == '.' && (!s.Hidden || name == ".git"):
		case !rules.Ignores(join(f.rel, name), true):
			f.below = append(f.below, &folder{dir: filepath.Join(f.dir, name), rel: join(f.rel, name)})
		}
	}
	looker.Close() // not later: directories can be nested deeply
	for _, sub := range f.below {
		if !g.TryGo(func() error { s.walk(g, t, sub, rules); return nil }) {
			s.walk(g, t, sub, rules)
		}
	}
}

// look examines a file in a directory.
func (s *search) look(t *top, f *folder, d fs.DirEntry, known []KnownFile, looker *filestat.Looker) {
	name := d.Name()
	layer, object := mayMakeLayer(name), s.Objects != nil && d.Type().IsRegular() && IsYAML(name)
	if !layer && !object || f.rules.Ignores(join(f.rel, name), false) {
		return
	}
	at := &file{KnownFile{Name: name}}
	path := filepath.Join(f.dir, name)
	if s.Recall && d.Type().IsRegular() {
		_, at.Stat, _ = looker.Lstat(path)
		at.Traits = traitsOf(known, at.KnownFile)
	}
	f.all = append(f.all, at)
	if layer {
		f.layer = append(f.layer, at)
	}
	if object {
		f.files = append(f.files, File{Path: path, Top: t.real, Rel: join(f.rel, name), Traits: &at.Traits})
	}
}

// add adds what walk has found, in the order of the directories.
func (s *search) add(t *top, f *folder) error {
	real := filepath.Join(t.real, filepath.FromSlash(f.rel))
	if s.Visit != nil {
		s.Visit(real)
	}
	if f.err != nil {
		return f.err
	}
	if s.Dirs != nil {
		var files []filestat.File
		for _, at := range f.all {
			if at.Stat != (filestat.Stat{}) {
				files = append(files, filestat.File{Name: at.Name, Stat: at.Stat})
			}
		}
		s.Dirs.List(real, f.entries, files)
	}
	if f.isOutput {
		return nil
	}
	if s.folders[real] == nil { // not yet found below another top, whose files are read
		s.folders[real] = f.all
	}
	for _, file := range f.files {
		s.addFile(file)
	}
	if len(f.layer) > 0 {
		s.found(t, &layer{dir: f.dir, rel: f.rel, real: real, files: f.layer})
	}
	below := f.below
	for _, d := range f.entries {
		name := d.Name()
		switch {
		case !d.IsDir() || name[0] == '.' && (!s.Hidden || name == ".git"):
		case len(below) > 0 && below[0].rel == join(f.rel, name):
			if err := s.add(t, below[0]); err != nil {
				return err
			}
			below = below[1:]
		default:
			s.ignored = append(s.ignored, filepath.Join(f.dir, name))
			t.ignored++
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
