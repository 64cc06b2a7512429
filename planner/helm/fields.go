// Package helm compiles the chart fields of a Kustomization into a chart with its values and the
// arguments of helm. It reads files through its caller and runs nothing.
package helm

import (
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Globals is the field helmGlobals.
type Globals struct {
	// ChartHome is the folder that contains the charts' folders, relative to the layer; "charts"
	// if it is empty.
	ChartHome string `json:"chartHome"`
	// ConfigHome is the folder of helm's configuration in kustomize. It is unused: krmflow gives
	// helm a separate home.
	ConfigHome string `json:"configHome"`
}

// A Chart is an entry of helmCharts or, with Globals, a HelmChartInflationGenerator. Field names
// are kustomize's.
type Chart struct {
	Name                  string     `json:"name"`
	Version               string     `json:"version"`
	Repo                  string     `json:"repo"`
	ReleaseName           string     `json:"releaseName"`
	Namespace             string     `json:"namespace"`
	AdditionalValuesFiles []string   `json:"additionalValuesFiles"`
	ValuesFile            string     `json:"valuesFile"`
	ValuesInline          yaml.Value `json:"valuesInline"`
	// Exact passes ValuesInline to helm unchanged and without other values, even if it is empty. A
	// GitOps object sets it; a Kustomization cannot.
	Exact bool `json:"-"`
	// Secret reports that values come from a Secret, so that the output is not cached.
	Secret       bool     `json:"-"`
	ValuesMerge  string   `json:"valuesMerge"`
	IncludeCRDs  bool     `json:"includeCRDs"`
	SkipHooks    bool     `json:"skipHooks"`
	APIVersions  []string `json:"apiVersions"`
	KubeVersion  string   `json:"kubeVersion"`
	NameTemplate string   `json:"nameTemplate"`
	SkipTests    bool     `json:"skipTests"`
	Debug        bool     `json:"debug"`
	Devel        bool     `json:"devel"`
}

// A Generator is a document of the kind HelmChartInflationGenerator.
type Generator struct {
	Globals
	Chart
}

// An Old chart is an entry of the deprecated field helmChartInflationGenerator. kustomize ignores
// the same fields as krmflow.
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

// Renew converts the entries of the deprecated field to the current fields. As in kustomize, the
// last chartHome applies to all charts.
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

// Options are the settings of the command line. The fields of a chart take precedence.
type Options struct {
	// Command is the name or path of the helm program, "helm" if it is empty.
	Command     string
	APIVersions []string
	KubeVersion string
	Debug       bool
	// Hash reads the helm program and returns its digest. Set it to keep the content that was
	// read and run exactly that; it may be nil.
	Hash func(path string) (krm.Digest, error)
}

// Generator returns a generator with the settings of the command line. A document is decoded into
// it.
func (o Options) Generator() Generator {
	return Generator{Chart: Chart{KubeVersion: o.KubeVersion, APIVersions: o.APIVersions, Debug: o.Debug}}
}

// Apply sets the fields of a chart that are not set to the values of the command line.
func (o Options) Apply(c *Chart) {
	if c.KubeVersion == "" {
		c.KubeVersion = o.KubeVersion
	}
	if len(c.APIVersions) == 0 {
		c.APIVersions = o.APIVersions
	}
	c.Debug = c.Debug || o.Debug
}
