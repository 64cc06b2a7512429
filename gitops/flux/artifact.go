package flux

import (
	"cmp"
	"path"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// extensionsGroup is the API group of ArtifactGenerator.
const extensionsGroup = "source.extensions.fluxcd.io"

// An artifactGenerator is the content of an ArtifactGenerator, which creates ExternalArtifacts.
type artifactGenerator struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   yaml.Value `json:"metadata"`
	Status     yaml.Value `json:"status"`
	Spec       struct {
		CommonMetadata yaml.Value `json:"commonMetadata"`
		Sources        []struct {
			Alias string `json:"alias"`
			reference
		} `json:"sources"`
		Artifacts []struct {
			Name           string     `json:"name"`
			Revision       yaml.Value `json:"revision"`
			OriginRevision yaml.Value `json:"originRevision"`
			Copy           []struct {
				From     string   `json:"from"`
				To       string   `json:"to"`
				Exclude  []string `json:"exclude"`
				Strategy string   `json:"strategy"`
			} `json:"copy"`
		} `json:"artifacts"`
	} `json:"spec"`
}

// artifact returns the origin of the path sub in an ExternalArtifact: a source and a directory in
// it. field is the field that refers to the ExternalArtifact. After an error, the source is nil.
func (r *root) artifact(ref reference, sub string, field ...any) (*gitops.Object, string) {
	namespace := cmp.Or(ref.Namespace, r.Object.Namespace)
	for _, o := range r.f.env.Objects {
		if o.Group != extensionsGroup || o.Kind != "ArtifactGenerator" || o.Namespace != namespace ||
			r.f.env.Find(r.Object, o.Group, o.Kind, namespace, o.Name) != o {
			continue
		}
		for i, a := range o.Value.At("spec", "artifacts").Items() {
			if a.Get("name").Text() == ref.Name {
				return r.copied(o, i, path.Clean("/" + sub)[1:])
			}
		}
	}
	r.fail(r.Object.Errorf(field, "ExternalArtifact %s is made by no ArtifactGenerator in the searched directories",
		path.Join(namespace, ref.Name)).With(diag.NoSuchFile).Hint("search the directory that declares it as well"))
	return nil, ""
}

// copied returns the origin of the directory sub in artifact i of an ArtifactGenerator. It supports
// only artifacts whose copies all come from one source and keep their relative paths. The layers of
// such an artifact refer to one another as in the source, so the source can be rendered in place of
// the artifact.
func (r *root) copied(o *gitops.Object, i int, sub string) (*gitops.Object, string) {
	g := &artifactGenerator{}
	errs := r.f.decode(o, g)
	r.use(o)
	for _, e := range errs {
		r.fail(e)
	}
	if len(errs) > 0 {
		return nil, ""
	}
	alias, prefix, found := "", "", false
	for n, c := range g.Spec.Artifacts[i].Copy {
		at := []any{"spec", "artifacts", i, "copy", n}
		from, ok1 := strings.CutPrefix(c.From, "@")
		to, ok2 := strings.CutPrefix(c.To, "@artifact/")
		a, dir, ok3 := strings.Cut(from, "/")
		dir, ok4 := strings.CutSuffix("/"+dir, "/**")
		dir, to = strings.Trim(path.Clean(dir), "/"), strings.Trim(path.Clean("/"+to), "/")
		if to == "" {
			to = "."
		}
		p, fits := base(dir, to)
		if !ok1 || !ok2 || !ok3 || !ok4 || !fits || len(c.Exclude) > 0 || c.Strategy != "" && c.Strategy != "Overwrite" ||
			n > 0 && (alias != a || prefix != p) {
			r.fail(o.Errorf(at, "this copy is not supported: an artifact must be a directory of one source, or some of its subdirectories").
				With(diag.Unsupported).Hint(
				"write from: \"@ALIAS/DIR/**\" and to: \"@artifact/\", or to: \"@artifact/DIR/\" for a subdirectory"))
			return nil, ""
		}
		alias, prefix = a, p
		found = found || to == "." || sub == to || strings.HasPrefix(sub, to+"/")
	}
	if !found {
		r.fail(r.Object.Errorf([]any{"spec", "path"}, "the artifact has no directory %q", cmp.Or(sub, ".")).With(diag.NoSuchFile))
		return nil, ""
	}
	for n, s := range g.Spec.Sources {
		if s.Alias == alias {
			if s.Kind == "ExternalArtifact" {
				break
			}
			return r.find(o, s.reference, "spec", "sources", n), path.Join(prefix, sub)
		}
	}
	r.fail(o.Errorf([]any{"spec", "sources"}, "there is no repository with the alias %q", alias).With(diag.BadReference))
	return nil, ""
}

// base returns the directory of a source that corresponds to the root of an artifact, if the
// artifact has a copy of dir at the path to. ok is false if the copy changes the relative path.
func base(dir, to string) (prefix string, ok bool) {
	if to == "." {
		return dir, true
	}
	if dir == to {
		return "", true
	}
	return strings.CutSuffix(dir, "/"+to)
}
