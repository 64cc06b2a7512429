// Follows the files in api/internal/konfig/builtinpluginconsts.

package builtins

import "sync"

// DefaultConfig returns kustomize's default configuration. All callers share it.
func DefaultConfig() *Config { return defaultConfig() }

var defaultConfig = sync.OnceValue(func() *Config {
	return &Config{
		NamePrefix:                NewFieldSpecs(defaultNames...),
		NameSuffix:                NewFieldSpecs(defaultNames...),
		Namespace:                 NewFieldSpecs(defaultNamespaces...),
		CommonLabels:              NewFieldSpecs(defaultCommonLabels...),
		TemplateLabels:            NewFieldSpecs(defaultTemplateLabels...),
		VolumeClaimTemplateLabels: NewFieldSpecs(defaultClaimLabels...),
		CommonAnnotations:         NewFieldSpecs(defaultAnnotations...),
		NameReference:             NewNameReferences(defaultNameReferences...),
		VarReference:              NewFieldSpecs(defaultVars...),
		Images:                    NewFieldSpecs(defaultImages...),
		Replicas:                  NewFieldSpecs(defaultReplicas...),
	}
})

// The lists below are composite literals of constants, which the compiler lays out statically, so
// they cost nothing at startup. Their order matters: it is the result of kustomize's sort.

var defaultNames = []FieldSpec{
	{"", "", "", "metadata/name", false},
}

var defaultNamespaces = []FieldSpec{
	{"", "", "Namespace", "metadata/name", true},
	{"apiextensions.k8s.io", "", "CustomResourceDefinition", "spec/conversion/webhook/clientConfig/service/namespace", false},
	{"apiregistration.k8s.io", "", "APIService", "spec/service/namespace", true},
}

var defaultCommonLabels = []FieldSpec{
	{"", "v1", "Service", "spec/selector", true},
	{"apps", "", "Deployment",
		"spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
		false},
	{"apps", "", "Deployment",
		"spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels", false},
	{"apps", "", "Deployment",
		"spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels", false},
	{"apps", "", "Deployment",
		"spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels", false},
	{"apps", "", "Deployment", "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels", false},
	{"", "", "Deployment", "spec/template/metadata/labels", true},
	{"", "", "Deployment", "spec/selector/matchLabels", true},
	{"apps", "", "StatefulSet", "spec/selector/matchLabels", true},
	{"apps", "", "StatefulSet",
		"spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
		false},
	{"apps", "", "StatefulSet",
		"spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels", false},
	{"apps", "", "StatefulSet",
		"spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels", false},
	{"apps", "", "StatefulSet",
		"spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels", false},
	{"apps", "", "StatefulSet", "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels", false},
	{"apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", true},
	{"apps", "", "StatefulSet", "spec/template/metadata/labels", true},
	{"batch", "", "CronJob", "spec/jobTemplate/metadata/labels", true},
	{"batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels", true},
	{"batch", "", "CronJob", "spec/jobTemplate/spec/selector/matchLabels", false},
	{"policy", "", "PodDisruptionBudget", "spec/selector/matchLabels", false},
	{"batch", "", "Job", "spec/selector/matchLabels", false},
	{"batch", "", "Job", "spec/template/metadata/labels", true},
	{"networking.k8s.io", "", "NetworkPolicy", "spec/egress/to/podSelector/matchLabels", false},
	{"networking.k8s.io", "", "NetworkPolicy", "spec/ingress/from/podSelector/matchLabels", false},
	{"networking.k8s.io", "", "NetworkPolicy", "spec/podSelector/matchLabels", false},
	{"", "v1", "ReplicationController", "spec/template/metadata/labels", true},
	{"", "v1", "ReplicationController", "spec/selector", true},
	{"", "", "DaemonSet", "spec/template/metadata/labels", true},
	{"", "", "DaemonSet", "spec/selector/matchLabels", true},
	{"", "", "ReplicaSet", "spec/template/metadata/labels", true},
	{"", "", "ReplicaSet", "spec/selector/matchLabels", true},
	{"", "", "", "metadata/labels", true},
}

var defaultTemplateLabels = []FieldSpec{
	{"", "", "Deployment", "spec/template/metadata/labels", true},
	{"apps", "", "StatefulSet", "spec/template/metadata/labels", true},
	{"batch", "", "CronJob", "spec/jobTemplate/metadata/labels", true},
	{"batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels", true},
	{"batch", "", "Job", "spec/template/metadata/labels", true},
	{"", "v1", "ReplicationController", "spec/template/metadata/labels", true},
	{"", "", "DaemonSet", "spec/template/metadata/labels", true},
	{"", "", "ReplicaSet", "spec/template/metadata/labels", true},
	{"", "", "", "metadata/labels", true},
}

var defaultClaimLabels = []FieldSpec{
	{"apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", true},
}

var defaultAnnotations = []FieldSpec{
	{"", "", "Deployment", "spec/template/metadata/annotations", true},
	{"", "", "StatefulSet", "spec/template/metadata/annotations", true},
	{"batch", "", "CronJob", "spec/jobTemplate/metadata/annotations", true},
	{"batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/annotations", true},
	{"batch", "", "Job", "spec/template/metadata/annotations", true},
	{"", "v1", "ReplicationController", "spec/template/metadata/annotations", true},
	{"", "", "DaemonSet", "spec/template/metadata/annotations", true},
	{"", "", "ReplicaSet", "spec/template/metadata/annotations", true},
	{"", "", "", "metadata/annotations", true},
}

var defaultImages = []FieldSpec{
	{"", "", "", "spec/containers[]/image", true},
	{"", "", "", "spec/initContainers[]/image", true},
	{"", "", "", "spec/volumes[]/image/reference", true},
	{"", "", "", "spec/template/spec/containers[]/image", true},
	{"", "", "", "spec/template/spec/initContainers[]/image", true},
	{"", "", "", "spec/template/spec/volumes[]/image/reference", true},
	{"", "", "", "spec/jobTemplate/spec/template/spec/volumes[]/image/reference", true},
}

var defaultReplicas = []FieldSpec{
	{"", "", "Deployment", "spec/replicas", true},
	{"", "", "StatefulSet", "spec/replicas", true},
	{"", "", "ReplicaSet", "spec/replicas", true},
	{"", "", "ReplicationController", "spec/replicas", true},
}
