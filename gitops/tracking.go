package gitops

import (
	"maps"
	"regexp"
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Tracking selects the metadata with which a controller marks the resources of an object. The
// values are also the values of application.resourceTrackingMethod in Argo CD. Flux has only
// labels, which all values select.
type Tracking string

// The methods. None adds nothing.
const (
	TrackNone  Tracking = ""
	Annotation Tracking = "annotation"
	Label      Tracking = "label"
	Both       Tracking = "annotation+label"
)

// The keys of Argo CD, as in its common package.
const (
	trackingID     = "argocd.argoproj.io/tracking-id"
	installationID = "argocd.argoproj.io/installation-id"
	instance       = "app.kubernetes.io/instance"
)

// controlPlane is the default namespace of Argo CD. The names of Applications in other namespaces
// are tracked with their namespace.
const controlPlane = "argocd"

// Track adds the step that marks the resources of r. It must be called once.
func (r *Root) Track(t Tracking) {
	o := r.Object
	r.Tracking = t
	step := Step{At: o.Place("metadata", "name"), Summary: "tracked as a resource of " + o.Name}
	if o.Kind != "Application" {
		step.Transformer = &tracker{labels: map[string]string{o.Group + "/name": o.Name, o.Group + "/namespace": o.Namespace}}
		r.Steps = append(r.Steps, step)
		return
	}
	name := o.Name
	if o.Namespace != "" && o.Namespace != controlPlane {
		name = o.Namespace + "_" + name
	}
	tr := &tracker{labels: map[string]string{}, namespace: o.Value.At("spec", "destination", "namespace").Text(), skipCRDs: true}
	switch t {
	case Label:
		tr.labels[instance] = name
	case Both:
		tr.labels[instance] = shortened(name)
		fallthrough
	default:
		tr.app = name
	}
	step.Transformer = tr
	// Argo CD marks the resources before it changes their namespaces.
	r.Steps = append([]Step{step}, r.Steps...)
}

var badEnd = regexp.MustCompile(`[^a-zA-Z0-9]+$`)

// shortened returns a name as a label, as SetAppInstance of Argo CD's util/argo.
func shortened(name string) string {
	const most = 63
	if len(name) > most {
		name = badEnd.ReplaceAllString(name[:most], "")
	}
	return name
}

// A tracker marks resources.
type tracker struct {
	labels map[string]string
	// app is the name of the Application for the annotation, "" for none. namespace is the
	// destination namespace. The annotation has it for resources without a namespace, and for
	// cluster-scoped resources, whose namespace Argo CD removes.
	app, namespace string
	skipCRDs       bool
}

// Configure implements [builtins.Builtin]. There is nothing to check.
func (t *tracker) Configure(builtins.Env) error { return nil }

// Transform implements [builtins.Transformer].
func (t *tracker) Transform(list *krm.List, _ builtins.Warn) error {
	clusterScoped := clusterScopes(list)
	return list.Parts(func(part *krm.List) error {
		for i, r := range part.All() {
			id := r.ID()
			if t.skipCRDs && id.Kind == "CustomResourceDefinition" && id.Group == "apiextensions.k8s.io" {
				continue
			}
			part.Change(i, func(r *krm.Resource) {
				v := r.Value()
				if t.app != "" {
					namespace := v.At("metadata", "namespace").Text()
					if namespace == "" || clusterScoped(id) {
						namespace = t.namespace
					}
					v = withoutInstallation(v)
					v = v.WithAt(yaml.Str(t.app+":"+id.Group+"/"+id.Kind+":"+namespace+"/"+id.Name), "metadata", "annotations", trackingID)
				}
				for _, key := range slices.Sorted(maps.Keys(t.labels)) {
					v = v.WithAt(yaml.Str(t.labels[key]), "metadata", "labels", key)
				}
				r.SetValue(v)
			})
		}
		return part.CheckSize()
	})
}

// withoutInstallation removes the annotation with the id of an installation of Argo CD, as Argo CD
// does if its settings have no installation id.
func withoutInstallation(v yaml.Value) yaml.Value {
	meta := v.Get("metadata")
	all := meta.Get("annotations")
	if !all.Get(installationID).Exists() {
		return v
	}
	return v.With("metadata", meta.With("annotations", all.Without(installationID)))
}
