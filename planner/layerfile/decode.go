package layerfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/report"
)

// A File is a decoded kustomization file with kustomize's fixes of deprecated fields.
type File struct {
	Kustomization
	Source *yaml.Source
	// unread are the fields, or entries of lists, that could not be decoded.
	unread map[string]bool
	// ResourcePaths, ImagePaths and HelmPaths are the original fields of the entries of
	// Resources, Images and HelmCharts: deprecated fields are merged into them.
	ResourcePaths, ImagePaths, HelmPaths [][]any
}

// Decode decodes a kustomization file, reports deprecated fields, applies kustomize's fixes and
// checks apiVersion and kind. early is the decoded content if the file was decoded earlier
// without mistakes, otherwise nil. Mistakes are reported. The result is nil if the file is not
// valid YAML.
func Decode(src *yaml.Source, early *Kustomization, r *report.Reporter) *File {
	v, err := src.Value()
	if err != nil {
		r.ErrorAt(src, nil, err)
		return nil
	}
	r.Warnings.Add(src.Warnings()...)
	if err := foreign(src, v); err != nil {
		r.Fail(err)
		return nil
	}
	k := &File{Source: src}
	var errs []*yaml.DecodeError
	if early != nil {
		k.Kustomization = *early
	} else {
		errs = yaml.Decode(v, &k.Kustomization)
	}
	r.FailIn(src, errs)
	for _, e := range errs {
		if k.unread == nil {
			k.unread = map[string]bool{}
		}
		k.unread[entryOf(e.Path)] = true
	}
	deprecations(r, k, v)
	k.fix()
	check(r, k, v)
	return k
}

// foreign returns an error if a file with the name of a kustomization file holds an object of a
// cluster, for instance a Kustomization of Flux.
func foreign(src *yaml.Source, v yaml.Value) error {
	apiVersion, kind := v.Get("apiVersion").Text(), v.Get("kind").Text()
	group, _, grouped := strings.Cut(apiVersion, "/")
	content := v.Get("spec").Exists() || v.Get("data").Exists() || v.Get("rules").Exists()
	own := kind == "" || diag.Nearest(kind, []string{"Kustomization", "Component"}) != "" ||
		slices.Contains([]string{"Kustomization", "Component"}, kind)
	switch {
	case apiVersion == "" || group == Group || diag.Near(group, Group, 4):
		return nil
	case own && (!grouped || !content):
		return nil // a Kustomization with a wrong apiVersion
	case !own && !content && !v.At("metadata", "name").Exists():
		return nil
	}
	of := "the group " + group
	switch {
	case !grouped:
		of = "Kubernetes"
	case strings.HasSuffix(group, ".fluxcd.io"):
		of = "Flux"
	case group == "argoproj.io":
		of = "Argo"
	}
	name := strings.ToLower(cmp.Or(v.At("metadata", "name").Text(), kind)) + ".yaml"
	return diag.Errorf(src.Locate(0, "apiVersion"), "apiVersion", "this is the %s %s of %s, not a kustomization file", kind, apiVersion,
		of).With(diag.WrongKind).
		Hint("give the file another name, for instance %s, and list it under resources of a kustomization file", name)
}

// IsUnread reports whether the field at path, or the list entry that contains it, could not be
// decoded, at least in part.
func (k *File) IsUnread(path []any) bool {
	return k.unread != nil && (k.unread[entryOf(path)] || k.unread[diag.FieldPath(path[:1])])
}

// entryOf returns the list entry that contains path, or else the top-level field.
func entryOf(path []any) string {
	if len(path) > 1 {
		if _, ok := path[1].(int); ok {
			return diag.FieldPath(path[:2])
		}
	}
	return diag.FieldPath(path[:min(1, len(path))])
}

// deprecations warns about deprecated fields, in kustomize's words. A controller's edits may use
// them, which is not the user's mistake.
func deprecations(r *report.Reporter, k *File, v yaml.Value) {
	if k.Source.Folder != "" {
		return
	}
	for _, d := range []struct {
		used              bool
		field, by, remark string
	}{
		{k.Bases != nil, "bases", "resources", ""},
		{k.CommonLabels != nil, "commonLabels", "labels", ""},
		{k.ImageTags != nil, "imageTags", "images", ""},
		{k.PatchesJSON6902 != nil, "patchesJson6902", "patches", ""},
		{k.PatchesStrategicMerge != nil, "patchesStrategicMerge", "patches", ""},
		{k.Vars != nil, "vars", "replacements", ""},
	} {
		if d.used {
			r.Warn(diag.Deprecated, k.Source, []any{d.field}, "deprecated, use %s instead", d.by)
		}
	}
}

