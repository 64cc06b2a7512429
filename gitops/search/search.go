// Package search finds objects of Argo CD and Flux in files, and the roots that the controllers
// render for them.
package search

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd"
	"github.com/krmflow/krmflow/gitops/flux"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/roots"
)

// A Mode selects the controllers whose objects become roots.
type Mode string

// The modes. Auto selects the objects of all controllers that can be rendered from the searched
// directories alone. In the other modes, an object that cannot be rendered is an error.
const (
	Auto   Mode = "auto"
	All    Mode = "all"
	ArgoCD Mode = "argocd"
	Flux   Mode = "flux"
	None   Mode = "none"
)

// Modes are all modes.
var Modes = []Mode{Auto, All, ArgoCD, Flux, None}

// Kinds are the kinds of roots.
var Kinds = []string{"Application", "HelmRelease", "Kustomization"}

// Options control a search. The zero Options find nothing.
type Options struct {
	Mode Mode
	// Sources maps addresses of repositories to directories on this machine.
	Sources map[string]string
	// Clusters is the path of a file with clusters for ApplicationSets, or "".
	Clusters string
	// Charts enables charts. If it is not set, Auto leaves out objects with charts.
	Charts bool
	// Tracking adds metadata of the controllers to all resources.
	Tracking gitops.Tracking
	// Jobs is the number of files read concurrently; less than 2 means one.
	Jobs int
	// FS contains the files; nil means this machine's file system. With FS, Top is the directory of
	// this machine that corresponds to FS, and Prefix precedes file names in messages.
	FS          fs.FS
	Top, Prefix string
	// Layers reads the layers in the searched directories. Render renders roots without functions.
	// names are directories or names of objects. The result lacks roots that cannot be rendered.
	Layers func() ([]roots.Layer, error)
	Render func(ctx context.Context, names []string, objects map[string]*gitops.Root) (map[string]*krm.List, error)
	// Warn reports likely mistakes.
	Warn func(*diag.Error)
}

// A File is a YAML file below a searched directory. Name is its path for messages. Rel is its
// slash-separated path below the directory. Tree is the path of the directory without symbolic
// links. Traits are the known properties of the file. Find adds the properties that it finds.
type File struct {
	Name, Tree, Rel string
	Traits          *roots.Traits
}

// Found is the result of [Find].
type Found struct {
	// Roots are the roots by name, and Names are the sorted names. A name has the form
	// KIND/NAMESPACE/NAME. If several objects have the same name, the directory of the object's
	// file precedes it. Roots is nil if the files have no objects, whatever the Options are.
	Roots map[string]*gitops.Root
	Names []string
	// Skipped are the objects that Auto leaves out.
	Skipped []roots.Skipped
}

// Find reads files and returns the roots of the objects in them.
func Find(ctx context.Context, files []File, o Options) (*Found, error) {
	f := &Found{Roots: map[string]*gitops.Root{}}
	if o.Mode == None || o.Mode == "" {
		return f, nil
	}
	s := &search{Options: o, repos: newRepos(o)}
	objects, err := s.objects(ctx, files)
	if err != nil {
		return nil, err
	}
	env := &gitops.Env{Objects: objects, Open: s.repos.open, Warn: s.warn}
	trees := map[*yaml.Source]string{}
	for _, o := range objects {
		trees[o.Source] = o.Tree
	}
	env.Repo = func(at yaml.Place, url, revision string) (gitops.Repo, error) {
		tree, ok := trees[at.Origin()]
		if !ok && len(files) > 0 {
			tree = files[0].Tree
		}
		return s.repos.repo(at, tree, url, revision)
	}
	if o.Clusters != "" {
		data, err := s.read(o.Clusters)
		if err != nil {
			return nil, diag.NotReadable.Errorf("--clusters: %w", err)
		}
		env.Clusters = &yaml.Source{File: o.Clusters, Data: data}
	}
	if len(objects) == 0 {
		return &Found{}, nil
	}
	s.tree = files[0].Tree
	list, err := s.collect(ctx, env, files)
	if err != nil {
		return nil, err
	}
	if o.Mode == Auto {
		list = slices.DeleteFunc(list, func(r *gitops.Root) bool {
			why := s.leaveOut(r)
			if why != "" {
				f.Skipped = append(f.Skipped, roots.Skipped{Name: nameOf(r.Object), Reason: why})
			}
			return why != ""
		})
	}
	f.name(list)
	if o.Tracking != gitops.TrackNone {
		// Not earlier: objects in the output of other objects must equal those in files.
		for _, r := range list {
			r.Track(o.Tracking)
		}
	}
	f.order(env, s.Options.Warn)
	return f, nil
}

