// Package discovery opens repositories and reads files for GitOps objects, and reports errors in
// the objects.
package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Discovery resolves the references of the objects in a search. It opens each repository and
// reads each file once.
type Discovery struct {
	Env     *gitops.Env
	repos   map[[2]string]*Repo
	trees   map[string]*Tree
	sources map[string]*yaml.Source
	warned  map[warning]bool
}

// New returns a discovery for an environment.
func New(env *gitops.Env) *Discovery {
	return &Discovery{Env: env, repos: map[[2]string]*Repo{}, trees: map[string]*Tree{}, sources: map[string]*yaml.Source{},
		warned: map[warning]bool{}}
}

// A warning is the key of a reported warning. Applications of one ApplicationSet share their
// warnings.
type warning struct {
	pos diag.Pos
	msg string
}

// Warn reports a likely mistake once.
func (d *Discovery) Warn(e *diag.Error) {
	key := warning{e.Pos, e.Msg}
	if d.Env.Warn != nil && !d.warned[key] {
		d.warned[key] = true
		d.Env.Warn(e)
	}
}

// Decode stores v in the variable that into points to. at is the place of v. It warns about unknown
// fields and returns all other errors.
func (d *Discovery) Decode(v yaml.Value, at yaml.Place, into any) []error {
	placed := func(e *yaml.DecodeError) *diag.Error {
		p := at.Below(e.Path...)
		out := diag.Errorf(p.Pos(), p.Source.Field(p.At), "%s", e.Msg).With(e.Code)
		out.Hints = e.Hints
		return out
	}
	decoding := yaml.Decoding{AllowUnknown: true, Ignored: func(e *yaml.DecodeError) { d.Warn(placed(e)) }}
	var errs []error
	for _, e := range decoding.Decode(v, into) {
		errs = append(errs, placed(e))
	}
	return errs
}

// ErrorAt returns an error about the value at a place.
func ErrorAt(at yaml.Place, format string, args ...any) *diag.Error {
	return diag.Errorf(at.Pos(), at.Source.Field(at.At), format, args...)
}

// InText returns err, an error in the text at a place, with its position in the file.
func InText(at yaml.Place, err error) *diag.Error {
	e := diag.AsError(err)
	out := ErrorAt(at, "%s", e.Msg).With(diag.InvalidYAML)
	out.Hints = e.Hints
	if line := e.Pos.Line; line > 0 {
		out.Pos = at.Below(diag.TextLine(line)).Pos()
		if out.Pos == at.Pos() {
			out.Msg = fmt.Sprintf("line %d of the text: %s", line, e.Msg)
		}
	}
	return out
}

// Refused returns an error about a feature of Argo CD that krmflow does not support.
func Refused(at yaml.Place, format string, args ...any) *diag.Error {
	return ErrorAt(at, format, args...).With(diag.Unsupported)
}

// A Repo is a repository that an object refers to.
type Repo struct {
	gitops.Repo
	// Tree is nil if the repository is not on this machine.
	Tree *Tree
	err  error
}

// A Tree contains the files of a repository on this machine.
type Tree struct {
	fs.FS
	// Dir is the directory of the repository.
	Dir string
	// Walk sets Files and Dirs to slash-separated paths, in the order of the walk.
	Files, Dirs []string
	walked      bool
	listed      map[string][]string
}

// Repo returns the repository at a URL and revision. at is the field with the URL.
func (d *Discovery) Repo(at yaml.Place, url, revision string) (*Repo, error) {
	key := [2]string{url, revision}
	if r := d.repos[key]; r != nil {
		return r, r.err
	}
	r := &Repo{}
	r.Repo, r.err = d.Env.Repo(at, url, revision)
	if r.err == nil && r.Dir != "" {
		r.Tree = d.trees[r.Dir]
		if r.Tree == nil {
			var files fs.FS
			if files, r.err = d.Env.Open(r.Repo); r.err == nil {
				r.Tree = &Tree{FS: files, Dir: r.Dir}
				d.trees[r.Dir] = r.Tree
			}
		}
	}
	d.repos[key] = r
	return r, r.err
}

// Place returns the directory p of the repository as in [gitops.Part].
func (r *Repo) Place(p string) string {
	if r.Tree == nil {
		return r.Ref(p)
	}
	return filepath.Join(r.Dir, filepath.FromSlash(p))
}

// Read returns the file at a path in t. The name of the Source is below t.Dir.
func (d *Discovery) Read(t *Tree, name string) (*yaml.Source, error) {
	file := filepath.Join(t.Dir, filepath.FromSlash(name))
	if src := d.sources[file]; src != nil {
		return src, nil
	}
	data, err := fs.ReadFile(t.FS, name)
	if err != nil {
		return nil, err
	}
	src := &yaml.Source{File: file, Data: data}
	d.sources[file] = src
	return src, nil
}

// Walk lists the files and directories of a tree once. It skips the folder .git.
func (t *Tree) Walk() error {
	if t.walked {
		return nil
	}
	err := fs.WalkDir(t.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			t.Files = append(t.Files, name)
		case name == ".git":
			return fs.SkipDir
		case name != ".":
			t.Dirs = append(t.Dirs, name)
		}
		return nil
	})
	t.walked = err == nil
	return err
}

// List returns the names of the files in a directory, without folders. It caches them, because
// Applications often share a directory.
func (t *Tree) List(dir string) ([]string, error) {
	if names, ok := t.listed[dir]; ok {
		return names, nil
	}
	entries, err := fs.ReadDir(t.FS, dir)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if t.listed == nil {
		t.listed = map[string][]string{}
	}
	t.listed[dir] = names
	return names, nil
}

// IsDir reports whether a tree has a directory.
func (t *Tree) IsDir(name string) bool {
	info, err := fs.Stat(t.FS, name)
	return err == nil && info.IsDir()
}

// IsFile reports whether a tree has a file.
func (t *Tree) IsFile(name string) bool {
	info, err := fs.Stat(t.FS, name)
	return err == nil && !info.IsDir()
}

// Inside returns the path in a repository of the file or directory name. A name with a leading
// slash is relative to the repository, any other name to dir. Inside returns false for a path
// outside of the repository.
func Inside(dir, name string) (string, bool) {
	if strings.HasPrefix(name, "/") {
		dir = "."
	}
	p := path.Join(dir, name)
	if p = strings.TrimPrefix(p, "/"); p == "" {
		p = "."
	}
	return p, fs.ValidPath(p)
}

// IsMissing reports whether err means that a file does not exist.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// RootPlace returns at with an empty Path: the place of a whole value.
func RootPlace(at yaml.Place) yaml.Place {
	at.Path = nil
	return at
}
