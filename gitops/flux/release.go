package flux

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A release is the content of a HelmRelease. The fields after postRenderers do not affect the
// output.
type release struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   yaml.Value `json:"metadata"`
	Status     yaml.Value `json:"status"`
	Spec       struct {
		Chart *struct {
			Metadata yaml.Value `json:"metadata"`
			Spec     chartSpec  `json:"spec"`
		} `json:"chart"`
		ChartRef        *reference   `json:"chartRef"`
		Suspend         bool         `json:"suspend"`
		DependsOn       []dependency `json:"dependsOn"`
		ReleaseName     string       `json:"releaseName"`
		TargetNamespace string       `json:"targetNamespace"`
		Values          yaml.Value   `json:"values"`
		ValuesFrom      []valuesFrom `json:"valuesFrom"`
		Install         struct {
			CRDs     string `json:"crds"`
			SkipCRDs bool   `json:"skipCRDs"`
			helmAction
		} `json:"install"`
		Upgrade struct {
			CRDs string `json:"crds"`
			helmAction
		} `json:"upgrade"`
		Test struct {
			Enable         bool       `json:"enable"`
			Filters        yaml.Value `json:"filters"`
			IgnoreFailures yaml.Value `json:"ignoreFailures"`
			Timeout        yaml.Value `json:"timeout"`
		} `json:"test"`
		CommonMetadata metadata `json:"commonMetadata"`
		PostRenderers  []struct {
			Kustomize *postRenderer `json:"kustomize"`
		} `json:"postRenderers"`

		DriftDetection     yaml.Value `json:"driftDetection"`
		HealthCheckExprs   yaml.Value `json:"healthCheckExprs"`
		Interval           yaml.Value `json:"interval"`
		KubeConfig         yaml.Value `json:"kubeConfig"`
		MaxHistory         yaml.Value `json:"maxHistory"`
		PersistentClient   yaml.Value `json:"persistentClient"`
		PostRenderStrategy yaml.Value `json:"postRenderStrategy"`
		Rollback           yaml.Value `json:"rollback"`
		ServiceAccountName yaml.Value `json:"serviceAccountName"`
		StorageNamespace   yaml.Value `json:"storageNamespace"`
		Timeout            yaml.Value `json:"timeout"`
		Uninstall          yaml.Value `json:"uninstall"`
		WaitStrategy       yaml.Value `json:"waitStrategy"`
	} `json:"spec"`
}

// A chartSpec names a chart, in a HelmRelease or a HelmChart.
type chartSpec struct {
	Chart                    string     `json:"chart"`
	Version                  string     `json:"version"`
	SourceRef                reference  `json:"sourceRef"`
	ValuesFile               string     `json:"valuesFile"`
	ValuesFiles              []string   `json:"valuesFiles"`
	IgnoreMissingValuesFiles bool       `json:"ignoreMissingValuesFiles"`
	Interval                 yaml.Value `json:"interval"`
	ReconcileStrategy        yaml.Value `json:"reconcileStrategy"`
	Verify                   yaml.Value `json:"verify"`
}

// A helmAction has the fields that install and upgrade share.
type helmAction struct {
	CleanupOnFail            yaml.Value `json:"cleanupOnFail"`
	CreateNamespace          yaml.Value `json:"createNamespace"`
	DisableHooks             bool       `json:"disableHooks"`
	DisableOpenAPIValidation yaml.Value `json:"disableOpenAPIValidation"`
	DisableSchemaValidation  yaml.Value `json:"disableSchemaValidation"`
	DisableTakeOwnership     yaml.Value `json:"disableTakeOwnership"`
	DisableWait              yaml.Value `json:"disableWait"`
	DisableWaitForJobs       yaml.Value `json:"disableWaitForJobs"`
	Force                    yaml.Value `json:"force"`
	PreserveValues           yaml.Value `json:"preserveValues"`
	Remediation              yaml.Value `json:"remediation"`
	Replace                  yaml.Value `json:"replace"`
	ServerSideApply          yaml.Value `json:"serverSideApply"`
	Strategy                 yaml.Value `json:"strategy"`
	Timeout                  yaml.Value `json:"timeout"`
}

