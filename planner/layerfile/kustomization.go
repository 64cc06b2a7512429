package layerfile

import (
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/helm"
)

// A Kustomization is the content of a Kustomization or Component as written. Field names are
// kustomize's.
type Kustomization struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   *Metadata `json:"metadata"`

	OpenAPI           map[string]string `json:"openapi"`
	NamePrefix        string            `json:"namePrefix"`
	NameSuffix        string            `json:"nameSuffix"`
	Namespace         string            `json:"namespace"`
	CommonLabels      map[string]string `json:"commonLabels"`
	Labels            []LabelEntry      `json:"labels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`

	PatchesStrategicMerge []string     `json:"patchesStrategicMerge"`
	PatchesJSON6902       []PatchEntry `json:"patchesJson6902"`
	Patches               []PatchEntry `json:"patches"`

	Images       []builtins.Image       `json:"images"`
	ImageTags    []builtins.Image       `json:"imageTags"`
	Replacements []builtins.Replacement `json:"replacements"`
	Replicas     []builtins.Replica     `json:"replicas"`
	Vars         []builtins.Var         `json:"vars"`
	SortOptions  *builtins.SortOptions  `json:"sortOptions"`

	Resources  []string `json:"resources"`
	Components []string `json:"components"`
	CRDs       []string `json:"crds"`
	Bases      []string `json:"bases"`

	ConfigMapGenerator []builtins.ConfigMapArgs   `json:"configMapGenerator"`
	SecretGenerator    []builtins.SecretArgs      `json:"secretGenerator"`
	GeneratorOptions   *builtins.GeneratorOptions `json:"generatorOptions"`

	HelmGlobals                 *helm.Globals `json:"helmGlobals"`
	HelmCharts                  []helm.Chart  `json:"helmCharts"`
	HelmChartInflationGenerator []helm.Old    `json:"helmChartInflationGenerator"`

	// Unlike in kustomize, the entries of these three lists may be mappings (KX-10).
	Generators   []yaml.TextOrMap `json:"generators"`
	Transformers []yaml.TextOrMap `json:"transformers"`
	Validators   []yaml.TextOrMap `json:"validators"`

	Configurations []string `json:"configurations"`
	Catalogs       []string `json:"catalogs"`
	BuildMetadata  []string `json:"buildMetadata"`
}

// Metadata is the metadata of a Kustomization.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// A LabelEntry is an entry of labels.
type LabelEntry struct {
	Pairs                       map[string]string    `json:"pairs"`
	IncludeSelectors            bool                 `json:"includeSelectors"`
	IncludeTemplates            bool                 `json:"includeTemplates"`
	IncludeVolumeClaimTemplates bool                 `json:"includeVolumeClaimTemplates"`
	FieldSpecs                  *builtins.FieldSpecs `json:"fields"`
}

// A PatchEntry is an entry of patches or patchesJson6902.
type PatchEntry struct {
	Path    string                 `json:"path"`
	Patch   string                 `json:"patch"`
	Target  *builtins.Selector     `json:"target"`
	Options *builtins.PatchOptions `json:"options"`
}

// PatchPath returns text if it is a path, "" if it is an inline patch.
func PatchPath(text string) string {
	if strings.ContainsAny(text, "\n{:") {
		return ""
	}
	return text
}

// String describes the patch and its target, as displayed in plans.
func (p PatchEntry) String() string {
	what := p.Path
	if what == "" {
		what = "inline" // the text may contain values of a Secret
	}
	if p.Target != nil {
		what += " -> " + p.Target.String()
	}
	return what
}
