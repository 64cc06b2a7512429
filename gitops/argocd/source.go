package argocd

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// kustomizationNames are the names of kustomization files.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// An app is an Application during the construction of its root.
type app struct {
	*discovery.Discovery
	obj  *gitops.Object
	root *gitops.Root
	spec applicationSpec
	// refs are the sources with a field ref. The keys are the values of ref after a dollar sign.
	refs map[string]*ref
}

// A ref is a source for value files of the form $ref/path.
type ref struct {
	source
	at yaml.Place
}

// applicationRoot returns the root of an Application.
func applicationRoot(d *discovery.Discovery, o *gitops.Object) *gitops.Root {
	a := &app{Discovery: d, obj: o, root: &gitops.Root{Object: o}, refs: map[string]*ref{}}
	var obj application
	if errs := d.Decode(o.Value, o.Place(), &obj); len(errs) > 0 {
		a.root.Errs = errs
		return a.root
	}
	a.spec = obj.Spec
	a.sources()
	at := o.Place("spec", "destination")
	if a.spec.Destination.Namespace != "" {
		at = at.Below("namespace")
	}
	to := &gitops.DestinationTransformer{Namespace: a.spec.Destination.Namespace, KeepLast: true}
	a.root.Steps = append(a.root.Steps, to.Step(at))
	return a.root
}

// fail records an error of the root.
func (a *app) fail(err error) { a.root.Errs = append(a.root.Errs, err) }

// sources adds a part for each source that renders resources.
func (a *app) sources() {
	spec := a.obj.Value.Get("spec")
	switch {
	case a.spec.SourceHydrator != nil:
		dry := spec.At("sourceHydrator", "drySource")
		if dry.IsNull() {
			a.fail(a.obj.Errorf([]any{"spec", "sourceHydrator"}, "drySource is missing").With(diag.MissingField))
			return
		}
		at := a.obj.Place("spec", "sourceHydrator", "drySource")
		var s source
		if a.root.Errs = append(a.root.Errs, a.Decode(dry, at, &s)...); len(a.root.Errs) == 0 {
			a.source(s, dry, at, false)
		}
	case len(a.spec.Sources) > 0:
		for i, s := range a.spec.Sources {
			if s.Ref == "" {
				continue
			}
			at := a.obj.Place("spec", "sources", i)
			if a.refs["$"+s.Ref] != nil {
				a.fail(discovery.ErrorAt(at.Below("ref"), "the name %q is used by several sources", s.Ref).With(diag.ListedTwice))
				continue
			}
			a.refs["$"+s.Ref] = &ref{source: s, at: at}
		}
		items := spec.Get("sources").Items()
		if len(items) != len(a.spec.Sources) { // the key contains upper-case letters
			a.fail(a.obj.Errorf([]any{"spec"}, "write sources in lower case").With(diag.UnknownField))
			return
		}
		for i, v := range items {
			a.source(a.spec.Sources[i], v, a.obj.Place("spec", "sources", i), len(a.spec.Sources) > 1)
		}
	case a.spec.Source != nil:
		a.source(*a.spec.Source, spec.Get("source"), a.obj.Place("spec", "source"), false)
	default:
		a.fail(a.obj.Errorf([]any{"spec"}, "the Application has no source").With(diag.MissingField).
			Hint("set source or sources"))
	}
}

// source adds a part for the source v. at is the place of v, and several reports that the
// Application has several sources.
func (a *app) source(from source, v yaml.Value, at yaml.Place, several bool) {
	s := &appSource{app: a, source: from, value: v, at: at}
	switch {
	case s.RepoURL == "":
		a.fail(discovery.ErrorAt(at, "repoURL is missing").With(diag.MissingField))
	case s.Chart != "" && s.Path != "":
		a.fail(discovery.ErrorAt(at.Below("path"), "path and chart are mutually exclusive").With(diag.Exclusive))
	case s.Chart != "":
		s.chart()
	case s.Path == "" && several && s.Ref != "":
		// This source only provides value files.
	default:
		s.directory()
	}
}

// An appSource is a source of an Application.
type appSource struct {
	*app
	source
	value yaml.Value
	at    yaml.Place
	repo  *discovery.Repo
	path  string // of the directory in the repository, "." for the root
	err   error  // the first error about the build environment, see expand
}

