package flux

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A source is the content of a GitRepository, OCIRepository, HelmRepository or HelmChart. Fields of
// type yaml.Value do not affect the output.
type source struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   yaml.Value `json:"metadata"`
	Status     yaml.Value `json:"status"`
	Spec       struct {
		URL     string `json:"url"`
		Type    string `json:"type"` // of a HelmRepository: oci or default
		Ignore  string `json:"ignore"`
		Suspend bool   `json:"suspend"`
		Ref     struct {
			Branch       string `json:"branch"`
			Tag          string `json:"tag"`
			Semver       string `json:"semver"`
			SemverFilter string `json:"semverFilter"`
			Name         string `json:"name"`
			Commit       string `json:"commit"`
			Digest       string `json:"digest"`
		} `json:"ref"`
		Include []yaml.Value `json:"include"`

		AccessFrom         yaml.Value `json:"accessFrom"`
		CertSecretRef      yaml.Value `json:"certSecretRef"`
		GitImplementation  yaml.Value `json:"gitImplementation"`
		Insecure           yaml.Value `json:"insecure"`
		Interval           yaml.Value `json:"interval"`
		LayerSelector      yaml.Value `json:"layerSelector"`
		PassCredentials    yaml.Value `json:"passCredentials"`
		Provider           yaml.Value `json:"provider"`
		ProxySecretRef     yaml.Value `json:"proxySecretRef"`
		RecurseSubmodules  yaml.Value `json:"recurseSubmodules"`
		SecretRef          yaml.Value `json:"secretRef"`
		ServiceAccountName yaml.Value `json:"serviceAccountName"`
		SparseCheckout     yaml.Value `json:"sparseCheckout"`
		Timeout            yaml.Value `json:"timeout"`
		Verify             yaml.Value `json:"verify"`
		chartSpec
	} `json:"spec"`

	errs []*diag.Error
}

// source returns a decoded source, and records its errors in r.
func (r *root) source(o *gitops.Object) *source {
	s := r.f.decoded[o]
	if s == nil {
		s = &source{}
		s.errs = r.f.decode(o, s)
		r.f.decoded[o] = s
	}
	r.use(o)
	for _, e := range s.errs {
		r.fail(e)
	}
	return s
}

// find returns the source that a field of from refers to. If there is none, it records an error and
// returns nil.
func (r *root) find(from *gitops.Object, ref reference, field ...any) *gitops.Object {
	namespace := cmp.Or(ref.Namespace, from.Namespace)
	name := path.Join(namespace, ref.Name)
	switch ref.Kind {
	case "GitRepository", "OCIRepository", "HelmRepository", "HelmChart":
	case "Bucket":
		r.fail(from.Errorf(field, "Bucket %s cannot be read: its content is not in a repository, and krmflow reads no buckets", name).
			With(diag.Unsupported).Hint("copy its content to a directory and refer to a GitRepository"))
		return nil
	case "ExternalArtifact":
		r.fail(from.Errorf(field, "ExternalArtifact %s cannot be read: a controller in the cluster makes its content", name).
			With(diag.Unsupported))
		return nil
	default:
		e := from.Errorf(append(field, "kind"), "unknown kind of source %q", ref.Kind).With(diag.WrongKind)
		e.Hints = diag.DidYouMean(ref.Kind, []string{"GitRepository", "OCIRepository", "HelmRepository", "HelmChart"})
		r.fail(e)
		return nil
	}
	o := r.f.env.Find(r.Object, SourceGroup, ref.Kind, namespace, ref.Name)
	if o == nil && ref.Name == bootstrapped && ref.Kind != "HelmRepository" && ref.Kind != "HelmChart" {
		return r.searched(from, ref.Kind, namespace, field)
	}
	if o == nil {
		r.fail(from.Errorf(field, "%s %s is not in the searched directories", ref.Kind, name).With(diag.NoSuchFile).
			Hint("search the directory that declares it as well, or correct name and namespace"))
	}
	return o
}

// bootstrapped is the name of the source that flux bootstrap creates for the repository itself. The
// repository often does not contain this source.
const bootstrapped = "flux-system"

// searched returns a source for the searched tree itself, with a warning.
func (r *root) searched(from *gitops.Object, kind, namespace string, field []any) *gitops.Object {
	r.f.env.Warn(from.Errorf(field, "%s %s is not in the searched directories: it is taken to be this repository", kind,
		path.Join(namespace, bootstrapped)).With(diag.NoSuchFile))
	spec := yaml.MapOf(yaml.Field{Key: "url", Value: yaml.Str(gitops.Searched)})
	return &gitops.Object{Group: SourceGroup, Kind: kind, Namespace: namespace, Name: bootstrapped, Source: from.Source, Doc: from.Doc,
		Tree: from.Tree, Near: from.Near, Value: yaml.MapOf(yaml.Field{Key: "spec", Value: spec})}
}

// revision returns the revision that the controllers choose for a GitRepository or OCIRepository.
func (s *source) revision() string {
	ref := s.Spec.Ref
	if s.Kind == "OCIRepository" {
		return cmp.Or(ref.Digest, ref.Semver, ref.Tag)
	}
	return cmp.Or(ref.Commit, strings.TrimPrefix(strings.TrimPrefix(ref.Name, "refs/heads/"), "refs/tags/"), ref.Semver, ref.Tag,
		ref.Branch, "master")
}

// A tree is a directory of a repository.
type tree struct {
	repo gitops.Repo
	// sub is the slash-separated path of the directory in the repository. The root is "" or ".".
	sub string
	// ignore is the field spec.ignore of the source.
	ignore string
}

// tree returns the directory sub in the repository of a source.
func (r *root) tree(o *gitops.Object, sub string) (tree, bool) {
	s := r.source(o)
	if len(s.errs) > 0 {
		return tree{}, false
	}
	if len(s.Spec.Include) > 0 {
		r.fail(o.Errorf([]any{"spec", "include"}, "including other repositories is not supported").With(diag.Unsupported).
			Hint("list the files of the other repository in a kustomization file"))
		return tree{}, false
	}
	if s.Spec.URL == "" {
		r.fail(o.Errorf([]any{"spec"}, "the field url is missing").With(diag.MissingField))
		return tree{}, false
	}
	repo, err := r.f.env.Repo(o.Place("spec", "url"), s.Spec.URL, s.revision())
	if err != nil {
		r.Errs = append(r.Errs, err)
		return tree{}, false
	}
	if repo.Dir == "" && s.Spec.Ref.Semver != "" && s.revision() == s.Spec.Ref.Semver {
		r.fail(o.Errorf([]any{"spec", "ref", "semver"}, "a range of versions names no revision that can be fetched").With(diag.NoRevision).
			Hint("map the repository to a directory: --source %s=DIR", diag.ShellWord(diag.Redact(s.Spec.URL))))
		return tree{}, false
	}
	return tree{repo, strings.TrimPrefix(path.Clean("/"+sub), "/"), s.Spec.Ignore}, true
}

// dir returns the directory as in [gitops.Part].
func (t tree) dir() string {
	return t.repo.Place(t.sub)
}

// files returns the files of the repository, or nil if they cannot be read on this machine.
func (t tree) files(env *gitops.Env) fs.FS {
	if t.repo.Dir == "" || env.Open == nil {
		return nil
	}
	files, err := env.Open(t.repo)
	if err != nil {
		return nil
	}
	return files
}
