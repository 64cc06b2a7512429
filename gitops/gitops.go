// Package gitops describes how the controllers of Argo CD and Flux render their objects. Packages
// argocd and flux decode the objects. Decoding runs no functions and no charts.
//
// A controller edits the kustomization file of a directory, builds the directory, and changes the
// resulting resources. A [Root] describes these steps, and package planner compiles it into a
// graph.
package gitops

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Object is an object of a cluster. It comes from a file, from an ApplicationSet that generates
// it, or from the output of a rendered root.
type Object struct {
	Group, Kind, Namespace, Name string
	// Value is the content of the object: document Doc of Source.
	Value  yaml.Value
	Source *yaml.Source
	Doc    int
	// Tree is the absolute path of the searched directory, without symbolic links.
	Tree string
	// Near is the directory of the object's file: a slash-separated path below the searched
	// directory. For an object in the output of a root, it is the directory of the root or, if the
	// root is an object, Near of that object.
	Near string
	// By identifies the root whose output contains the object. It is "" for an object in a file.
	By string
}

// Place returns the place of the field at path.
func (o *Object) Place(path ...any) yaml.Place {
	return yaml.Place{Source: o.Source, Doc: o.Doc, At: path}
}

// Part returns a Source that contains only o.
func (o *Object) Part() *yaml.Source {
	return yaml.Assemble(o.Source.File, o.Value, yaml.Place{Source: o.Source, Doc: o.Doc})
}

// Errorf returns an error about the field at path.
func (o *Object) Errorf(path []any, format string, args ...any) *diag.Error {
	p := o.Place(path...)
	return diag.Errorf(p.Pos(), p.Source.Field(path), format, args...)
}

// A Repo is a repository at a revision.
type Repo struct {
	// Dir is the directory of the repository on this machine: an absolute path without symbolic
	// links. In a search of a git revision, it is a path in the revision. If Dir is empty, Ref
	// returns the remote reference to a directory of the repository, for package loaders.
	Dir string
	Ref func(path string) string
	// Guessed reports that Dir is the searched tree although the address of the tree is unknown.
	// The tree may be a different repository.
	Guessed bool
}

// Place returns the directory at a slash-separated path in the repository: a directory on this
// machine, or a reference. If Dir is a guess, Place returns a reference for the path ".", because
// the whole tree may be a different repository.
func (r Repo) Place(path string) string {
	if r.Dir == "" || r.Guessed && path == "." {
		return r.Ref(path)
	}
	return filepath.Join(r.Dir, filepath.FromSlash(path))
}

// Searched is a URL for [Env.Repo]. It selects the searched tree itself.
const Searched = "."

// An Env resolves references from objects to other objects and to repositories.
type Env struct {
	// Objects are all objects found, including ConfigMaps, Secrets and sources. Wanted are the
	// objects with requested roots; nil means all Objects.
	Objects, Wanted []*Object
	// Repo returns the repository at a URL and revision. An empty revision selects the default
	// revision. at is the field with the URL. The error is the reason for a refusal.
	Repo func(at yaml.Place, url, revision string) (Repo, error)
	// Open returns the files of a Repo with a directory on this machine.
	Open func(Repo) (fs.FS, error)
	// Clusters is a file that lists clusters for ApplicationSets. It may be nil.
	Clusters *yaml.Source
	// Warn reports a likely mistake.
	Warn func(*diag.Error)

	index map[string][]*Object
}

// Requested returns the objects with requested roots.
func (e *Env) Requested() []*Object {
	if e.Wanted == nil {
		return e.Objects
	}
	return e.Wanted
}

// Add appends to Objects.
func (e *Env) Add(objects ...*Object) { e.Objects, e.index = append(e.Objects, objects...), nil }