// leaveOut returns the reason why Auto leaves out a root, or "" if Auto keeps it.
func (s *search) leaveOut(r *gitops.Root) string {
	if len(r.Errs) > 0 {
		return r.Errs[0].Error()
	}
	for _, p := range r.Parts {
		switch {
		case p.Chart && !s.Charts:
			return "charts need --enable-helm"
		case p.Chart && p.Dir == "":
			// helm fetches the chart, as for a Kustomization with a chart.
		case p.Dir == "" || loaders.IsRemote(p.Dir) || !s.isDir(p.Dir):
			return "its source is not in these directories"
		}
	}
	return ""
}

// isDir reports whether a directory exists.
func (s *search) isDir(dir string) bool {
	if s.FS == nil {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	}
	info, err := fs.Stat(s.FS, path.Clean(filepath.ToSlash(dir)))
	return err == nil && info.IsDir()
}

// name gives each root a unique name.
func (f *Found) name(list []*gitops.Root) {
	count := map[string]int{}
	for _, r := range list {
		count[nameOf(r.Object)]++
	}
	for _, r := range list {
		name := nameOf(r.Object)
		if count[name] > 1 {
			name = path.Join(r.Object.Near, name)
		}
		for base, n := name, 2; f.Roots[name] != nil; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		f.Roots[name] = r
		f.Names = append(f.Names, name)
	}
	slices.Sort(f.Names)
}

// nameOf returns the name of an object. The output folder of the object has this name.
func nameOf(o *gitops.Object) string { return path.Join(o.Kind, folder(o.Namespace), folder(o.Name)) }

// folder converts a text to the name of a folder. Valid names of objects stay unchanged. An invalid
// name, such as ../x, must not lead to a different folder.
func folder(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
			return c
		}
		return '_'
	}, name)
	if strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	return name[:min(len(name), 253)]
}

// A search is one call of [Find].
type search struct {
	Options
	repos *repos
	tree  string // one of the searched directories
}

// rootsOf returns the roots of the wanted objects of an environment.
func (s *search) rootsOf(env *gitops.Env) (list []*gitops.Root) {
	if s.Mode != Flux {
		list = append(list, argocd.Roots(env)...)
	}
	if s.Mode != ArgoCD {
		list = append(list, flux.Roots(env)...)
	}
	return list
}

func (s *search) warn(e *diag.Error) {
	if s.Warn != nil && s.Mode != Auto {
		s.Warn(e)
	}
}

// marks are texts in the files with objects of controllers. If no file contains a mark, no file is
// parsed.
var marks = [][]byte{[]byte("argoproj.io/v1alpha1"), []byte(".fluxcd.io/v")}

// kinds are the core kinds that objects of controllers refer to.
var kinds = []string{"ConfigMap", "Secret"}

