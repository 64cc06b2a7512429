// Package inputs determines the inputs of a root: the files that its layers read, the
// directories that are used as a whole, the paths that were looked up but do not exist, and
// remote references.
//
// The output of a root stays the same as long as its inputs do: see [loaders.Local.Observed].
// This does not hold if functions use the network or the clock. User settings and installed
// programs such as helm are not part of the inputs.
package inputs

import (
	"cmp"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A Kind describes the use of a path.
type Kind string

const (
	// File is a file that is read.
	File Kind = "file"
	// Link is a symbolic link on the path to an input.
	Link Kind = "link"
	// Folder is a directory whose entire content is used, such as a chart.
	Folder Kind = "folder"
	// Absent is a path that was looked up but does not exist or has a different type.
	Absent Kind = "absent"
)

// An Input is a path that the output of a root depends on. The path is absolute and contains no
// symbolic links.
type Input struct {
	Path string
	Kind Kind
}

// A Remote is a remote reference and its resolved version.
type Remote struct {
	Reference string `json:"reference"`
	Version   string `json:"version"`
}

// A Root holds the inputs of one root.
type Root struct {
	// Dir is the directory of the root as named in the plan.
	Dir string
	// Inputs are sorted by path.
	Inputs []Input
	// Dirs are the directories of the root's layers, sorted.
	Dirs []string
	// Remote holds the remote references, sorted.
	Remote []Remote
	// Failed reports that the root cannot be planned. Its errors then depend on the inputs.
	Failed bool
	// Object is the kind of a GitOps object, "" for a directory. Sources are the local directories
	// that it renders, without symbolic links.
	Object  string
	Sources []string
}

// AddObject adds the inputs of a GitOps object that layers do not read: value files, and with own
// also the files of the object and of the objects that it refers to. Relative paths are relative to
// cwd.
func (r *Root) AddObject(o *gitops.Root, cwd string, own bool) {
	r.Object = o.Object.Kind
	charts := map[string]bool{} // directories of the generated layers with charts
	for _, p := range o.Parts {
		switch {
		case p.Chart:
			charts[cmp.Or(p.Dir, o.Object.Tree)] = true
			if p.ChartDir != "" {
				r.Sources = append(r.Sources, p.ChartDir)
			}
		case filepath.IsAbs(p.Dir):
			r.Sources = append(r.Sources, p.Dir)
		}
	}
	r.withoutLayers(charts)
	files := o.Files
	if own {
		files = o.Sources()
	}
	for _, src := range files {
		path := src.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		if in := (Input{RealDir(path), File}); !slices.Contains(r.Inputs, in) {
			r.Inputs = append(r.Inputs, in)
		}
	}
	slices.SortFunc(r.Inputs, func(a, b Input) int { return strings.Compare(a.Path, b.Path) })
}

// withoutLayers removes the layers in directories that only have generated kustomization files. If
// a directory also has such a file, other layers may use it, and it is not removed.
func (r *Root) withoutLayers(dirs map[string]bool) {
	isLayerFile := func(in Input) bool {
		name := filepath.Base(in.Path)
		return dirs[filepath.Dir(in.Path)] && (slices.Contains(layerfile.Names, name) || slices.Contains(layerfile.CompositionNames, name))
	}
	for _, in := range r.Inputs {
		if in.Kind != Absent && isLayerFile(in) {
			delete(dirs, filepath.Dir(in.Path))
		}
	}
	r.Dirs = slices.DeleteFunc(r.Dirs, func(dir string) bool { return dirs[dir] })
	r.Inputs = slices.DeleteFunc(r.Inputs, func(in Input) bool { return in.Kind == Absent && isLayerFile(in) })
}

// A Setting describes the inputs of a plan that layers do not name.
type Setting struct {
	// Cwd is the absolute directory that relative paths are resolved against.
	Cwd string
	// Functions are the function settings of the plan.
	Functions planner.Functions
	// LockFile is the path of the lock file and Vendor the folder of vendored copies. They need
	// not exist; empty means none.
	LockFile, Vendor string
	// Place provides access to the files. If the plan was made from a different file system than
	// this machine's, Place must provide the same one.
	Place Place
}

// Of returns the inputs of the roots of a plan, in the order of dirs. The plan must have been
// made with [planner.Options.Observe].
func Of(plan *planner.Plan, dirs []string, s Setting) []Root {
	c := &collector{Setting: s, plan: plan, links: resolver{s.Place, map[string]resolved{}}, folders: map[string][]Input{}}
	c.functions()
	failed := map[string]bool{}
	for _, f := range plan.Failed {
		failed[f.Dir] = true
	}
	roots := make([]Root, len(dirs))
	for i, dir := range dirs {
		name := diag.Redact(dir)
		roots[i] = c.root(name, failed[name])
	}
	return roots
}

// collector collects the inputs of roots.
type collector struct {
	Setting
	plan     *planner.Plan
	links    resolver
	catalogs []string            // files and folders of function catalogs
	archives map[string][]string // of programs, by root
	calls    map[string]bool     // roots that call functions
	fetches  map[string]bool     // roots that fetch images or programs of functions
	folders  map[string][]Input
}

// functions determines the roots that call functions, and the inputs that these calls add.
func (c *collector) functions() {
	c.archives, c.calls, c.fetches = map[string][]string{}, map[string]bool{}, map[string]bool{}
	calls, fetches, archives := map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}
	for call, n := range c.plan.Graph.Calls() {
		f := call.Function
		calls[n.ID] = call.Chart == nil // helm is in no catalog
		if f.URI != "" || f.Image != "" {
			fetches[n.ID] = true
		}
		if f.Archive != "" {
			if archives[f.Archive] == nil {
				archives[f.Archive] = map[string]bool{}
			}
			archives[f.Archive][n.ID] = true
		}
	}
	for _, root := range c.plan.Graph.RootsThatNeed(calls) {
		c.calls[root.Dir] = true
	}
	for _, root := range c.plan.Graph.RootsThatNeed(fetches) {
		c.fetches[root.Dir] = true
	}
	for archive, nodes := range archives {
		for _, root := range c.plan.Graph.RootsThatNeed(nodes) {
			c.archives[root.Dir] = append(c.archives[root.Dir], archive)
		}
	}
	for _, src := range c.Functions.Trusted {
		if ref, err := catalog.ParseRef(src.Ref); err == nil && src.Content == nil && !ref.Remote() {
			c.catalogs = append(c.catalogs, c.catalogFiles(ref, src.Below)...)
		}
	}
}

