package argocd

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// skipMarker marks manifests that Argo CD ignores.
var skipMarker = []byte("+argocd:skip-file-rendering")

// editDirectory returns a kustomization file that lists the manifests of the directory.
func (s *appSource) editDirectory(dir gitops.Dir, _ *yaml.Source) (*yaml.Source, error) {
	d := directory{}
	if s.Directory != nil {
		d = *s.Directory
	}
	all, err := dir.Files()
	if err != nil {
		return nil, err
	}
	include, exclude := s.fileGlob("include", d.Include), s.fileGlob("exclude", d.Exclude)
	var names []string
	for _, name := range walkOrder(all) {
		switch {
		case !d.Recurse && strings.Contains(name, "/"), !isManifest(name):
			continue
		case d.Exclude != "" && exclude.matches(name), d.Include != "" && !include.matches(name):
			continue
		}
		src, err := dir.Read(name)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(src.Data, skipMarker) {
			continue
		}
		if strings.HasSuffix(name, ".jsonnet") {
			return nil, diag.Errorf(diag.Pos{File: src.File}, "", "jsonnet is not evaluated").With(diag.Unsupported).
				Hint("exclude the file with directory.exclude, or commit its result")
		}
		if holdsManifests(name, src) {
			names = append(names, name)
		}
	}
	v := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("kustomize.config.k8s.io/v1beta1")},
		yaml.Field{Key: "kind", Value: yaml.Str("Kustomization")}, yaml.Field{Key: "resources", Value: texts(names)})
	return yaml.Assemble(s.obj.Source.File, v, discovery.RootPlace(s.at)), nil
}

// isManifest reports whether Argo CD reads a file as a manifest.
func isManifest(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json") ||
		strings.HasSuffix(name, ".jsonnet")
}

// walkOrder sorts paths in the order of a walk: entries of a folder by name, each folder followed
// by its content.
func walkOrder(names []string) []string {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	return names
}

// holdsManifests reports whether the file may contain resources. Argo CD ignores a YAML file whose
// first document has no kind, unless the text contains apiVersion, kind and metadata.
func holdsManifests(name string, src *yaml.Source) bool {
	if strings.HasSuffix(name, ".json") {
		return true
	}
	looks := true
	for _, key := range []string{"apiVersion:", "kind:", "metadata:"} {
		looks = looks && bytes.Contains(src.Data, []byte(key))
	}
	if looks {
		return true
	}
	docs, err := src.Documents()
	switch {
	case err != nil:
		v, err := src.Content()
		return err == nil && v.Get("kind").Text() != ""
	case len(docs) == 0:
		return false
	}
	return docs[0].Value.Get("kind").Text() != ""
}

// A fileGlob is a pattern of the field include or exclude. The zero fileGlob matches nothing.
type fileGlob struct{ exp *regexp.Regexp }

func (g fileGlob) matches(name string) bool { return g.exp != nil && g.exp.MatchString(name) }

// fileGlob compiles a field of directory. As in Argo CD, an invalid pattern matches nothing.
func (s *appSource) fileGlob(field, pattern string) fileGlob {
	if pattern == "" {
		return fileGlob{}
	}
	exp, err := discovery.GlobExpression(pattern, true)
	if err != nil {
		s.Warn(discovery.ErrorAt(s.field("directory", field), "%q is not a valid pattern, and matches nothing", pattern).
			With(diag.BadValue))
		return fileGlob{}
	}
	return fileGlob{exp}
}