// fix moves the content of deprecated fields to their replacements, as kustomize does.
func (k *File) fix() {
	if k.Kind == "" {
		k.Kind = "Kustomization"
	}
	if k.APIVersion == "" {
		k.APIVersion = k.requiredVersion()
	}
	k.ResourcePaths = paths(paths(nil, "resources", len(k.Resources)), "bases", len(k.Bases))
	k.Resources = append(k.Resources, k.Bases...)
	k.ImagePaths = paths(paths(nil, "images", len(k.Images)), "imageTags", len(k.ImageTags))
	k.Images = append(k.Images, k.ImageTags...)
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 {
		k.fixHelm()
	}
}

// fixHelm does the same for charts.
func (k *File) fixHelm() {
	k.HelmPaths = paths(paths(nil, "helmCharts", len(k.HelmCharts)), "helmChartInflationGenerator", len(k.HelmChartInflationGenerator))
	charts, globals := helm.Renew(k.HelmChartInflationGenerator)
	if k.HelmCharts = append(k.HelmCharts, charts...); k.HelmGlobals == nil {
		k.HelmGlobals = &globals
	}
}

func paths(to [][]any, field string, n int) [][]any {
	for i := range n {
		to = append(to, []any{field, i})
	}
	return to
}

func (k *File) requiredVersion() string {
	if k.Kind == "Component" {
		return ComponentVersion
	}
	return KustomizationVersion
}

// checkKind checks kind and apiVersion. Without a valid kind, the required apiVersion is unknown.
func checkKind(r *report.Reporter, k *File, v yaml.Value) {
	if k.unread["kind"] {
		return
	}
	if k.Kind != "Kustomization" && k.Kind != "Component" {
		e := diag.Errorf(k.Source.Locate(0, "kind"), k.Source.Field([]any{"kind"}), "must be Kustomization or Component, not %q",
			k.Kind).With(diag.WrongKind)
		if e.Hints = diag.DidYouMean(k.Kind, []string{"Kustomization", "Component"}); e.Hints == nil {
			e.Hint("write kind: Kustomization, and put resources into files that it lists")
		}
		r.Fail(e)
		return
	}
	if k.APIVersion != k.requiredVersion() && !k.unread["apiVersion"] {
		r.Fail(diag.Errorf(k.Source.Locate(0, "apiVersion"), k.Source.Field([]any{"apiVersion"}), "must be %s for a %s, not %q",
			k.requiredVersion(), k.Kind, k.APIVersion).With(diag.WrongKind).
			Hint("write apiVersion: %s, or correct the kind: a Component has %s", k.requiredVersion(), ComponentVersion))
	}
}

func check(r *report.Reporter, k *File, v yaml.Value) {
	checkKind(r, k, v)
	for i, m := range k.BuildMetadata {
		known := []string{"originAnnotations", "transformerAnnotations", "managedByLabel"}
		if !slices.Contains(known, m) {
			w := diag.Errorf(k.Source.Locate(0, "buildMetadata", i), k.Source.Field([]any{"buildMetadata", i}),
				"unknown option %q is ignored", m).With(diag.BadValue)
			if w.Hints = diag.DidYouMean(m, known); w.Hints == nil {
				w.Hint("the options are: %s", diag.Some(known))
			}
			r.Warnings.Add(w)
		}
	}
}

// Empty reports whether the file has no content except apiVersion and kind. kustomize treats
// empty lists and mappings as content.
func (k *File) Empty() bool {
	v, _ := k.Source.Value()
	for _, f := range v.Fields() {
		switch field := strings.ToLower(f.Key); {
		case field == "apiversion" || field == "kind" || f.Value.IsNull():
		case f.Value.Type() == yaml.String && f.Value.Text() == "":
		case (field == "bases" || field == "imagetags" || field == "helmchartinflationgenerator") && f.Value.IsEmpty():
			// These lists are moved to other fields, and nothing of them remains.
		default:
			return false
		}
	}
	return true
}
