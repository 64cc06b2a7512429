// Package inputs says what decides about the output of a root: the files that its layers read, the directories of which they use all, the
// names that they looked for and did not find, and what they refer to that is remote.
//
// What comes of a root is the same as long as all of that is: see [loaders.Local.Observed]. It does not follow from the file system alone if
// functions ask a network or a clock, and neither settings of the user nor programs of the machine such as helm are inputs.
package inputs

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
)

// A Kind says how a root uses a path.
type Kind string

const (
	// File is a file that is read.
	File Kind = "file"
	// Link is a symbolic link that leads to something that is used.
	Link Kind = "link"
	// Folder is a directory of which all files count: that of a chart, for instance.
	Folder Kind = "folder"
	// Absent is what was looked for, and is not there, or is something else.
	Absent Kind = "absent"
)

// An Input is a path that decides about a root. It is absolute and leads through no symbolic link.
type Input struct {
	Path string
	Kind Kind
}

// A Remote is what a reference stands for.
type Remote struct {
	Reference string `json:"reference"`
	Version   string `json:"version"`
}

// A Root has the inputs of one root.
type Root struct {
	// Dir is its directory as the plan names it.
	Dir string
	// Inputs are sorted by path.
	Inputs []Input
	// Dirs are the directories of the layers that it is made of, sorted.
	Dirs []string
	// Remote are the references, sorted.
	Remote []Remote
	// Failed tells that it cannot be planned: then these inputs decide about its mistakes.
	Failed bool
}

// A Setting says what plans read besides what layers name.
type Setting struct {
	// Cwd is the absolute directory that relative paths start from.
	Cwd string
	// Functions are those of the plan.
	Functions planner.Functions
	// LockFile is the path of the lock file, and Vendor the folder of copies, whether they are there or not; empty for none.
	LockFile, Vendor string
	// Place has the files; if it is not this machine, it has what the plan was given as its file system.
	Place Place
}

// Of returns the inputs of the roots of a plan, in the order of dirs. [planner.Options.Observe] must have been set.
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
	catalogs []string            // files and folders that functions are found by
	archives map[string][]string // of programs, by root
	calls    map[string]bool     // roots that call functions
	fetches  map[string]bool     // roots that fetch what functions are made of
	folders  map[string][]Input
}

// functions finds out which roots call functions, and what decides about these.
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

// catalogFiles returns the files that decide what a catalog of this machine is: the catalog and its signatures, or the directory that catalogs
// are trusted below.
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

// found are the inputs of one root, by path.
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
	r := Root{Dir: name, Dirs: slices.Sorted(maps.Keys(f.dirs)), Failed: failed, Remote: slices.SortedFunc(maps.Keys(f.remote), func(a, b Remote) int { return strings.Compare(a.Reference+" "+a.Version, b.Reference+" "+b.Version) })}
	for _, path := range slices.Sorted(maps.Keys(f.kinds)) {
		r.Inputs = append(r.Inputs, Input{path, f.kinds[path]})
	}
	return r
}

// reference notes what was fetched for the root itself.
func (f *found) reference(name string) {
	for _, fetched := range f.plan.Fetched() {
		if fetched.Reference == name {
			f.remote[Remote{fetched.Reference, fetched.Version}] = true
		}
	}
}

// observed notes what layers have seen, and reports whether something was fetched, or nobody knows all that decides about them.
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

// onMachine returns the path that a file of the plan has, or would have, on this machine.
func (c *collector) onMachine(path string) string {
	if name, ok := loaders.GivenName(path); ok {
		return filepath.Join(c.Place.top, filepath.FromSlash(name))
	}
	return path
}

// follow notes the symbolic links in a path, and returns where they lead to.
func (f *found) follow(path string) string {
	at := f.links.resolve(path)
	for _, link := range at.links {
		f.add(link, Link)
	}
	return at.real
}

// add notes an input. What is there counts more than that it was not there as something else, and all of a directory more than that.
func (f *found) add(path string, kind Kind) {
	if was, ok := f.kinds[path]; !ok || was == Absent || kind == Folder {
		f.kinds[path] = kind
	}
}

// whatever notes a file, or a directory of which all counts, or that there is none.
func (f *found) whatever(path string) {
	for _, in := range f.whole(f.follow(path)) {
		f.add(in.Path, in.Kind)
	}
}

// whole returns what there is at a path: a directory with what symbolic links in it lead to.
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
	c.folders[path] = []Input{{path, Folder}} // links may lead in circles
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

// walk calls do for everything below a directory, and follows no links.
func (c *collector) walk(dir string, do func(path string, e fs.DirEntry)) {
	entries, _ := c.Place.ReadDir(dir) // what cannot be listed has nothing
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		do(path, e)
		if e.IsDir() {
			c.walk(path, do)
		}
	}
}
