package edit

import (
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Fix returns an edit that replaces deprecated fields and adds missing values of kind and
// apiVersion. It calls told for each deprecated field and its replacement.
func Fix(told func(from, to string)) Edit {
	return func(k *Kustomization) error {
		f := &fix{k, told}
		f.header()
		f.list("bases", "resources")
		f.list("imageTags", "images")
		f.envs(ConfigMaps)
		f.envs(Secrets)
		f.charts()
		f.list("patchesJson6902", "patches")
		f.merges()
		return f.labels()
	}
}

// A fix is one run of [Fix].
type fix struct {
	*Kustomization
	told func(from, to string)
}

// moved removes a deprecated field. It reports the replacement unless the field is empty.
func (f *fix) moved(from, to string) {
	if !f.field(from).Exists() {
		return
	}
	if !f.field(from).IsEmpty() {
		f.told(from, to)
	}
	f.value = put(f.value, from, yaml.Value{})
}

// header adds kind and apiVersion if they are missing.
func (f *fix) header() {
	if f.field("kind").Text() == "" {
		f.set("kind", yaml.Str("Kustomization"))
	}
	if f.field("apiVersion").Text() == "" {
		version := "kustomize.config.k8s.io/v1beta1"
		if f.field("kind").Text() == "Component" {
			version = "kustomize.config.k8s.io/v1alpha1"
		}
		f.set("apiVersion", yaml.Str(version))
	}
}

// list appends the items of one list to a different one.
func (f *fix) list(from, to string) {
	if len(f.items(from)) > 0 {
		f.told(from, to)
		f.absorb(from, to)
	}
	f.moved(from, to)
}

// envs replaces env with envs in all entries of a generator.
func (f *fix) envs(g Generator) {
	entries := slices.Clone(f.items(g.Field))
	changed := false
	for i, e := range entries {
		if get(e, "env").Exists() {
			entries[i] = withEnvs(e)
			changed = true
		}
	}
	if changed {
		f.setItems(g.Field, entries)
		f.told(g.Field+"[].env", "envs")
	}
}

// chartFields maps fields of a helmChartInflationGenerator entry to the corresponding fields of
// a helmCharts entry.
var chartFields = [][2]string{
	{"chartName", "name"}, {"chartVersion", "version"}, {"chartRepoUrl", "repo"}, {"releaseName", "releaseName"}, {"values", "valuesFile"},
	{"valuesLocal", "valuesInline"}, {"valuesMerge", "valuesMerge"},
}

// charts moves helmChartInflationGenerator to helmCharts and helmGlobals.
func (f *fix) charts() {
	const from = "helmChartInflationGenerator"
	charts := slices.Clone(f.items("helmCharts"))
	globals := map[string]string{}
	for _, old := range f.items(from) {
		var fields []yaml.Field
		for _, names := range chartFields {
			if v := get(old, names[0]); !v.IsEmpty() && (v.Type() != yaml.String || v.Text() != "") {
				fields = append(fields, yaml.Field{Key: names[1], Value: v})
			}
		}
		charts = append(charts, yaml.MapOf(fields...))
		for _, names := range [][2]string{{"chartHome", "chartHome"}, {"helmHome", "configHome"}} {
			if home := get(old, names[0]).Text(); home != "" {
				globals[names[1]] = home // the last entry takes precedence
			}
		}
	}
	f.setItems("helmCharts", charts)
	if len(globals) > 0 && f.field("helmGlobals").IsNull() {
		f.set("helmGlobals", yaml.StrMap(globals))
	}
	f.moved(from, "helmCharts")
}

// merges moves patchesStrategicMerge to patches. An entry that is not the name of a file is the
// text of a patch.
func (f *fix) merges() {
	patches := slices.Clone(f.items("patches"))
	for _, patch := range f.items("patchesStrategicMerge") {
		key := "patch"
		if f.IsFile(patch.Text()) {
			key = "path"
		}
		patches = append(patches, yaml.MapOf(yaml.Field{Key: key, Value: patch}))
	}
	f.setItems("patches", patches)
	f.moved("patchesStrategicMerge", "patches")
}

// labels moves commonLabels to labels. It returns an error if both define the same label.
func (f *fix) labels() error {
	common := f.field("commonLabels")
	for _, entry := range f.items("labels") {
		for _, pair := range get(entry, "pairs").Fields() {
			if common.Get(pair.Key).Exists() {
				return mistake("labels", "label %s is also in commonLabels: remove it from one of them", pair.Key)
			}
		}
	}
	if common.Len() > 0 {
		entry := yaml.MapOf(yaml.Field{Key: "includeSelectors", Value: yaml.BoolValue(true)}, yaml.Field{Key: "pairs", Value: common})
		f.setItems("labels", slices.Concat(f.items("labels"), []yaml.Value{entry}))
	}
	f.moved("commonLabels", "labels")
	return nil
}