// release returns the root of a HelmRelease, or nil if it is suspended.
func (f *finder) release(o *gitops.Object) *gitops.Root {
	h := &release{}
	r, ok := f.root(o, h, &h.Spec.Suspend)
	if !ok {
		return r.Root
	}
	s := &h.Spec
	r.DependsOn = DependsOn(o)
	c, ok := r.chart(h)
	values := r.values(h)
	for i, p := range s.PostRenderers {
		if p.Kustomize == nil {
			r.fail(o.Errorf([]any{"spec", "postRenderers", i}, "the field kustomize is missing: Flux has no other post renderer").
				With(diag.MissingField))
		}
	}
	if ok {
		r.defaults(&c, values)
		r.Parts = []gitops.Part{{Dir: c.dir, At: c.at, Chart: true, Secret: len(values.hidden) > 0,
			Edit: func(gitops.Dir, *yaml.Source) (*yaml.Source, error) {
				return r.file(h, c, values), nil
			}}}
	}
	r.hide(values)
	r.commonMetadata(s.CommonMetadata)
	at := o.Place("metadata", "namespace")
	if s.TargetNamespace != "" {
		at = o.Place("spec", "targetNamespace")
	}
	to := &gitops.DestinationTransformer{Namespace: h.namespace(o)}
	r.Steps = append(r.Steps, to.Step(at))
	return r.Root
}

// file returns a kustomization file with the chart and the post renderers.
func (r *root) file(h *release, c chart, values *values) *yaml.Source {
	s := &h.Spec
	f := &file{o: r.Object, v: yaml.MapOf(), places: []yaml.Place{r.Object.Place("spec")}}
	f.fill("apiVersion", "kustomize.config.k8s.io/v1beta1")
	f.fill("kind", "Kustomization")
	entry := textFields("name", c.name, "version", c.version, "repo", c.repo, "releaseName", h.releaseName(r.Object),
		"namespace", h.namespace(r.Object))
	for _, flag := range []struct {
		key string
		on  bool
	}{{"includeCRDs", s.Install.CRDs != "Skip" && !s.Install.SkipCRDs}, {"skipHooks", s.Install.DisableHooks},
		{"skipTests", !s.Test.Enable}} {
		if flag.on {
			entry = entry.With(flag.key, yaml.BoolValue(true))
		}
	}
	if values.merged.Len() > 0 {
		entry = entry.With("valuesInline", values.merged).With("valuesMerge", yaml.Str("replace"))
	}
	f.add("helmCharts", entry, c.at)
	place := func(key string, at yaml.Place) {
		at.Path = []any{"helmCharts", 0, key}
		f.places = append(f.places, at)
	}
	for _, key := range []string{"name", "version", "repo"} {
		if at, ok := c.places[key]; ok {
			place(key, at)
		}
	}
	if s.ReleaseName != "" {
		place("releaseName", r.Object.Place("spec", "releaseName"))
	}
	if s.TargetNamespace != "" {
		place("namespace", r.Object.Place("spec", "targetNamespace"))
	}
	place("valuesInline", r.Object.Place("spec", "values"))
	for _, p := range values.places {
		p.Path = append([]any{"helmCharts", 0, "valuesInline"}, p.Path...)
		f.places = append(f.places, p)
	}
	if c.repo == "" {
		f.set("helmGlobals", textFields("chartHome", "."), c.at)
	}
	for i, p := range s.PostRenderers {
		if p.Kustomize != nil {
			f.render(*p.Kustomize, "spec", "postRenderers", i, "kustomize")
		}
	}
	return yaml.Assemble("kustomization.yaml", f.v, f.places...)
}

// namespace returns the namespace of the release. Helm applies resources without a namespace there.
func (h *release) namespace(o *gitops.Object) string {
	return cmp.Or(h.Spec.TargetNamespace, o.Namespace)
}

