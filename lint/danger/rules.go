package danger

import (
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A Rule is a field that an API server refuses to change.
type Rule struct {
	Group, Kind string
	// Field is the path of the field. A final "*" means each field there except those in Except.
	Field  string
	Except []string
	// Default is the value that the server sets for an absent field, "" if there is none.
	Default string
	// By is the function that refuses the change, in package k8s.io/kubernetes/pkg/apis/GROUP or,
	// for a CustomResourceDefinition, k8s.io/apiextensions-apiserver/pkg/apis.
	By string
	// When is the condition for the rule in words, "" if there is none.
	When string

	// allows reports whether the server accepts a change of the value. It may be nil.
	allows func(c *change, old, now yaml.Value) bool
}

const (
	apps     = "apps"
	batch    = "batch"
	rbac     = "rbac.authorization.k8s.io"
	storage  = "storage.k8s.io"
	crds     = "apiextensions.k8s.io"
	network  = "networking.k8s.io"
	resource = "resource.k8s.io"
)

// Rules returns the table of immutable fields, which has the validation rules of [Kubernetes]. The
// rules for the status of objects are left out, and so are kinds whose objects no user writes.
// Absent from the table, because their fields can be changed: Ingress, NetworkPolicy, CronJob,
// HorizontalPodAutoscaler, PodDisruptionBudget, Namespace, Node, Lease, LimitRange, Role,
// ServiceAccount, ReplicationController, FlowSchema and the webhook configurations.
func Rules() []Rule { return slices.Clone(rules) }

// rules is the table, with one block for each validation package. The rows of a kind are in the
// order of the functions that refuse the changes.
var rules = []Rule{
	// pkg/apis/apps/validation
	{Group: apps, Kind: "Deployment", Field: "spec.selector", By: "ValidateDeploymentUpdate"},
	{Group: apps, Kind: "DaemonSet", Field: "spec.selector", By: "ValidateDaemonSetSpecUpdate"},
	{Group: apps, Kind: "ReplicaSet", Field: "spec.selector", By: "ValidateReplicaSetUpdate"},
	// All fields of a StatefulSetSpec that are not in the list of the error message.
	{Group: apps, Kind: "StatefulSet", Field: "spec.selector", By: "ValidateStatefulSetUpdate"},
	{Group: apps, Kind: "StatefulSet", Field: "spec.serviceName", By: "ValidateStatefulSetUpdate"},
	{Group: apps, Kind: "StatefulSet", Field: "spec.podManagementPolicy", Default: "OrderedReady", By: "ValidateStatefulSetUpdate"},
	{Group: apps, Kind: "StatefulSet", Field: "spec.volumeClaimTemplates", By: "ValidateStatefulSetUpdate", allows: onlyShrinksClaims},
	{Group: apps, Kind: "ControllerRevision", Field: "data", By: "ValidateControllerRevisionUpdate"},

	// pkg/apis/batch/validation
	{Group: batch, Kind: "Job", Field: "spec.completions", By: "validateCompletions",
		When: "unless the Job is Indexed and parallelism changes to the same number", allows: isIndexed},
	{Group: batch, Kind: "Job", Field: "spec.selector", By: "ValidateJobSpecUpdate"},
	{Group: batch, Kind: "Job", Field: "spec.template", By: "validatePodTemplateUpdate",
		When: "unless the Job is suspended and only labels, annotations and scheduling change", allows: isSuspended},
	{Group: batch, Kind: "Job", Field: "spec.completionMode", Default: "NonIndexed", By: "ValidateJobSpecUpdate"},
	{Group: batch, Kind: "Job", Field: "spec.podFailurePolicy", By: "ValidateJobSpecUpdate"},
	{Group: batch, Kind: "Job", Field: "spec.backoffLimitPerIndex", By: "ValidateJobSpecUpdate"},
	{Group: batch, Kind: "Job", Field: "spec.managedBy", By: "ValidateJobSpecUpdate"},
	{Group: batch, Kind: "Job", Field: "spec.successPolicy", By: "ValidateJobSpecUpdate"},

	// pkg/apis/rbac/validation
	{Group: rbac, Kind: "RoleBinding", Field: "roleRef", By: "ValidateRoleBindingUpdate"},
	{Group: rbac, Kind: "ClusterRoleBinding", Field: "roleRef", By: "ValidateClusterRoleBindingUpdate"},

	// pkg/apis/storage/validation
	{Group: storage, Kind: "StorageClass", Field: "parameters", By: "ValidateStorageClassUpdate"},
	{Group: storage, Kind: "StorageClass", Field: "provisioner", By: "ValidateStorageClassUpdate"},
	{Group: storage, Kind: "StorageClass", Field: "reclaimPolicy", Default: "Delete", By: "ValidateStorageClassUpdate"},
	{Group: storage, Kind: "StorageClass", Field: "volumeBindingMode", Default: "Immediate", By: "ValidateStorageClassUpdate"},
	{Group: storage, Kind: "CSIDriver", Field: "spec.attachRequired", Default: "true", By: "ValidateCSIDriverUpdate"},
	{Group: storage, Kind: "CSIDriver", Field: "spec.volumeLifecycleModes", By: "ValidateCSIDriverUpdate", allows: isDefaultMode},
	{Group: storage, Kind: "CSIStorageCapacity", Field: "nodeTopology", By: "ValidateCSIStorageCapacityUpdate"},
	{Group: storage, Kind: "CSIStorageCapacity", Field: "storageClassName", By: "ValidateCSIStorageCapacityUpdate"},
	{Group: storage, Kind: "VolumeAttachment", Field: "spec.*", By: "ValidateVolumeAttachmentUpdate"},
	{Group: storage, Kind: "VolumeAttributesClass", Field: "driverName", By: "ValidateVolumeAttributesClassUpdate"},
	{Group: storage, Kind: "VolumeAttributesClass", Field: "parameters", By: "ValidateVolumeAttributesClassUpdate"},

	// pkg/apis/core/validation
	// All fields of a PersistentVolumeClaimSpec but volumeAttributesClassName. The size may grow.
	{Kind: "PersistentVolumeClaim", Field: "spec.*", By: "ValidatePersistentVolumeClaimUpdate",
		Except: []string{"resources", "volumeName", "volumeMode", "volumeAttributesClassName"}},
	{Kind: "PersistentVolumeClaim", Field: "spec.volumeMode", Default: "Filesystem", By: "ValidatePersistentVolumeClaimUpdate"},
	{Kind: "PersistentVolumeClaim", Field: "spec.volumeName", By: "ValidatePersistentVolumeClaimUpdate",
		When: "unless the claim is not bound yet", allows: isAdded},
	{Kind: "PersistentVolumeClaim", Field: "spec.resources.limits", By: "ValidatePersistentVolumeClaimUpdate"},
	// The fields of a PersistentVolumeSource are those of the spec that are not listed here.
	{Kind: "PersistentVolume", Field: "spec.*", By: "ValidatePersistentVolumeUpdate", allows: addsExpandSecret,
		Except: []string{"capacity", "accessModes", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "claimRef",
			"nodeAffinity", "volumeMode", "volumeAttributesClassName"}},
	{Kind: "PersistentVolume", Field: "spec.volumeMode", Default: "Filesystem", By: "ValidatePersistentVolumeUpdate"},
	{Kind: "PersistentVolume", Field: "spec.nodeAffinity", By: "validatePvNodeAffinity", When: "once it is set", allows: isAdded},
	{Kind: "Pod", Field: "spec.containers", By: "ValidatePodUpdate", When: "except for image", allows: onlyImages},
	{Kind: "Pod", Field: "spec.initContainers", By: "ValidatePodUpdate", When: "except for image", allows: onlyImages},
	{Kind: "Pod", Field: "spec.activeDeadlineSeconds", By: "ValidatePodUpdate", When: "unless it is set or reduced", allows: isReduced},
	{Kind: "Pod", Field: "spec.tolerations", By: "validateOnlyAddedTolerations", When: "unless one is added", allows: onlyAdds},
	{Kind: "Pod", Field: "spec.schedulingGates", By: "validateOnlyDeletedSchedulingGates", When: "unless one is removed",
		allows: onlyRemoves},
	{Kind: "Pod", Field: "spec.*", By: "ValidatePodUpdate", Except: []string{"containers", "initContainers", "ephemeralContainers",
		"activeDeadlineSeconds", "tolerations", "schedulingGates"}},
	// The server keeps an address if the new manifest has none.
	{Kind: "Service", Field: "spec.clusterIP", By: "validateUpgradeDowngradeClusterIPs",
		When: "unless the old or the new type is ExternalName", allows: keepsAddress},
	{Kind: "Service", Field: "spec.clusterIPs", By: "validateUpgradeDowngradeClusterIPs",
		When: "unless a second address is added or removed, or the old or the new type is ExternalName", allows: keepsFirst},
	{Kind: "Service", Field: "spec.ipFamilies", By: "validateUpgradeDowngradeIPFamilies",
		When: "unless a second family is added or removed, or the Service is headless", allows: keepsFamily},
	{Kind: "Service", Field: "spec.loadBalancerClass", By: "validateLoadBalancerClassField",
		When: "while the type is LoadBalancer", allows: isNoLoadBalancer},
	{Kind: "Service", Field: "spec.healthCheckNodePort", By: "validateServiceExternalTrafficFieldsUpdate",
		When: "while the type is LoadBalancer and externalTrafficPolicy is Local", allows: hasNoHealthCheck},
	{Kind: "Secret", Field: "type", Default: "Opaque", By: "ValidateSecretUpdate"},
	{Kind: "Secret", Field: "immutable", By: "ValidateSecretUpdate", When: "once it is true", allows: isMutable},
	{Kind: "Secret", Field: "data", By: "ValidateSecretUpdate", When: "if immutable is true", allows: isMutable},
	{Kind: "Secret", Field: "stringData", By: "ValidateSecretUpdate", When: "if immutable is true", allows: isMutable},
	{Kind: "ConfigMap", Field: "immutable", By: "ValidateConfigMapUpdate", When: "once it is true", allows: isMutable},
	{Kind: "ConfigMap", Field: "data", By: "ValidateConfigMapUpdate", When: "if immutable is true", allows: isMutable},
	{Kind: "ConfigMap", Field: "binaryData", By: "ValidateConfigMapUpdate", When: "if immutable is true", allows: isMutable},
	{Kind: "ResourceQuota", Field: "spec.scopes", By: "ValidateResourceQuotaUpdate", allows: sameItems},

	// pkg/apis/scheduling/validation, pkg/apis/node/validation, pkg/apis/discovery/validation
	{Group: "scheduling.k8s.io", Kind: "PriorityClass", Field: "value", Default: "0", By: "ValidatePriorityClassUpdate"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass", Field: "preemptionPolicy", Default: "PreemptLowerPriority",
		By: "ValidatePriorityClassUpdate"},
	{Group: "node.k8s.io", Kind: "RuntimeClass", Field: "handler", By: "ValidateRuntimeClassUpdate"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice", Field: "addressType", By: "ValidateEndpointSliceUpdate"},

	// pkg/apis/networking/validation
	{Group: network, Kind: "IngressClass", Field: "spec.controller", By: "validateIngressClassSpecUpdate"},
	{Group: network, Kind: "IPAddress", Field: "spec.parentRef", By: "ValidateIPAddressUpdate"},
	{Group: network, Kind: "ServiceCIDR", Field: "spec.cidrs", By: "ValidateServiceCIDRUpdate", When: "unless a second range is added",
		allows: addsSecond},

	// pkg/apis/resource/validation
	{Group: resource, Kind: "ResourceClaim", Field: "spec.*", By: "ValidateResourceClaimUpdate"},
	{Group: resource, Kind: "ResourceClaimTemplate", Field: "spec.*", By: "ValidateResourceClaimTemplateUpdate"},

	// k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation
	{Group: crds, Kind: "CustomResourceDefinition", Field: "spec.scope", By: "validateCustomResourceDefinitionSpecUpdate"},
	{Group: crds, Kind: "CustomResourceDefinition", Field: "spec.names.kind", By: "validateCustomResourceDefinitionSpecUpdate"},
	{Group: crds, Kind: "CustomResourceDefinition", Field: "spec.group", By: "validateCustomResourceDefinitionSpecUpdate"},
	{Group: crds, Kind: "CustomResourceDefinition", Field: "spec.names.plural", By: "validateCustomResourceDefinitionSpecUpdate"},
	{Group: crds, Kind: "CustomResourceDefinition", Field: "spec.versions", By: "ValidateCustomResourceDefinitionStoredVersions",
		When: "if a version is removed that was the storage version", allows: keepsStored},
}

// isIndexed allows a change of completions if the Job is Indexed and its parallelism is the same
// number.
func isIndexed(c *change, _, now yaml.Value) bool {
	spec := c.now.Get("spec")
	return spec.Get("completionMode").Text() == "Indexed" && equal(now, spec.Get("parallelism"))
}

// isSuspended allows changes of the fields of a template that a queue controller sets, while the
// Job is suspended.
func isSuspended(c *change, old, now yaml.Value) bool {
	return c.old.At("spec", "suspend").Text() == "true" && equal(withoutScheduling(old), withoutScheduling(now))
}

// withoutScheduling returns a pod template without the mutable fields of a suspended Job.
func withoutScheduling(v yaml.Value) yaml.Value {
	spec := v.Get("spec").Without("nodeSelector").Without("tolerations").Without("schedulingGates")
	if affinity := spec.Get("affinity"); affinity.Type() == yaml.Map {
		spec = spec.With("affinity", affinity.Without("nodeAffinity"))
	}
	if meta := v.Get("metadata"); meta.Type() == yaml.Map {
		v = v.With("metadata", meta.Without("labels").Without("annotations"))
	}
	return v.With("spec", spec)
}

// isDefaultMode treats an absent list of modes as the default.
func isDefaultMode(_ *change, old, now yaml.Value) bool {
	usual := yaml.SeqOf(yaml.Str("Persistent"))
	return old.IsEmpty() && equal(now, usual) || now.IsEmpty() && equal(old, usual)
}

// isAdded allows a value for a field that was absent.
func isAdded(_ *change, old, _ yaml.Value) bool { return old.IsEmpty() }

// addsExpandSecret allows the addition of csi.controllerExpandSecretRef.
func addsExpandSecret(_ *change, old, now yaml.Value) bool {
	const field = "controllerExpandSecretRef"
	return now.Get(field).Exists() && !old.Get(field).Exists() && equal(old, now.Without(field))
}

// onlyImages allows changes of the images of containers.
func onlyImages(_ *change, old, now yaml.Value) bool {
	withoutImages := func(v yaml.Value) yaml.Value {
		var list []yaml.Value
		for _, x := range v.Items() {
			list = append(list, x.Without("image"))
		}
		return yaml.SeqOf(list...)
	}
	return equal(withoutImages(old), withoutImages(now))
}

// isReduced allows a first or a smaller number.
func isReduced(_ *change, old, now yaml.Value) bool {
	x, y := quantity(old), quantity(now)
	return y != nil && (old.IsEmpty() || x != nil && y.Cmp(x) <= 0)
}

// onlyAdds allows more items.
func onlyAdds(_ *change, old, now yaml.Value) bool { return contains(now, old) }

// onlyRemoves allows fewer items.
func onlyRemoves(_ *change, old, now yaml.Value) bool { return contains(old, now) }

// sameItems allows a different order.
func sameItems(_ *change, old, now yaml.Value) bool { return contains(old, now) && contains(now, old) }

// contains reports whether a list has all items of a second list.
func contains(list, items yaml.Value) bool {
	for _, x := range items.Items() {
		if !slices.ContainsFunc(list.Items(), func(y yaml.Value) bool { return equal(x, y) }) {
			return false
		}
	}
	return true
}

// serviceTypes returns the types of a Service before and after the change.
func serviceTypes(c *change) (old, now string) {
	old, now = c.old.At("spec", "type").Text(), c.now.At("spec", "type").Text()
	return old, now
}

// keepsAddress allows the removal of the address, which the server then keeps.
func keepsAddress(c *change, _, now yaml.Value) bool {
	old, new := serviceTypes(c)
	return now.IsEmpty() || old == "ExternalName" || new == "ExternalName"
}

// keepsFirst allows a change of the second address. Without addresses in the old manifest, the
// finding for clusterIP is enough.
func keepsFirst(c *change, old, now yaml.Value) bool {
	return keepsAddress(c, old, now) || equal(item(old, 0), item(now, 0)) ||
		old.IsEmpty() && equal(item(now, 0), c.now.At("spec", "clusterIP"))
}

// keepsFamily allows a change of the second family, and all changes of headless Services. The
// server chooses absent families.
func keepsFamily(c *change, old, now yaml.Value) bool {
	headless := func(v yaml.Value) bool { return v.At("spec", "clusterIP").Text() == "None" }
	return keepsAddress(c, old, now) || old.IsEmpty() || equal(item(old, 0), item(now, 0)) || headless(c.old) || headless(c.now)
}

// isNoLoadBalancer allows changes unless both types are LoadBalancer.
func isNoLoadBalancer(c *change, _, _ yaml.Value) bool {
	old, now := serviceTypes(c)
	return old != "LoadBalancer" || now != "LoadBalancer"
}

// hasNoHealthCheck allows changes unless both Services need a port for health checks. The server
// chooses an absent port.
func hasNoHealthCheck(c *change, old, now yaml.Value) bool {
	local := func(v yaml.Value) bool { return v.At("spec", "externalTrafficPolicy").Text() == "Local" }
	return old.IsEmpty() || now.IsEmpty() || isNoLoadBalancer(c, old, now) || !local(c.old) || !local(c.now)
}

// isMutable allows changes unless the old object is immutable.
func isMutable(c *change, _, _ yaml.Value) bool { return c.old.Get("immutable").Text() != "true" }

// addsSecond allows a second range of addresses.
func addsSecond(_ *change, old, now yaml.Value) bool {
	return old.Len() == 1 && now.Len() == 2 && equal(item(old, 0), item(now, 0))
}

// keepsStored allows all changes of versions, except the removal of a storage version.
func keepsStored(_ *change, old, now yaml.Value) bool { return removedStorage(old, now) == "" }

// removedStorage returns the name of a version that was the storage version and is absent from
// the new list, "" if there is none.
func removedStorage(old, now yaml.Value) string {
	for _, v := range old.Items() {
		if v.Get("storage").Text() == "true" && !hasVersion(now, v.Get("name")) {
			return v.Get("name").Text()
		}
	}
	return ""
}

func hasVersion(list, name yaml.Value) bool {
	return slices.ContainsFunc(list.Items(), func(v yaml.Value) bool { return v.Get("name").Text() == name.Text() })
}