// catalogFiles returns the files that determine a local catalog: the catalog and its signatures.
// If below is set, ref is a directory that contains trusted catalogs, and the result is that
// directory.
func (c *collector) catalogFiles(ref catalog.Ref, below bool) []string {
	files := []string{c.absolute(ref.Location)}
	for _, p := range c.Functions.Publishers {
		if below || !p.Covers(ref) {
			continue
		}
		for _, end := range p.Ends() {
			files = append(files, c.absolute(ref.Sibling(end).Location))
		}
	}
	return files
}

func (c *collector) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Cwd, path)
}

// found holds the inputs of one root by path.
type found struct {
	*collector
	kinds  map[string]Kind
	dirs   map[string]bool
	remote map[Remote]bool
}

func (c *collector) root(name string, failed bool) Root {
	f := &found{c, map[string]Kind{}, map[string]bool{}, map[Remote]bool{}}
	seen, ok := c.plan.Observed(name)
	fetches := c.fetches[name] || !ok || failed
	for _, o := range seen {
		fetches = f.observed(o) || fetches
	}
	if !ok {
		f.reference(name)
		if !loaders.IsRemote(name) && c.Place.files == nil {
			f.whatever(c.absolute(name))
		}
	}
	if c.calls[name] || fetches {
		for _, path := range c.catalogs {
			f.whatever(path)
		}
	}
	for _, path := range c.archives[name] {
		f.whatever(path)
	}
	if fetches {
		for _, path := range []string{c.LockFile, c.Vendor} {
			if path != "" {
				f.whatever(c.absolute(path))
			}
		}
	}
	r := Root{Dir: name, Dirs: slices.Sorted(maps.Keys(f.dirs)), Failed: failed, Remote: slices.SortedFunc(maps.Keys(f.remote),
		func(a, b Remote) int { return strings.Compare(a.Reference+" "+a.Version, b.Reference+" "+b.Version) })}
	for _, path := range slices.Sorted(maps.Keys(f.kinds)) {
		r.Inputs = append(r.Inputs, Input{path, f.kinds[path]})
	}
	return r
}

