package argocd

import (
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/gitops/internal/setvalues"
	"github.com/krmflow/krmflow/krm/yaml"
)

// chart adds the part for a chart in a Helm repository.
func (s *appSource) chart() {
	for _, f := range []struct {
		name string
		set  bool
	}{{"kustomize", s.Kustomize != nil}, {"directory", s.Directory != nil}} {
		if f.set {
			s.fail(discovery.ErrorAt(s.field(f.name), "a chart has no %s", f.name).With(diag.Exclusive))
			return
		}
	}
	if s.Plugin != nil {
		_, err := s.kind(nil)
		s.fail(err)
		return
	}
	address := s.RepoURL
	if u, err := url.Parse(address); err == nil && u.Host == "" { // a registry without a scheme
		address = "oci://" + address
	}
	fields := []yaml.Field{{Key: "name", Value: yaml.Str(s.Chart)}, {Key: "repo", Value: yaml.Str(address)}}
	places := []yaml.Place{s.field("chart"), s.field("repoURL")}
	if s.TargetRevision != "" {
		fields = append(fields, yaml.Field{Key: "version", Value: yaml.Str(s.TargetRevision)})
		places = append(places, s.field("targetRevision"))
	}
	s.helmPart(gitops.Part{At: s.field("chart"), Chart: true}, fields, places)
}

// chartDirectory adds the part for a chart in a directory.
func (s *appSource) chartDirectory() {
	name, parent := path.Base(s.path), path.Dir(s.path)
	if s.path == "." {
		if s.repo.Tree == nil {
			s.fail(discovery.Refused(s.field("path"), "a chart at the top of a repository that is fetched is not supported"))
			return
		}
		name, parent = filepath.Base(s.repo.Dir), ".."
	}
	part := gitops.Part{Dir: s.repo.Place(parent), At: s.field("path"), Chart: true, Within: s.repo.Dir}
	if filepath.IsAbs(part.Dir) {
		part.ChartDir = filepath.Join(part.Dir, name)
	}
	s.helmPart(part,
		[]yaml.Field{{Key: "name", Value: yaml.Str(name)}}, []yaml.Place{s.field("path")})
}

// helmPart adds a part with one chart. fields are the first fields of the chart, with their places.
func (s *appSource) helmPart(p gitops.Part, fields []yaml.Field, places []yaml.Place) {
	h := helmSource{}
	if s.Helm != nil {
		h = *s.Helm
	}
	switch {
	case h.PassCredentials:
		s.fail(discovery.Refused(s.field("helm", "passCredentials"), "credentials are not passed to other domains"))
		return
	case h.Version != "" && h.Version != "v3" && h.Version != "3":
		s.Warn(discovery.ErrorAt(s.field("helm", "version"), "the version %q of helm is not used", h.Version))
	}
	if h.SkipSchemaValidation {
		s.Warn(discovery.ErrorAt(s.field("helm", "skipSchemaValidation"),
			"helm validates the values with the schema of the chart nevertheless"))
	}
	add := func(key string, v yaml.Value, at yaml.Place) {
		fields = append(fields, yaml.Field{Key: key, Value: v})
		places = append(places, at)
	}
	if h.ReleaseName != "" {
		add("releaseName", yaml.Str(h.ReleaseName), s.field("helm", "releaseName"))
	} else {
		add("releaseName", yaml.Str(s.obj.Name), s.obj.Place("metadata", "name"))
	}
	switch {
	case h.Namespace != "":
		add("namespace", yaml.Str(h.Namespace), s.field("helm", "namespace"))
	case s.spec.Destination.Namespace != "":
		add("namespace", yaml.Str(s.spec.Destination.Namespace), s.obj.Place("spec", "destination", "namespace"))
	}
	if h.KubeVersion != "" {
		add("kubeVersion", yaml.Str(h.KubeVersion), s.field("helm", "kubeVersion"))
	}
	if len(h.APIVersions) > 0 {
		add("apiVersions", texts(h.APIVersions), s.field("helm", "apiVersions"))
	}
	if !h.SkipCRDs {
		add("includeCRDs", yaml.BoolValue(true), s.field("helm", "skipCrds"))
	}
	if h.SkipTests {
		add("skipTests", yaml.BoolValue(true), s.field("helm", "skipTests"))
	}
	// Values from a repository on this machine are read now, all others when the part is edited.
	values := &valueFiles{appSource: s, helm: h}
	if s.repo == nil || s.repo.Tree != nil {
		if err := values.merge(nil); err != nil {
			s.fail(err)
			return
		}
	}
	p.Edit = func(dir gitops.Dir, _ *yaml.Source) (*yaml.Source, error) {
		if !values.merged {
			if err := values.merge(dir); err != nil {
				return nil, err
			}
		}
		all := append(slices.Clip(fields), yaml.Field{Key: "valuesInline", Value: values.value},
			yaml.Field{Key: "valuesMerge", Value: yaml.Str("replace")})
		v := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("kustomize.config.k8s.io/v1beta1")},
			yaml.Field{Key: "kind", Value: yaml.Str("Kustomization")},
			yaml.Field{Key: "helmGlobals", Value: yaml.MapOf(yaml.Field{Key: "chartHome", Value: yaml.Str(".")})},
			yaml.Field{Key: "helmCharts", Value: yaml.SeqOf(yaml.MapOf(all...))})
		at := []yaml.Place{discovery.RootPlace(s.at), s.helmPlace("helmCharts", 0)}
		for i, f := range places {
			f.Path = []any{"helmCharts", 0, fields[i].Key}
			at = append(at, f)
		}
		at = append(at, s.helmPlace("helmCharts", 0, "valuesInline"))
		for _, f := range values.places {
			f.Path = append([]any{"helmCharts", 0, "valuesInline"}, f.Path...)
			at = append(at, f)
		}
		return yaml.Assemble(s.obj.Source.File, v, at...), nil
	}
	s.add(p)
}