// objects reads the objects of controllers, ConfigMaps and Secrets. It returns nil if there are no
// objects of controllers.
func (s *search) objects(ctx context.Context, files []File) ([]*gitops.Object, error) {
	sources := make([]*yaml.Source, len(files))
	if err := s.each(ctx, files, func(i int) {
		if t := files[i].Traits; *t&roots.ObjectsRead == 0 {
			sources[i] = s.source(files[i])
		}
	}); err != nil || !slices.ContainsFunc(files, func(f File) bool { return *f.Traits&roots.Marked != 0 }) {
		return nil, err
	}
	if err := s.each(ctx, files, func(i int) {
		if t := files[i].Traits; sources[i] == nil && *t&(roots.Marked|roots.Core) != 0 {
			sources[i] = s.source(files[i])
		}
	}); err != nil {
		return nil, err
	}
	var all []*gitops.Object
	for i, src := range sources {
		if src == nil {
			continue
		}
		docs, err := src.Documents()
		if err != nil {
			if slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(src.Data, m) }) {
				s.warn(diag.AsError(err)) // possibly a template of a chart
			}
			continue
		}
		for n, doc := range docs {
			if o := objectOf(doc.Value); o != nil {
				if o.Kind == "Secret" {
					src.HoldSecret()
				}
				o.Source, o.Doc, o.Tree, o.Near = src, n, files[i].Tree, path.Dir(files[i].Rel)
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// each calls do with the index of each file, concurrently.
func (s *search) each(ctx context.Context, files []File, do func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range max(s.Jobs, 1) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// source reads a file and sets its traits. It returns nil for a file without objects. It also
// returns nil if the file cannot be read: planning reports the error if a root needs the file.
func (s *search) source(f File) *yaml.Source {
	data, err := s.read(f.Name)
	if err != nil {
		return nil
	}
	*f.Traits = *f.Traits&^(roots.Marked|roots.Core) | roots.ObjectsRead
	if slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(data, m) }) {
		*f.Traits |= roots.Marked
	}
	if bytes.Contains(data, []byte("kind: ConfigMap")) || bytes.Contains(data, []byte("kind: Secret")) {
		*f.Traits |= roots.Core
	}
	if *f.Traits&(roots.Marked|roots.Core) == 0 {
		return nil
	}
	return &yaml.Source{File: s.Prefix + f.Name, Data: data}
}

// objectOf returns a value as an object, or nil if the search ignores it.
func objectOf(v yaml.Value) *gitops.Object {
	group, _, grouped := strings.Cut(v.Get("apiVersion").Text(), "/")
	if !grouped {
		group = ""
	}
	o := &gitops.Object{Group: group, Kind: v.Get("kind").Text(), Name: v.At("metadata", "name").Text(),
		Namespace: v.At("metadata", "namespace").Text(), Value: v}
	switch {
	case o.Name == "" || o.Kind == "":
		return nil
	case group == "argoproj.io", strings.HasSuffix(group, ".fluxcd.io"), group == "" && slices.Contains(kinds, o.Kind):
		return o
	}
	return nil
}

// maxFile is the maximum size of a file in bytes.
const maxFile = 4 << 20

func (s *search) read(name string) ([]byte, error) {
	if s.FS == nil {
		return loaders.ReadFile(name, maxFile)
	}
	data, err := fs.ReadFile(s.FS, filepath.ToSlash(filepath.Clean(name)))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%q is larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}

// Content returns a digest of all data that determine r, except for files in the directories of its
// parts. It covers the values of objects, but not their places.
func Content(r *gitops.Root) krm.Digest {
	b := yaml.AppendJSON(nil, r.Object.Value)
	if r.Object.Group != "argoproj.io" { // an Application that an ApplicationSet generates has all values
		for _, o := range r.Uses {
			b = yaml.AppendJSON(b, o.Value)
		}
	}
	for _, f := range r.Files {
		b = fmt.Appendf(b, "%x", f.Digest())
	}
	for _, p := range r.Parts {
		b = fmt.Appendf(b, "%s %t %t ", filepath.Base(p.Dir), p.Within != "", p.Chart)
	}
	b = fmt.Append(b, r.Tracking)
	return krm.DigestOf(b)
}

// Digest returns a digest of [Content] and of the places of all values, because messages name them.
func Digest(r *gitops.Root) krm.Digest {
	b := fmt.Appendf(nil, "%x", Content(r))
	for _, o := range append([]*gitops.Object{r.Object}, r.Uses...) {
		src := o.Place().Origin()
		b = fmt.Appendf(b, "%s %d %x", src.File, o.Doc, src.Digest())
	}
	for _, p := range r.Parts {
		b = fmt.Appendf(b, "%s ", p.Dir)
	}
	b = fmt.Appendf(b, "%q ", r.After())
	for _, err := range r.Errs {
		b = fmt.Appendf(b, "%s ", err)
	}
	return krm.DigestOf(b)
}

// Contains reports whether a position is in one of the objects and files that determine r.
func Contains(r *gitops.Root, pos diag.Pos) bool {
	for _, o := range append([]*gitops.Object{r.Object}, r.Uses...) {
		src := o.Place().Origin()
		if src.File == pos.File && (pos.Line == 0 || documentAt(src, o.Place("metadata", "name").Pos().Line) == documentAt(src, pos.Line)) {
			return true
		}
	}
	return slices.ContainsFunc(r.Files, func(src *yaml.Source) bool { return src.File == pos.File })
}

// documentAt returns the number of documents that start at or before a line.
func documentAt(src *yaml.Source, line int) (n int) {
	docs, _ := src.Documents() // a source of objects has been parsed without errors
	for _, d := range docs {
		if d.Line <= line {
			n++
		}
	}
	return n
}

// realOf returns dir without symbolic links, or its absolute path if it does not exist.
func realOf(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}
