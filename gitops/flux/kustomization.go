package flux

import (
	"path"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A kustomization is the content of a Kustomization of Flux. The fields after decryption do not
// affect the output.
type kustomization struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   yaml.Value `json:"metadata"`
	Status     yaml.Value `json:"status"`
	Spec       struct {
		SourceRef               reference    `json:"sourceRef"`
		Path                    string       `json:"path"`
		Suspend                 bool         `json:"suspend"`
		DependsOn               []dependency `json:"dependsOn"`
		TargetNamespace         string       `json:"targetNamespace"`
		NamePrefix              string       `json:"namePrefix"`
		NameSuffix              string       `json:"nameSuffix"`
		CommonMetadata          metadata     `json:"commonMetadata"`
		Components              []string     `json:"components"`
		IgnoreMissingComponents bool         `json:"ignoreMissingComponents"`
		BuildMetadata           []string     `json:"buildMetadata"`
		postRenderer
		PostBuild *struct {
			Substitute     map[string]string `json:"substitute"`
			SubstituteFrom []struct {
				Kind     string `json:"kind"`
				Name     string `json:"name"`
				Optional bool   `json:"optional"`
			} `json:"substituteFrom"`
		} `json:"postBuild"`
		Decryption *struct {
			Provider           string     `json:"provider"`
			SecretRef          yaml.Value `json:"secretRef"`
			ServiceAccountName yaml.Value `json:"serviceAccountName"`
		} `json:"decryption"`

		DeletionPolicy     yaml.Value `json:"deletionPolicy"`
		Force              yaml.Value `json:"force"`
		HealthCheckExprs   yaml.Value `json:"healthCheckExprs"`
		HealthChecks       yaml.Value `json:"healthChecks"`
		Interval           yaml.Value `json:"interval"`
		KubeConfig         yaml.Value `json:"kubeConfig"`
		Prune              yaml.Value `json:"prune"`
		RetryInterval      yaml.Value `json:"retryInterval"`
		ServiceAccountName yaml.Value `json:"serviceAccountName"`
		Timeout            yaml.Value `json:"timeout"`
		Validation         yaml.Value `json:"validation"`
		Wait               yaml.Value `json:"wait"`
	} `json:"spec"`
}

// A postRenderer has the fields of a kustomization file that both controllers accept.
type postRenderer struct {
	Patches []patch `json:"patches"`
	Images  []image `json:"images"`
	// The deprecated fields of v1beta2.
	PatchesStrategicMerge []yaml.Value `json:"patchesStrategicMerge"`
	PatchesJSON6902       []jsonPatch  `json:"patchesJson6902"`
}

type patch struct {
	Patch  string    `json:"patch"`
	Target *selector `json:"target"`
}

type jsonPatch struct {
	Patch  []jsonOperation `json:"patch"`
	Target *selector       `json:"target"`
}

type jsonOperation struct {
	Op    string     `json:"op"`
	Path  string     `json:"path"`
	From  string     `json:"from"`
	Value yaml.Value `json:"value"`
}

type selector struct {
	Group              string `json:"group"`
	Version            string `json:"version"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	Namespace          string `json:"namespace"`
	AnnotationSelector string `json:"annotationSelector"`
	LabelSelector      string `json:"labelSelector"`
}

type image struct {
	Name    string `json:"name"`
	NewName string `json:"newName"`
	NewTag  string `json:"newTag"`
	Digest  string `json:"digest"`
}

// kustomization returns the root of a Kustomization, or nil if it is suspended.
func (f *finder) kustomization(o *gitops.Object) *gitops.Root {
	k := &kustomization{}
	r, ok := f.root(o, k, &k.Spec.Suspend)
	if !ok {
		return r.Root
	}
	s := &k.Spec
	r.DependsOn = DependsOn(o)
	r.deprecated(k)
	src, sub := (*gitops.Object)(nil), s.Path
	if s.SourceRef.Kind == "ExternalArtifact" {
		src, sub = r.artifact(s.SourceRef, s.Path, "spec", "sourceRef")
	} else {
		src = r.find(o, s.SourceRef, "spec", "sourceRef")
	}
	if src != nil {
		at := o.Place("spec", "sourceRef")
		if s.Path != "" {
			at = o.Place("spec", "path")
			if strings.HasPrefix(path.Clean(strings.TrimLeft(s.Path, "/")), "..") {
				f.warn(o.Errorf(at.At, "%q leads out of the repository: Flux starts at its root", s.Path).With(diag.OutsideDirectory))
			}
		}
		if t, ok := r.tree(src, sub); ok {
			e := &editor{f: f, o: o, k: k, tree: t}
			r.Files = append(r.Files, t.ignoreFiles(f.env)...)
			r.Parts = []gitops.Part{{Dir: t.dir(), At: at, Within: t.repo.Dir, Edit: e.edit}}
		}
	}
	if d := s.Decryption; d != nil && d.Provider != "sops" {
		r.fail(o.Errorf([]any{"spec", "decryption", "provider"}, "unknown provider %q", d.Provider).With(diag.BadValue).
			Hint("Flux supports only sops"))
	}
	if s.PostBuild != nil {
		r.substitute(k)
	}
	r.commonMetadata(s.CommonMetadata)
	return r.Root
}

// deprecated removes the patches of v1beta2 from an object of version v1, with a warning. The API
// server drops them, because v1 does not have these fields.
func (r *root) deprecated(k *kustomization) {
	version := path.Base(k.APIVersion)
	drop := func(field string) {
		r.f.warn(r.Object.Errorf([]any{"spec", field}, "unknown field in %s, ignored by Flux", k.APIVersion).With(diag.UnknownField).
			Hint("use patches instead"))
	}
	if version != "v1" {
		return
	}
	if k.Spec.PatchesStrategicMerge != nil {
		drop("patchesStrategicMerge")
		k.Spec.PatchesStrategicMerge = nil
	}
	if k.Spec.PatchesJSON6902 != nil {
		drop("patchesJson6902")
		k.Spec.PatchesJSON6902 = nil
	}
}
