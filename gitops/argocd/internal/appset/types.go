package appset

import "github.com/krmflow/krmflow/krm/yaml"

// An applicationSet is the content of an ApplicationSet. Generators and templates are decoded
// later, when their parameters are known.
type applicationSet struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   yaml.Value `json:"metadata"`
	Spec       struct {
		GoTemplate                   bool         `json:"goTemplate"`
		Generators                   []yaml.Value `json:"generators"`
		Template                     template     `json:"template"`
		SyncPolicy                   yaml.Value   `json:"syncPolicy"`
		Strategy                     yaml.Value   `json:"strategy"`
		PreservedFields              yaml.Value   `json:"preservedFields"`
		GoTemplateOptions            []string     `json:"goTemplateOptions"`
		ApplyNestedSelectors         bool         `json:"applyNestedSelectors"`
		IgnoreApplicationDifferences yaml.Value   `json:"ignoreApplicationDifferences"`
		TemplatePatch                string       `json:"templatePatch"`
	} `json:"spec"`
	Status yaml.Value `json:"status"`
}

type template struct {
	Metadata yaml.Value `json:"metadata"`
	Spec     yaml.Value `json:"spec"`
}

// A generator is an entry of generators.
type generator struct {
	List                    *listGenerator    `json:"list"`
	Clusters                *clusterGenerator `json:"clusters"`
	Git                     *gitGenerator     `json:"git"`
	SCMProvider             *yaml.Value       `json:"scmProvider"`
	ClusterDecisionResource *yaml.Value       `json:"clusterDecisionResource"`
	PullRequest             *yaml.Value       `json:"pullRequest"`
	Matrix                  *matrixGenerator  `json:"matrix"`
	Merge                   *mergeGenerator   `json:"merge"`
	Plugin                  *yaml.Value       `json:"plugin"`
	Selector                yaml.Value        `json:"selector"` // see generation.run
}

type listGenerator struct {
	Elements     []yaml.Value `json:"elements"`
	Template     template     `json:"template"`
	ElementsYAML string       `json:"elementsYaml"`
}

type clusterGenerator struct {
	Selector selector          `json:"selector"`
	Template template          `json:"template"`
	Values   map[string]string `json:"values"`
	FlatList bool              `json:"flatList"`
}

type gitGenerator struct {
	RepoURL             string            `json:"repoURL"`
	Directories         []gitItem         `json:"directories"`
	Files               []gitItem         `json:"files"`
	Revision            string            `json:"revision"`
	RequeueAfterSeconds yaml.Value        `json:"requeueAfterSeconds"`
	Template            template          `json:"template"`
	PathParamPrefix     string            `json:"pathParamPrefix"`
	Values              map[string]string `json:"values"`
}

type gitItem struct {
	Path    string `json:"path"`
	Exclude bool   `json:"exclude"`
}

type matrixGenerator struct {
	Generators []yaml.Value `json:"generators"`
	Template   template     `json:"template"`
}

type mergeGenerator struct {
	Generators []yaml.Value `json:"generators"`
	MergeKeys  []string     `json:"mergeKeys"`
	Template   template     `json:"template"`
}
