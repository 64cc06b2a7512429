// Package argocd describes what Argo CD renders for the Applications and ApplicationSets in a tree.
// It follows Argo CD v3.3.0. It runs nothing: config management plugins and jsonnet are refused.
//
// Files are read in two places. Files that decide about the sources of an Application are read
// while roots are found: overrides (.argocd-source.yaml), value files, and the files of git
// generators. The kustomization file and the manifests of a directory are read by the planner,
// which calls [gitops.Part.Edit] for the edited file.
package argocd

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// group is the API group of Argo CD.
const group = "argoproj.io"

// Roots returns a root for each Application in env.Objects and for each Application that an
// ApplicationSet there generates, in the order of env.Objects. An ApplicationSet with mistakes has
// a root of its own, whose Errs report them.
func Roots(env *gitops.Env) []*gitops.Root {
	d := &discovery{env: env, repos: map[[2]string]*repo{}, trees: map[string]*tree{}, sources: map[string]*yaml.Source{},
		warned: map[warning]bool{}}
	var roots []*gitops.Root
	for _, o := range env.Requested() {
		switch {
		case o.Group != group:
		case o.Kind == "Application":
			roots = append(roots, d.application(o))
		case o.Kind == "ApplicationSet":
			roots = append(roots, d.applicationSet(o)...)
		}
	}
	return roots
}

// A discovery finds the roots of one tree. It opens each repository and reads each file once.
type discovery struct {
	env     *gitops.Env
	repos   map[[2]string]*repo
	trees   map[string]*tree
	sources map[string]*yaml.Source
	known   []*cluster // see clusters
	listed  bool
	warned  map[warning]bool
}

// A warning identifies a reported mistake. Applications of one ApplicationSet share their mistakes.
type warning struct {
	pos diag.Pos
	msg string
}

// warn reports a likely mistake once.
func (d *discovery) warn(e *diag.Error) {
	key := warning{e.Pos, e.Msg}
	if d.env.Warn != nil && !d.warned[key] {
		d.warned[key] = true
		d.env.Warn(e)
	}
}

// decode stores v, the value at place at, in the variable that into points to. It warns about
// unknown fields and returns the errors.
func (d *discovery) decode(v yaml.Value, at yaml.Place, into any) []error {
	placed := func(e *yaml.DecodeError) *diag.Error {
		p := at.Below(e.Path...)
		out := diag.Errorf(p.Pos(), p.Source.Field(p.At), "%s", e.Msg).With(e.Code)
		out.Hints = e.Hints
		return out
	}
	decoding := yaml.Decoding{AllowUnknown: true, Ignored: func(e *yaml.DecodeError) { d.warn(placed(e)) }}
	var errs []error
	for _, e := range decoding.Decode(v, into) {
		errs = append(errs, placed(e))
	}
	return errs
}

// errorAt returns an error about a place.
func errorAt(at yaml.Place, format string, args ...any) *diag.Error {
	return diag.Errorf(at.Pos(), at.Source.Field(at.At), format, args...)
}

// refused returns an error about a feature of Argo CD that krmflow does not run.
func refused(at yaml.Place, format string, args ...any) *diag.Error {
	return errorAt(at, format, args...).With(diag.Unsupported)
}

// A repo is a repository that an object refers to.
type repo struct {
	gitops.Repo
	url, revision string
	tree          *tree // nil if the repository is not on this machine
	err           error
}

// A tree is the content of a repository on this machine.
type tree struct {
	fs.FS
	dir         string
	files, dirs []string // slash-separated, in the order of a walk; see walk
	walked      bool
}

// repo returns the repository at a URL and revision. at is the field with the URL.
func (d *discovery) repo(at yaml.Place, url, revision string) (*repo, error) {
	key := [2]string{url, revision}
	if r := d.repos[key]; r != nil {
		return r, r.err
	}
	r := &repo{url: url, revision: revision}
	r.Repo, r.err = d.env.Repo(at, url, revision)
	if r.err == nil && r.Dir != "" {
		r.tree = d.trees[r.Dir]
		if r.tree == nil {
			var files fs.FS
			if files, r.err = d.env.Open(r.Repo); r.err == nil {
				r.tree = &tree{FS: files, dir: r.Dir}
				d.trees[r.Dir] = r.tree
			}
		}
	}
	d.repos[key] = r
	return r, r.err
}

// place returns the directory p of the repository as the planner names it.
func (r *repo) place(p string) string {
	if r.tree == nil {
		return r.Ref(p)
	}
	return filepath.Join(r.Dir, filepath.FromSlash(p))
}

// read returns a file of a tree. Its name is absolute.
func (d *discovery) read(t *tree, name string) (*yaml.Source, error) {
	file := filepath.Join(t.dir, filepath.FromSlash(name))
	if src := d.sources[file]; src != nil {
		return src, nil
	}
	data, err := fs.ReadFile(t, name)
	if err != nil {
		return nil, err
	}
	src := &yaml.Source{File: file, Data: data}
	d.sources[file] = src
	return src, nil
}

// walk lists the files and directories of a tree once. It skips the folder .git.
func (t *tree) walk() error {
	if t.walked {
		return nil
	}
	err := fs.WalkDir(t, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			t.files = append(t.files, name)
		case name == ".git":
			return fs.SkipDir
		case name != ".":
			t.dirs = append(t.dirs, name)
		}
		return nil
	})
	t.walked = err == nil
	return err
}

// isDir reports whether a tree has a directory.
func (t *tree) isDir(name string) bool {
	info, err := fs.Stat(t, name)
	return err == nil && info.IsDir()
}

// isFile reports whether a tree has a file.
func (t *tree) isFile(name string) bool {
	info, err := fs.Stat(t, name)
	return err == nil && !info.IsDir()
}

// inside returns the path of a file or directory of a repository. A path that begins with a slash
// is relative to the repository, any other to dir. It returns false for a path outside.
func inside(dir, name string) (string, bool) {
	if strings.HasPrefix(name, "/") {
		dir = "."
	}
	p := path.Join(dir, name)
	if p = strings.TrimPrefix(p, "/"); p == "" {
		p = "."
	}
	return p, fs.ValidPath(p)
}

// isMissing reports whether err is about a file that does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// uses adds an object that determines a root.
func uses(root *gitops.Root, objects ...*gitops.Object) {
	for _, o := range objects {
		if o != nil && !slices.Contains(root.Uses, o) {
			root.Uses = append(root.Uses, o)
		}
	}
}

// reads adds a file that determines a root.
func reads(root *gitops.Root, src *yaml.Source) {
	if !slices.Contains(root.Files, src) {
		root.Files = append(root.Files, src)
	}
}