// helmPlace returns the place of the value at a path in the assembled file: the field helm, or the
// source if helm is missing.
func (s *appSource) helmPlace(of ...any) yaml.Place {
	at := s.at
	if s.Helm != nil {
		at = s.field("helm")
	}
	at.Path = of
	return at
}

// A valueFiles merges the values of a chart.
type valueFiles struct {
	*appSource
	helm   helmSource
	value  yaml.Value
	places []yaml.Place
	merged bool
}

// merge merges the values in the order in which Argo CD passes them to helm: value files, the
// values of the Application, parameters, parameters with forceString, and file parameters. dir is
// the parent directory of the chart in a fetched repository, and nil otherwise.
func (m *valueFiles) merge(dir gitops.Dir) error {
	m.value, m.merged = yaml.MapOf(), true
	for i, name := range m.helm.ValueFiles {
		at := m.field("helm", "valueFiles", i)
		files, err := m.resolve(name, at, dir, true)
		if err != nil {
			return err
		}
		for _, src := range files {
			src.HoldSecret()
			v, err := src.Value()
			if err == nil {
				err = m.add(v, yaml.Place{Source: src}, "%s: values must be a mapping", src.File)
			}
			if err != nil {
				return err
			}
		}
	}
	switch at := m.field("helm", "values"); {
	case m.helm.ValuesObject.Exists() && !m.helm.ValuesObject.IsNull():
		if err := m.add(m.helm.ValuesObject, m.field("helm", "valuesObject"), "must be a mapping"); err != nil {
			return err
		}
	case m.helm.Values != "":
		v, err := (&yaml.Source{File: m.obj.Source.File, Data: []byte(m.helm.Values)}).Value()
		if err != nil {
			return discovery.InText(at, err)
		}
		before := len(m.places)
		if err := m.add(v, at, "must be the text of a mapping"); err != nil {
			return err
		}
		for i := before; i < len(m.places); i++ {
			m.places[i].At = at.At // a value in a text has the place of the text
		}
	}
	return m.parameters(dir)
}

// add merges v. at is the place of v, and problem describes a v that is not a mapping.
func (m *valueFiles) add(v yaml.Value, at yaml.Place, problem string, args ...any) error {
	if v.IsNull() {
		return nil
	}
	if v.Type() != yaml.Map {
		return discovery.ErrorAt(at, problem, args...).With(diag.BadValues)
	}
	mg := merger{src: at.Source, at: at.At}
	m.value = mg.values(m.value, v, nil)
	for i := range mg.places {
		mg.places[i].Doc = at.Doc
	}
	m.places = append(m.places, mg.places...)
	return nil
}

// parameters sets the parameters, each kind in the order of its fields. If several parameters have
// the same name, the last one applies.
func (m *valueFiles) parameters(dir gitops.Dir) error {
	type set struct {
		name string
		list []setvalues.Assignment
		at   yaml.Place
	}
	var kinds [3][]set
	put := func(kind int, x set) {
		if i := slices.IndexFunc(kinds[kind], func(o set) bool { return o.name == x.name }); i >= 0 {
			kinds[kind][i] = x
			return
		}
		kinds[kind] = append(kinds[kind], x)
	}
	for i, p := range m.helm.Parameters {
		at := m.field("helm", "parameters", i)
		mode := setvalues.Typed
		if p.ForceString {
			mode = setvalues.Text
		}
		list, err := setvalues.Parse(p.Name+"="+setvalues.EscapeCommas(m.expand(p.Value, at.Below("value"))), mode)
		if err != nil {
			return discovery.ErrorAt(at, "%w", err).With(diag.BadValue)
		}
		put(int(mode), set{p.Name, list, at})
	}
	for i, p := range m.helm.FileParameters {
		at := m.field("helm", "fileParameters", i)
		files, err := m.resolve(p.Path, at.Below("path"), dir, false)
		if err != nil {
			return err
		}
		list, err := setvalues.Parse(p.Name+"=", setvalues.Text)
		if err != nil {
			return discovery.ErrorAt(at, "%w", err).With(diag.BadValue)
		}
		list[len(list)-1].Value = yaml.QuotedStr(files[0].Text())
		put(2, set{p.Name, list, at})
	}
	for _, kind := range kinds {
		for _, x := range kind {
			for _, a := range x.list {
				v, err := a.Set(m.value)
				if err != nil {
					return discovery.ErrorAt(x.at, "%w", err).With(diag.BadValue)
				}
				m.value = v
				at := x.at
				at.Path = a.Path
				m.places = append(m.places, at)
			}
		}
	}
	return nil
}

