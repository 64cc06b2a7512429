// Package gitops describes what the controllers of Argo CD and Flux render for their objects. The
// packages argocd and flux decode the objects. Nothing here runs a function or a chart.
//
// A controller edits the kustomization file of a directory, builds the directory, and changes the
// result. A [Root] is a description of this: package planner compiles it into a graph.
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

// An Object is one object of a cluster, as written in a file or produced by an ApplicationSet or
// a rendered root.
type Object struct {
	Group, Kind, Namespace, Name string
	// Value is the object. It is document Doc of Source.
	Value  yaml.Value
	Source *yaml.Source
	Doc    int
	// Tree is the absolute path of the searched directory, without symbolic links.
	Tree string
	// Near is the slash-separated directory of the object's file, below the searched directory. For
	// an object in the output of a root, it is the directory that leads to the root.
	Near string
	// By is the name of the root whose output contains the object, "" for an object in a file.
	By string
}

// Place returns the place of a field of o.
func (o *Object) Place(path ...any) yaml.Place {
	return yaml.Place{Source: o.Source, Doc: o.Doc, At: path}
}

// Part returns o as a Source of its own.
func (o *Object) Part() *yaml.Source {
	return yaml.Assemble(o.Source.File, o.Value, yaml.Place{Source: o.Source, Doc: o.Doc})
}

// Errorf returns an error about the field at path.
func (o *Object) Errorf(path []any, format string, args ...any) *diag.Error {
	p := o.Place(path...)
	return diag.Errorf(p.Pos(), p.Source.Field(path), format, args...)
}

// A Repo is the content of a repository at a revision.
type Repo struct {
	// Dir is an absolute directory on this machine without symbolic links. If it is empty, Ref
	// returns the reference that package loaders fetches for a directory of the repository.
	Dir string
	Ref func(path string) string
	// Guessed reports that Dir is the searched tree, which may be a different repository: nothing
	// tells its address.
	Guessed bool
}

// Place returns the directory at a slash-separated path in the repository: an absolute directory on
// this machine, or a reference. The whole tree is not taken for a different repository.
func (r Repo) Place(path string) string {
	if r.Dir == "" || r.Guessed && path == "." {
		return r.Ref(path)
	}
	return filepath.Join(r.Dir, filepath.FromSlash(path))
}

// Searched is the URL of the searched tree itself for [Env.Repo].
const Searched = "."

// An Env finds what objects refer to.
type Env struct {
	// Objects are all objects found. They include ConfigMaps, Secrets and sources. Wanted are those
	// of them whose roots are requested, nil for all.
	Objects, Wanted []*Object
	// Repo returns the repository at a URL and revision; an empty revision means its default. The
	// place names the field with the URL. The error says why it is refused.
	Repo func(at yaml.Place, url, revision string) (Repo, error)
	// Open returns the files of a Repo whose directory is on this machine.
	Open func(Repo) (fs.FS, error)
	// Clusters is a file with clusters for ApplicationSets, or nil.
	Clusters *yaml.Source
	// Warn reports a likely mistake.
	Warn func(*diag.Error)

	index map[string][]*Object
}

// Requested returns the objects whose roots are requested.
func (e *Env) Requested() []*Object {
	if e.Wanted == nil {
		return e.Objects
	}
	return e.Wanted
}

// Add adds objects.
func (e *Env) Add(objects ...*Object) { e.Objects, e.index = append(e.Objects, objects...), nil }

// Find returns the object of a kind by namespace and name, nil if there is none. Several clusters
// may have an object of this name: Find returns the one that is nearest to the object by, which
// refers to it.
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

// near returns the length of the path that two directories have in common.
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

// A Root is what a controller renders for an object.
type Root struct {
	Object *Object
	// Parts are rendered separately. Their resources follow one another.
	Parts []Part
	// Steps change the resources of all parts.
	Steps []Step
	// Errs say why the root cannot be rendered as the controller would.
	Errs []error
	// Uses are the other objects that determine the root, and Files the files read for it so far.
	Uses  []*Object
	Files []*yaml.Source
	// After are the objects that must be applied before this one.
	After []*Object
}

// Sources returns the files of the object of r, of the objects that it uses, and of Files.
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
	// Dir is an absolute path on this machine or the reference of a remote directory.
	Dir string
	// At is the field that names the directory.
	At yaml.Place
	// Chart reports that the kustomization file lists a chart, and Secret that its values contain
	// those of a Secret: helm's output is then not cached.
	Chart, Secret bool
	// Within is the directory whose files layers may read, as in Dir; "" means their own
	// directories.
	Within string
	// Edit returns the kustomization file that the controller builds. old is the file in the
	// directory, nil if there is none. The result is assembled: see [yaml.Assemble]. The error is a
	// [*diag.Error].
	Edit func(dir Dir, old *yaml.Source) (*yaml.Source, error)
}

// A Dir is the directory of a [Part].
type Dir interface {
	// Files returns the slash-separated paths of the regular files at and below the directory, in
	// lexical order.
	Files() ([]string, error)
	// Read returns a file.
	Read(path string) (*yaml.Source, error)
}

// A Step is a change of the resources that a root has rendered.
type Step struct {
	builtins.Transformer
	// At is the field that configures the step, and Summary describes it in a plan, without values
	// of Secrets.
	At      yaml.Place
	Summary string
}

// A Placer is a step that gets values from several places, which are not all in its configuration.
type Placer interface {
	builtins.Causer
	// PlaceOf returns the position of the value that caused an edit, false if it is unknown.
	PlaceOf(e builtins.Edit) (diag.Pos, bool)
	// Values returns a text that differs if the values do. It must not be displayed.
	Values() string
}
