package argocd

import "github.com/krmflow/krmflow/krm/yaml"

// The structs below have the known fields of argoproj.io/v1alpha1. A field without an effect on the
// rendered resources has the type yaml.Value, so its content is not checked.

// An application is the content of an Application.
type application struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   yaml.Value      `json:"metadata"`
	Spec       applicationSpec `json:"spec"`
	Operation  yaml.Value      `json:"operation"`
	Status     yaml.Value      `json:"status"`
}

type applicationSpec struct {
	Source               *source     `json:"source"`
	Sources              []source    `json:"sources"`
	SourceHydrator       *hydrator   `json:"sourceHydrator"`
	Destination          destination `json:"destination"`
	Project              string      `json:"project"`
	SyncPolicy           yaml.Value  `json:"syncPolicy"`
	IgnoreDifferences    yaml.Value  `json:"ignoreDifferences"`
	Info                 yaml.Value  `json:"info"`
	RevisionHistoryLimit yaml.Value  `json:"revisionHistoryLimit"`
}

type destination struct {
	Server    string `json:"server"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type hydrator struct {
	DrySource  yaml.Value `json:"drySource"`
	SyncSource yaml.Value `json:"syncSource"`
	HydrateTo  yaml.Value `json:"hydrateTo"`
}

// A source is an entry of sources, or the value of source or drySource.
type source struct {
	RepoURL        string      `json:"repoURL"`
	Path           string      `json:"path"`
	TargetRevision string      `json:"targetRevision"`
	Helm           *helmSource `json:"helm"`
	Kustomize      *kustomize  `json:"kustomize"`
	Directory      *directory  `json:"directory"`
	Plugin         *yaml.Value `json:"plugin"`
	Chart          string      `json:"chart"`
	Ref            string      `json:"ref"`
	Name           string      `json:"name"`
}

type kustomize struct {
	NamePrefix                string            `json:"namePrefix"`
	NameSuffix                string            `json:"nameSuffix"`
	Images                    []string          `json:"images"`
	CommonLabels              map[string]string `json:"commonLabels"`
	Version                   string            `json:"version"`
	CommonAnnotations         map[string]string `json:"commonAnnotations"`
	ForceCommonLabels         bool              `json:"forceCommonLabels"`
	ForceCommonAnnotations    bool              `json:"forceCommonAnnotations"`
	Namespace                 string            `json:"namespace"`
	CommonAnnotationsEnvsubst bool              `json:"commonAnnotationsEnvsubst"`
	Replicas                  []replica         `json:"replicas"`
	Patches                   []patch           `json:"patches"`
	Components                []string          `json:"components"`
	IgnoreMissingComponents   bool              `json:"ignoreMissingComponents"`
	LabelWithoutSelector      bool              `json:"labelWithoutSelector"`
	KubeVersion               string            `json:"kubeVersion"`
	APIVersions               []string          `json:"apiVersions"`
	LabelIncludeTemplates     bool              `json:"labelIncludeTemplates"`
}

type replica struct {
	Name  string     `json:"name"`
	Count yaml.Value `json:"count"`
}

type patch struct {
	Path    string          `json:"path"`
	Patch   string          `json:"patch"`
	Target  *target         `json:"target"`
	Options map[string]bool `json:"options"`
}

type target struct {
	Group              string `json:"group"`
	Version            string `json:"version"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	Namespace          string `json:"namespace"`
	AnnotationSelector string `json:"annotationSelector"`
	LabelSelector      string `json:"labelSelector"`
}

type helmSource struct {
	ValueFiles              []string        `json:"valueFiles"`
	Parameters              []parameter     `json:"parameters"`
	ReleaseName             string          `json:"releaseName"`
	Values                  string          `json:"values"`
	FileParameters          []fileParameter `json:"fileParameters"`
	Version                 string          `json:"version"`
	PassCredentials         bool            `json:"passCredentials"`
	IgnoreMissingValueFiles bool            `json:"ignoreMissingValueFiles"`
	SkipCRDs                bool            `json:"skipCrds"`
	ValuesObject            yaml.Value      `json:"valuesObject"`
	Namespace               string          `json:"namespace"`
	KubeVersion             string          `json:"kubeVersion"`
	APIVersions             []string        `json:"apiVersions"`
	SkipTests               bool            `json:"skipTests"`
	SkipSchemaValidation    bool            `json:"skipSchemaValidation"`
}

type parameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString"`
}

type fileParameter struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

type directory struct {
	Recurse bool       `json:"recurse"`
	Jsonnet yaml.Value `json:"jsonnet"`
	Exclude string     `json:"exclude"`
	Include string     `json:"include"`
}