// directory adds the part for a directory of a repository.
func (s *appSource) directory() {
	var err error
	if s.repo, err = s.Repo(s.at.Below("repoURL"), s.RepoURL, s.TargetRevision); err != nil {
		s.fail(err)
		return
	}
	at := s.at.Below("path")
	p, ok := discovery.Inside(".", s.Path)
	switch {
	case strings.HasPrefix(s.Path, "/"):
		s.fail(discovery.ErrorAt(at, "must be relative to the repository").With(diag.AbsolutePath))
		return
	case !ok:
		s.fail(discovery.ErrorAt(at, "%q is outside of the repository", s.Path).With(diag.OutsideDirectory))
		return
	}
	s.path = p
	var files []string
	if s.repo.Tree != nil {
		if files, err = s.repo.Tree.List(p); err != nil {
			if !s.repo.Tree.IsDir(p) {
				err = discovery.ErrorAt(at, "no directory %q in %s", s.Path, diag.Redact(s.RepoURL)).With(diag.NoSuchFile)
			}
			s.fail(err)
			return
		}
		if err := s.override(s.readHere); err != nil {
			s.fail(err)
			return
		}
	}
	kind, err := s.kind(files)
	switch {
	case err != nil:
		s.fail(err)
	case kind == "helm":
		s.chartDirectory()
	case s.repo.Tree == nil && kind == "directory" && s.Directory == nil:
		// The type of the source depends on its files. They are read when the part is edited.
		s.add(gitops.Part{Dir: s.repo.Place(p), At: at, Edit: s.editUnknown})
	case kind == "kustomize":
		s.checkKustomize()
		s.add(gitops.Part{Dir: s.repo.Place(p), At: at, Edit: s.editKustomization})
	default:
		s.add(gitops.Part{Dir: s.repo.Place(p), At: at, Within: s.repo.Dir, Edit: s.editDirectory})
	}
}

// add adds a part, unless the source has an error.
func (s *appSource) add(p gitops.Part) {
	if s.Path == "" && s.Chart == "" {
		p.At = s.at
	}
	if s.err != nil {
		s.fail(s.err)
		return
	}
	s.root.Parts = append(s.root.Parts, p)
}

// readHere reads a file of the directory and adds it to the files of the root. It returns nil if
// the file does not exist.
func (s *appSource) readHere(name string) (*yaml.Source, error) {
	if names, err := s.repo.Tree.List(s.path); err != nil || !slices.Contains(names, name) {
		return nil, err
	}
	src, err := s.Read(s.repo.Tree, path.Join(s.path, name))
	if err == nil {
		reads(s.root, src)
	}
	return src, err
}

// override merges .argocd-source.yaml and .argocd-source-NAME.yaml of the directory into the
// source. These files cannot change the repository, revision, chart and path.
func (s *appSource) override(read func(name string) (*yaml.Source, error)) error {
	v, places := s.value, []yaml.Place{s.at}
	places[0].Path = nil
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + s.obj.Name + ".yaml"} {
		src, err := read(name)
		if err != nil {
			return err
		}
		if src == nil {
			continue
		}
		over, err := src.Value()
		if err != nil {
			return err
		}
		if over.Type() != yaml.Map {
			return diag.Errorf(src.Locate(0), "", "must be a mapping of fields of a source").With(diag.WrongType)
		}
		for _, key := range []string{"chart", "path", "repoURL", "targetRevision"} {
			over = over.Without(key)
		}
		m := merger{src: src}
		v = m.patch(v, over, nil)
		places = append(places, m.places...)
	}
	if v.Same(s.value) {
		return nil
	}
	merged := yaml.Assemble(s.obj.Source.File, v, places...)
	s.value, s.at, s.source = v, yaml.Place{Source: merged}, source{}
	if errs := s.Decode(v, s.at, &s.source); len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// A merger merges values of a file into a value, and collects the places of these values.
type merger struct {
	src    *yaml.Source
	at     []any // the path of the merged value in src
	places []yaml.Place
}

// patch returns v after the JSON merge patch over.
func (m *merger) patch(v, over yaml.Value, path []any) yaml.Value {
	if over.Type() != yaml.Map {
		m.taken(path)
		return over
	}
	if v.Type() != yaml.Map {
		v = yaml.MapOf()
	}
	for _, f := range over.Fields() {
		if f.Value.IsNull() {
			v = v.Without(f.Key)
			continue
		}
		v = v.With(f.Key, m.patch(v.Get(f.Key), f.Value, append(path[:len(path):len(path)], f.Key)))
	}
	return v
}

