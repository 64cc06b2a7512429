// Package helm compiles what a Kustomization says about helm charts: from its fields to a chart with its values and to the arguments
// of helm. It reads through its caller and runs nothing.
package helm

import (
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Globals are the field helmGlobals.
type Globals struct {
	// ChartHome is the folder with the folders of charts, from the layer's own; "charts" if it is empty.
	ChartHome string `json:"chartHome"`
	// ConfigHome is where kustomize lets helm keep its configuration. Helm has a home of its own here, so it is not used.
	ConfigHome string `json:"configHome"`
}

// A Chart is an entry of helmCharts, or, with Globals, a HelmChartInflationGenerator. The names are kustomize's.
type Chart struct {
	Name                  string     `json:"name"`
	Version               string     `json:"version"`
	Repo                  string     `json:"repo"`
	ReleaseName           string     `json:"releaseName"`
	Namespace             string     `json:"namespace"`
	AdditionalValuesFiles []string   `json:"additionalValuesFiles"`
	ValuesFile            string     `json:"valuesFile"`
	ValuesInline          yaml.Value `json:"valuesInline"`
	ValuesMerge           string     `json:"valuesMerge"`
	IncludeCRDs           bool       `json:"includeCRDs"`
	SkipHooks             bool       `json:"skipHooks"`
	APIVersions           []string   `json:"apiVersions"`
	KubeVersion           string     `json:"kubeVersion"`
	NameTemplate          string     `json:"nameTemplate"`
	SkipTests             bool       `json:"skipTests"`
	Debug                 bool       `json:"debug"`
	Devel                 bool       `json:"devel"`
}

// A Generator is a document of the kind HelmChartInflationGenerator.
type Generator struct {
	Globals
	Chart
}

// An Old chart is an entry of the deprecated field helmChartInflationGenerator. What krmflow does not use, kustomize does not use either.
type Old struct {
	ChartName        string     `json:"chartName"`
	ChartVersion     string     `json:"chartVersion"`
	ChartRepoURL     string     `json:"chartRepoUrl"`
	ChartHome        string     `json:"chartHome"`
	ChartRepoName    string     `json:"chartRepoName"`
	HelmBin          string     `json:"helmBin"`
	HelmHome         string     `json:"helmHome"`
	Values           string     `json:"values"`
	ValuesLocal      yaml.Value `json:"valuesLocal"`
	ValuesMerge      string     `json:"valuesMerge"`
	ReleaseName      string     `json:"releaseName"`
	ReleaseNamespace string     `json:"releaseNamespace"`
	ExtraArgs        []string   `json:"extraArgs"`
}

// Renew returns what the entries of the deprecated field are in terms of the newer ones. As in kustomize, the last folder counts for all.
func Renew(old []Old) (charts []Chart, globals Globals) {
	for _, o := range old {
		charts = append(charts, Chart{Name: o.ChartName, Version: o.ChartVersion, Repo: o.ChartRepoURL, ValuesFile: o.Values,
			ValuesInline: o.ValuesLocal, ValuesMerge: o.ValuesMerge, ReleaseName: o.ReleaseName})
		if o.HelmHome != "" {
			globals.ConfigHome = o.HelmHome
		}
		if o.ChartHome != "" {
			globals.ChartHome = o.ChartHome
		}
	}
	return charts, globals
}

// Options are those of the command line. What a chart says itself has precedence.
type Options struct {
	// Command is the name or the path of helm's program, helm if it is empty.
	Command     string
	APIVersions []string
	KubeVersion string
	Debug       bool
	// Hash reads helm's program and returns its digest. It is for those who keep what they read, to run that; nil for others.
	Hash func(path string) (krm.Digest, error)
}

// Generator returns a generator that has what the command line says. A document is decoded into it.
func (o Options) Generator() Generator {
	return Generator{Chart: Chart{KubeVersion: o.KubeVersion, APIVersions: o.APIVersions, Debug: o.Debug}}
}

// Apply gives a chart of a field what the command line says and the chart does not.
func (o Options) Apply(c *Chart) {
	if c.KubeVersion == "" {
		c.KubeVersion = o.KubeVersion
	}
	if len(c.APIVersions) == 0 {
		c.APIVersions = o.APIVersions
	}
	c.Debug = c.Debug || o.Debug
}
