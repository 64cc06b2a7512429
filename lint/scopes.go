package lint

import (
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// clusterKinds are widely used custom kinds whose objects have no namespace, by API group. An
// empty list stands for all kinds of the group.
var clusterKinds = map[string][]string{
	"apiextensions.crossplane.io":        {"CompositeResourceDefinition", "Composition", "CompositionRevision"},
	"argoproj.io":                        {"ClusterWorkflowTemplate", "ClusterAnalysisTemplate"},
	"cert-manager.io":                    {"ClusterIssuer"},
	"cilium.io":                          {"CiliumClusterwideNetworkPolicy"},
	"cluster.open-cluster-management.io": {"ManagedCluster", "ManagedClusterSet"},
	"config.openshift.io":                {},
	"console.openshift.io":               {},
	"constraints.gatekeeper.sh":          {},
	"external-secrets.io":                {"ClusterSecretStore", "ClusterExternalSecret"},
	"gateway.networking.k8s.io":          {"GatewayClass"},
	"karpenter.k8s.aws":                  {"EC2NodeClass"},
	"karpenter.sh":                       {"NodePool", "NodeClaim"},
	"keda.sh":                            {"ClusterTriggerAuthentication"},
	"kueue.x-k8s.io":                     {"ClusterQueue", "ResourceFlavor"},
	"kyverno.io":                         {"ClusterPolicy", "ClusterCleanupPolicy"},
	"machineconfiguration.openshift.io":  {"MachineConfig", "MachineConfigPool", "KubeletConfig"},
	"operator.tigera.io":                 {"Installation"},
	"pkg.crossplane.io":                  {"Provider", "Configuration", "Function"},
	"policies.kyverno.io":                {"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy"},
	"project.openshift.io":               {"Project"},
	"security.openshift.io":              {"SecurityContextConstraints"},
	"snapshot.storage.k8s.io":            {"VolumeSnapshotClass", "VolumeSnapshotContent"},
	"templates.gatekeeper.sh":            {"ConstraintTemplate"},
	"admissionregistration.k8s.io":       {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
	"resource.k8s.io":                    {"DeviceClass"},
	"networking.k8s.io":                  {"ServiceCIDR", "IPAddress"},
	"flowcontrol.apiserver.k8s.io":       {"FlowSchema", "PriorityLevelConfiguration"},
}

// scopes reports objects without a namespace that got one, and Namespaces with a new name.
func scopes(list *krm.List, warn diag.Warn) {
	var defined map[[2]string]*krm.Resource // CRDs of kinds without a namespace, by group and kind
	for _, r := range list.All() {
		if spec := r.Value().Get("spec"); r.ID().Kind == "CustomResourceDefinition" && spec.Get("scope").Text() == "Cluster" {
			if defined == nil {
				defined = map[[2]string]*krm.Resource{}
			}
			defined[[2]string{spec.Get("group").Text(), spec.At("names", "kind").Text()}] = r
		}
	}
	for _, r := range list.All() {
		id := r.ID()
		switch {
		case id.Kind == "Namespace" && id.Group == "":
			renamedNamespace(r, list, warn)
		case id.Cluster || id.Namespace == "" || id.Group == "" || !moved(r):
		case defined[[2]string{id.Group, id.Kind}] != nil:
			scope(r, fmt.Sprintf(" (%s)", defined[[2]string{id.Group, id.Kind}].Start()), warn)
		case isClusterKind(id.GVK):
			scope(r, "", warn)
		}
	}
}

// moved reports whether a step gave r its namespace.
func moved(r *krm.Resource) bool {
	for _, prev := range r.Prev {
		if prev.Namespace != r.ID().Namespace {
			return true
		}
	}
	return false
}

func isClusterKind(kind krm.GVK) bool {
	kinds, ok := clusterKinds[kind.Group]
	if !ok {
		return false
	}
	for _, k := range kinds {
		if k == kind.Kind {
			return true
		}
	}
	return len(kinds) == 0
}

func scope(r *krm.Resource, crd string, warn diag.Warn) {
	id := r.ID()
	at(r, warn, diag.ClusterScoped, nil,
		fmt.Sprintf("%s %s got the namespace %s, but %s is cluster-scoped%s", id.Kind, id.Name, id.Namespace, id.Kind, crd),
		"kustomize does not know the scope of custom kinds: list the object in a kustomization without the field namespace, beside this one")
}

// renamedNamespace reports a Namespace with a new name, unless this is what the author wants: other
// objects follow it, or it is the only Namespace of objects without a namespace of their own.
func renamedNamespace(r *krm.Resource, list *krm.List, warn diag.Warn) {
	old := r.OrigID().Name
	if old == r.ID().Name || old == "system" { // kubebuilder writes system where the name is to be set
		return
	}
	others := false // other namespaces exist
	for _, other := range list.All() {
		if other == r {
			continue
		}
		if slices.ContainsFunc(other.Prev, func(p krm.ID) bool { return p.Namespace == old }) {
			return
		}
		if other.ID().Kind == "Namespace" {
			others = true
		} else if v, ok := other.Original(); ok && v.At("metadata", "namespace").Text() != "" {
			others = true
		}
	}
	if !others {
		return
	}
	at(r, warn, diag.NamespaceRenamed, nil, fmt.Sprintf("Namespace %s becomes %s", old, r.ID().Name),
		"the field namespace also renames objects of kind Namespace: list the object in a kustomization without this field "+
			"if it must keep its name")
}