// values returns v merged with over as helm merges value files: null replaces a value.
func (m *merger) values(v, over yaml.Value, path []any) yaml.Value {
	if over.Type() != yaml.Map || v.Type() != yaml.Map {
		m.taken(path)
		return over
	}
	for _, f := range over.Fields() {
		v = v.With(f.Key, m.values(v.Get(f.Key), f.Value, append(path[:len(path):len(path)], f.Key)))
	}
	return v
}

func (m *merger) taken(path []any) {
	m.places = append(m.places, yaml.Place{Path: path, Source: m.src, At: slices.Concat(m.at, path)})
}

// kind returns the type of the source: kustomize, helm or directory. files are the files of the
// directory. They decide if no field does.
func (s *appSource) kind(files []string) (string, error) {
	var kinds []string
	for _, k := range []struct {
		name string
		set  bool
	}{{"kustomize", s.Kustomize != nil}, {"helm", s.Helm != nil}, {"directory", s.Directory != nil}, {"plugin", s.Plugin != nil}} {
		if k.set {
			kinds = append(kinds, k.name)
		}
	}
	switch {
	case len(kinds) > 1:
		return "", discovery.ErrorAt(s.at, "%s are mutually exclusive", strings.Join(kinds, " and ")).With(diag.Exclusive)
	case len(kinds) == 1 && kinds[0] == "plugin":
		return "", discovery.Refused(s.at.Below("plugin"), "config management plugins are not run").
			Hint("render the source with a function of a catalog instead")
	case len(kinds) == 1:
		return kinds[0], nil
	}
	// Argo CD walks the directory in lexical order, and the last file decides.
	files = slices.Sorted(slices.Values(files))
	kind := "directory"
	for _, name := range files {
		switch {
		case slices.Contains(kustomizationNames, name):
			kind = "kustomize"
		case strings.HasSuffix(name, "Chart.yaml"):
			kind = "helm"
		}
	}
	return kind, nil
}

// editUnknown determines the type of a source from its files in a fetched repository, and returns
// the edited kustomization file.
func (s *appSource) editUnknown(dir gitops.Dir, old *yaml.Source) (*yaml.Source, error) {
	all, err := dir.Files()
	if err != nil {
		return nil, err
	}
	c := *s
	if err := c.override(func(name string) (*yaml.Source, error) {
		if !slices.Contains(all, name) {
			return nil, nil
		}
		return dir.Read(name)
	}); err != nil {
		return nil, err
	}
	kind, err := c.kind(slices.DeleteFunc(slices.Clone(all), func(name string) bool { return strings.Contains(name, "/") }))
	switch {
	case err != nil:
		return nil, err
	case kind == "helm":
		return nil, discovery.ErrorAt(s.at.Below("path"), "%s is a chart in a remote repository", s.Path).With(diag.Unsupported).
			Hint("add the field helm to the source: helm: {}")
	case kind == "kustomize":
		c.checkKustomize()
		return c.editKustomization(dir, old)
	}
	return c.editDirectory(dir, old)
}

// isCommit reports whether a revision is the full hash of a commit.
func isCommit(revision string) bool {
	return len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == ""
}

// expand replaces the variables $NAME and ${NAME} of the build environment in text. It records an
// error for a variable with the revision of the source if the revision is unknown.
func (s *appSource) expand(text string, at yaml.Place) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return os.Expand(text, func(name string) string {
		switch name {
		case "$":
			return "$"
		case "ARGOCD_APP_NAME":
			return s.obj.Name
		case "ARGOCD_APP_NAMESPACE":
			return s.spec.Destination.Namespace
		case "ARGOCD_APP_PROJECT_NAME":
			return s.spec.Project
		case "ARGOCD_APP_SOURCE_REPO_URL":
			return s.RepoURL
		case "ARGOCD_APP_SOURCE_PATH":
			return s.Path
		case "ARGOCD_APP_SOURCE_TARGET_REVISION":
			return s.TargetRevision
		case "ARGOCD_APP_REVISION", "ARGOCD_APP_REVISION_SHORT", "ARGOCD_APP_REVISION_SHORT_8":
			rev := s.TargetRevision
			if s.Chart == "" && !isCommit(rev) {
				if s.err == nil {
					s.err = discovery.Refused(at, "the variable %s is unknown: the revision is not a commit", name).
						Hint("set targetRevision to a commit")
				}
				return ""
			}
			switch {
			case name == "ARGOCD_APP_REVISION_SHORT" && len(rev) > 7:
				rev = rev[:7]
			case name == "ARGOCD_APP_REVISION_SHORT_8" && len(rev) > 8:
				rev = rev[:8]
			}
			return rev
		}
		return ""
	})
}