// releaseName returns the name of the release. A name above helm's limit is cut and ends in a hash.
func (h *release) releaseName(o *gitops.Object) string {
	name := h.Spec.ReleaseName
	if name == "" {
		name = o.Name
		if h.Spec.TargetNamespace != "" {
			name = h.Spec.TargetNamespace + "-" + name
		}
	}
	const most, hash = 53, 12
	if len(name) > most {
		name = fmt.Sprintf("%s-%.*s", name[:most-hash-1], hash, fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
	}
	return name
}

// A chart is the chart of a HelmRelease.
type chart struct {
	// name, version and repo are fields of helmCharts. repo is "" for a chart in a directory.
	name, version, repo string
	// dir is the parent directory of a chart in a directory, as in [gitops.Part].
	dir string
	// tree is the directory of the chart in its repository.
	tree tree
	at   yaml.Place
	// places are the places of name, version and repo.
	places map[string]yaml.Place
	// valuesFiles replace the file values.yaml of the chart. from is the object with the chartSpec,
	// and field is the path of the chartSpec in from.
	valuesFiles   []string
	ignoreMissing bool
	from          *gitops.Object
	field         []any
}

// chart returns the chart of a HelmRelease.
func (r *root) chart(h *release) (c chart, ok bool) {
	o := r.Object
	switch ref := h.Spec.ChartRef; {
	case ref != nil && h.Spec.Chart != nil:
		r.fail(o.Errorf([]any{"spec", "chartRef"}, "use either chart or chartRef, not both").With(diag.Exclusive))
	case ref != nil:
		src := r.find(o, *ref, "spec", "chartRef")
		switch {
		case src == nil:
		case src.Kind == "OCIRepository":
			return r.chartInRegistry(src)
		case src.Kind == "HelmChart":
			s := r.source(src)
			return r.chartOf(src, s.Spec.chartSpec, len(s.errs) == 0, "spec")
		default:
			r.fail(o.Errorf([]any{"spec", "chartRef", "kind"}, "must be OCIRepository or HelmChart, not %q", ref.Kind).With(diag.WrongKind))
		}
	case h.Spec.Chart != nil:
		return r.chartOf(o, h.Spec.Chart.Spec, true, "spec", "chart", "spec")
	default:
		r.fail(o.Errorf([]any{"spec"}, "the HelmRelease has neither chart nor chartRef").With(diag.MissingField))
	}
	return c, false
}

// chartInRegistry returns the chart in an OCIRepository.
func (r *root) chartInRegistry(o *gitops.Object) (c chart, ok bool) {
	s := r.source(o)
	ref := s.Spec.Ref
	url, isOCI := strings.CutPrefix(s.Spec.URL, "oci://")
	url = strings.TrimSuffix(url, "/")
	c = chart{name: path.Base(url), version: cmp.Or(ref.Semver, ref.Tag), repo: "oci://" + path.Dir(url),
		at:     r.Object.Place("spec", "chartRef"),
		places: map[string]yaml.Place{"name": o.Place("spec", "url"), "repo": o.Place("spec", "url"), "version": o.Place("spec", "ref")}}
	switch {
	case len(s.errs) > 0:
		return c, false
	case !isOCI || !strings.Contains(url, "/"):
		r.fail(o.Errorf([]any{"spec", "url"}, "must have the form oci://REGISTRY/PATH/CHART").With(diag.BadReference))
		return c, false
	case ref.Digest != "" && c.version == "":
		r.fail(o.Errorf([]any{"spec", "ref", "digest"}, "a chart cannot be fetched by a digest alone").With(diag.Unsupported).
			Hint("add the tag of the version"))
		return c, false
	}
	return c, true
}

// chartOf returns the chart that s describes. s is the chartSpec at the path field of from. valid
// reports that from was decoded without errors.
func (r *root) chartOf(from *gitops.Object, s chartSpec, valid bool, field ...any) (c chart, ok bool) {
	at := func(path ...any) yaml.Place { return from.Place(slices.Concat(field, path)...) }
	if !valid {
		return c, false
	}
	if s.Chart == "" {
		r.fail(from.Errorf(field, "the field chart is missing").With(diag.MissingField))
		return c, false
	}
	src := r.find(from, s.SourceRef, slices.Concat(field, []any{"sourceRef"})...)
	if src == nil {
		return c, false
	}
	c = chart{name: s.Chart, version: s.Version, at: at("chart"),
		places: map[string]yaml.Place{"name": at("chart"), "version": at("version")}, from: from,
		field: field, valuesFiles: s.ValuesFiles, ignoreMissing: s.IgnoreMissingValuesFiles}
	if len(c.valuesFiles) == 0 && s.ValuesFile != "" {
		c.valuesFiles = []string{s.ValuesFile}
	}
	if c.version == "*" {
		c.version = ""
	}
	switch src.Kind {
	case "HelmRepository":
		repo := r.source(src)
		c.repo, c.places["repo"] = repo.Spec.URL, src.Place("spec", "url")
		if c.repo == "" && len(repo.errs) == 0 {
			r.fail(src.Errorf([]any{"spec"}, "the field url is missing").With(diag.MissingField))
		}
		return c, c.repo != "" && len(repo.errs) == 0
	case "GitRepository":
		c.tree, ok = r.tree(src, s.Chart)
		if !ok {
			return c, false
		}
		if c.tree.sub == "." || c.tree.sub == "" {
			r.fail(from.Errorf(slices.Concat(field, []any{"chart"}), "a chart at the root of its repository is not supported").
				With(diag.Unsupported).
				Hint("move the chart to a subdirectory"))
			return c, false
		}
		parent := c.tree
		parent.sub = path.Dir(c.tree.sub)
		c.name, c.version, c.dir = path.Base(c.tree.sub), "", parent.dir()
		return c, true
	}
	r.fail(from.Errorf(slices.Concat(field, []any{"sourceRef", "kind"}), "must be HelmRepository, GitRepository or Bucket, not %q",
		src.Kind).With(diag.WrongKind))
	return c, false
}