// Find returns the object with a kind, namespace and name, or nil if there is none. If several
// clusters declare such an object, Find returns the nearest object to by, which contains the
// reference.
func (e *Env) Find(by *Object, group, kind, namespace, name string) *Object {
	if e.index == nil {
		e.index = map[string][]*Object{}
		for _, o := range e.Objects {
			key := path.Join(o.Group, o.Kind, o.Namespace, o.Name)
			e.index[key] = append(e.index[key], o)
		}
	}
	var found *Object
	best := -1
	for _, o := range e.index[path.Join(group, kind, namespace, name)] {
		if n := near(o.Near, by.Near); n > best {
			found, best = o, n
		}
	}
	return found
}

// near returns the length of the longest directory path that both directories begin with.
func near(a, b string) (n int) {
	for i := 0; i <= len(a) && i <= len(b); i++ {
		if i == len(a) || i == len(b) || a[i] != b[i] {
			if (i == len(a) || a[i] == '/') && (i == len(b) || b[i] == '/') {
				n = i
			}
			break
		}
		if a[i] == '/' {
			n = i
		}
	}
	return n
}

// A Root describes the rendering of an object by its controller.
type Root struct {
	Object *Object
	// Parts are rendered separately. The output has their resources in this order.
	Parts []Part
	// Steps change the resources of all parts.
	Steps []Step
	// Errs are the reasons why krmflow cannot render the root as the controller does.
	Errs []error
	// Uses are the other objects that determine the root. Files are the other files read for it so
	// far.
	Uses  []*Object
	Files []*yaml.Source
	// DependsOn are the objects that the controller applies before this one.
	DependsOn []Dependency
	// Tracking is the method of [Root.Track], if it was called.
	Tracking Tracking
}

// A Dependency is a reference from one object to another, with its place. Package search sets
// Roots: the name of the object's root or, if the object is left out, of the roots that it depends
// on.
type Dependency struct {
	Group, Kind, Namespace, Name string
	At                           yaml.Place
	Roots                        []string
}

// After returns the names of the roots that the controller applies before r.
func (r *Root) After() (names []string) {
	for _, d := range r.DependsOn {
		for _, name := range d.Roots {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Sources returns the files that determine r: the files of its object and of Uses, and Files.
func (r *Root) Sources() []*yaml.Source {
	var list []*yaml.Source
	for _, o := range append([]*Object{r.Object}, r.Uses...) {
		if src := o.Place().Origin(); !slices.Contains(list, src) {
			list = append(list, src)
		}
	}
	return append(list, r.Files...)
}

// A Part is a directory with an edited kustomization file.
type Part struct {
	// Dir is an absolute path on this machine, or the reference of a remote directory. It is empty
	// for a chart from a Helm repository.
	Dir string
	// At is the field that names the directory.
	At yaml.Place
	// Chart reports that the kustomization file lists a chart. Secret reports that the values of
	// the chart include values of a Secret; helm's output is then not cached.
	Chart, Secret bool
	// ChartDir is the directory of a chart on this machine, below Dir or equal to it. It is empty
	// for other charts.
	ChartDir string
	// Within is a directory, in the form of Dir. Layers may read only files in it. If it is empty,
	// a layer may read only files in its own directory.
	Within string
	// Edit returns the kustomization file that the controller builds. old is the existing file in
	// the directory, or nil. The result is a Source of [yaml.Assemble]. The error is a
	// [*diag.Error].
	Edit func(dir Dir, old *yaml.Source) (*yaml.Source, error)
}

// A Dir is the directory of a [Part].
type Dir interface {
	// Files returns the slash-separated paths of all regular files in the directory and below it,
	// in lexical order.
	Files() ([]string, error)
	// Read returns the file at a slash-separated path.
	Read(path string) (*yaml.Source, error)
}

// A Step changes the resources that a root has rendered.
type Step struct {
	builtins.Transformer
	// At is the field that configures the step. Summary describes the step in a plan, without
	// values of Secrets.
	At      yaml.Place
	Summary string
}

// A Placer is a step with values from several places, some of them outside its configuration.
type Placer interface {
	builtins.Causer
	// PlaceOf returns the position of the value that caused an edit. It returns false if the
	// position is unknown.
	PlaceOf(e builtins.Edit) (diag.Pos, bool)
	// Values returns a string that changes whenever the values change. It may contain values of
	// Secrets and must not be displayed.
	Values() string
}