// reference records the fetch of the root itself.
func (f *found) reference(name string) {
	for _, fetched := range f.plan.Fetched() {
		if fetched.Reference == name {
			f.remote[Remote{fetched.Reference, fetched.Version}] = true
		}
	}
}

// observed records an observation of a layer as an input. It reports whether content was
// fetched, or the observations are incomplete so that a fetch is possible.
func (f *found) observed(o *loaders.Observation) (fetches bool) {
	if o.InFetched {
		return false
	}
	if o.Kind == loaders.SawFetched {
		f.remote[Remote{diag.Redact(o.Path), o.Came}] = true
		return true
	}
	if o.Kind == loaders.SawOther && o.Path == "" {
		return true
	}
	path := f.onMachine(o.Path)
	switch o.Kind {
	case loaders.SawFile:
		if o.Plain {
			f.add(path, File)
		} else {
			f.add(f.follow(path), File)
		}
	case loaders.SawDir:
		f.dirs[f.follow(path)] = true
	case loaders.SawNothing, loaders.SawNoDir:
		f.add(f.follow(path), Absent)
	default:
		f.whatever(path)
	}
	return false
}

// onMachine returns the path on this machine for a path of the plan.
func (c *collector) onMachine(path string) string {
	if name, ok := loaders.GivenName(path); ok {
		return filepath.Join(c.Place.top, filepath.FromSlash(name))
	}
	return path
}

// follow records the symbolic links in a path and returns the resolved path.
func (f *found) follow(path string) string {
	at := f.links.resolve(path)
	for _, link := range at.links {
		f.add(link, Link)
	}
	return at.real
}

// add records an input. An existing file or link takes precedence over Absent, and Folder takes
// precedence over both.
func (f *found) add(path string, kind Kind) {
	if was, ok := f.kinds[path]; !ok || was == Absent || kind == Folder {
		f.kinds[path] = kind
	}
}

// whatever records a path with its actual kind: a file, a whole directory, or an absent path.
func (f *found) whatever(path string) {
	for _, in := range f.whole(f.follow(path)) {
		f.add(in.Path, in.Kind)
	}
}

// whole returns the inputs for a path. For a directory they include the targets of the symbolic
// links in it.
func (c *collector) whole(path string) []Input {
	if known, ok := c.folders[path]; ok {
		return known
	}
	info, err := c.Place.Lstat(path)
	switch {
	case err != nil:
		return []Input{{path, Absent}}
	case !info.IsDir():
		return []Input{{path, File}}
	}
	c.folders[path] = []Input{{path, Folder}} // prevents endless recursion for cyclic links
	all := []Input{{path, Folder}}
	c.walk(path, func(at string, e fs.DirEntry) {
		if e.Type()&fs.ModeSymlink == 0 {
			return
		}
		to := c.links.resolve(at)
		for _, link := range to.links {
			all = append(all, Input{link, Link})
		}
		all = append(all, c.whole(to.real)...)
	})
	c.folders[path] = all
	return all
}

// walk calls do for all entries below a directory. It does not follow symbolic links.
func (c *collector) walk(dir string, do func(path string, e fs.DirEntry)) {
	entries, _ := c.Place.ReadDir(dir) // an unreadable directory is treated as empty
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		do(path, e)
		if e.IsDir() {
			c.walk(path, do)
		}
	}
}