// resolve returns the files that an entry of valueFiles or fileParameters refers to. An entry is a
// path in the chart's directory, a path in the repository with a leading slash, or $ref/path. If
// values is set, an entry may be a pattern, and missing files may be ignored.
func (m *valueFiles) resolve(name string, at yaml.Place, dir gitops.Dir, values bool) ([]*yaml.Source, error) {
	from, base := m.repo, m.path
	if first, rest, _ := strings.Cut(name, "/"); m.refs[first] != nil {
		r := m.refs[first]
		if r.Chart != "" {
			return nil, discovery.ErrorAt(at, "%s refers to a chart", first).With(diag.BadReference)
		}
		var err error
		if from, err = m.Repo(r.at.Below("repoURL"), r.RepoURL, r.TargetRevision); err != nil {
			return nil, err
		}
		if from.Tree == nil {
			return nil, discovery.Refused(at, "value files of a repository that is fetched are not supported: %s", diag.Redact(r.RepoURL)).
				Hint("map the repository to a directory")
		}
		name, base = "/"+rest, "."
	} else if strings.HasPrefix(name, "$") && !strings.HasPrefix(strings.TrimLeft(name, "${"), "ARGOCD_") {
		e := discovery.ErrorAt(at, "no source has the ref %q", first[1:]).With(diag.BadReference)
		e.Hints = diag.DidYouMean(first, slices.Sorted(maps.Keys(m.refs)))
		return nil, e
	}
	text := m.expand(name, at)
	if m.err != nil {
		return nil, m.err
	}
	if u, err := url.Parse(text); err == nil && u.Scheme != "" {
		return nil, discovery.Refused(at, "files are not read from %s addresses", u.Scheme)
	}
	if from == nil {
		// A chart in a Helm repository has only its own files, and they are not fetched yet.
		return nil, discovery.Refused(at, "%q is a file of a chart that is fetched", name).
			Hint("copy its values into the field values, or refer to a repository by $ref/path")
	}
	p, ok := discovery.Inside(base, text)
	if !ok || p == "." {
		return nil, discovery.ErrorAt(at, "%q is outside of the repository", name).With(diag.OutsideDirectory)
	}
	if from.Tree == nil {
		return m.resolveRemote(p, at, dir, values)
	}
	paths := []string{p}
	if values && strings.ContainsAny(p, "*?[{") && !from.Tree.IsFile(p) {
		var err error
		if paths, err = from.Tree.Find(p); err != nil {
			return nil, discovery.ErrorAt(at, "%q is not a valid pattern", name).With(diag.BadValue)
		}
		if len(paths) == 0 && !m.helm.IgnoreMissingValueFiles {
			return nil, discovery.ErrorAt(at, "nothing matches %q", name).With(diag.NoSuchFile)
		}
	}
	var list []*yaml.Source
	for _, p := range paths {
		src, err := m.Read(from.Tree, p)
		switch {
		case discovery.IsMissing(err) && values && m.helm.IgnoreMissingValueFiles:
			continue
		case discovery.IsMissing(err):
			return nil, discovery.ErrorAt(at, "no file %q in the repository", p).With(diag.NoSuchFile)
		case err != nil:
			return nil, discovery.ErrorAt(at, "%w", err)
		}
		reads(m.root, src)
		list = append(list, src)
	}
	return list, nil
}

// resolveRemote returns the file p of a fetched repository. The file must be in the parent
// directory of the chart, or below it.
func (m *valueFiles) resolveRemote(p string, at yaml.Place, dir gitops.Dir, values bool) ([]*yaml.Source, error) {
	parent := path.Dir(m.path)
	if parent != "." {
		rest, ok := strings.CutPrefix(p, parent+"/")
		if !ok {
			return nil, discovery.Refused(at, "%s is too far above the chart in a repository that is fetched", p)
		}
		p = rest
	}
	if values && strings.ContainsAny(p, "*?[{") {
		return nil, discovery.Refused(at, "patterns are not supported for a repository that is fetched")
	}
	if values && m.helm.IgnoreMissingValueFiles {
		if all, err := dir.Files(); err != nil || !slices.Contains(all, p) {
			return nil, err
		}
	}
	src, err := dir.Read(p)
	if err != nil {
		return nil, err
	}
	return []*yaml.Source{src}, nil
}
