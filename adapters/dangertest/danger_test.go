// Package dangertest compares the table of package lint/danger with the validation functions of an
// API server.
package dangertest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint/danger"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	sigsyaml "sigs.k8s.io/yaml"
)

func init() { crdinstall.Install(legacyscheme.Scheme) }

// load decodes an object as an API server does, with defaults.
func load(t *testing.T, text string) runtime.Object {
	t.Helper()
	json, err := sigsyaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(json, nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	obj.(interface{ SetResourceVersion(string) }).SetResourceVersion("1")
	return obj
}

// update returns the errors of an API server for the update of an object.
func update(t *testing.T, old, now runtime.Object) field.ErrorList {
	pods := validation.PodValidationOptions{}
	switch now := now.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeploymentUpdate(now, old.(*apps.Deployment), pods)
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSetUpdate(now, old.(*apps.StatefulSet), pods)
	case *apps.DaemonSet:
		old := old.(*apps.DaemonSet)
		if !reflect.DeepEqual(old.Spec.Template, now.Spec.Template) {
			now.Spec.TemplateGeneration = old.Spec.TemplateGeneration + 1
		}
		return appsvalidation.ValidateDaemonSetUpdate(now, old, pods)
	case *batch.Job:
		old := old.(*batch.Job)
		return batchvalidation.ValidateJobUpdate(now, old,
			batchvalidation.JobValidationOptions{AllowMutableSchedulingDirectives: old.Spec.Suspend != nil && *old.Spec.Suspend})
	case *rbac.RoleBinding:
		return rbacvalidation.ValidateRoleBindingUpdate(now, old.(*rbac.RoleBinding))
	case *rbac.ClusterRoleBinding:
		return rbacvalidation.ValidateClusterRoleBindingUpdate(now, old.(*rbac.ClusterRoleBinding))
	case *storage.StorageClass:
		return storagevalidation.ValidateStorageClassUpdate(now, old.(*storage.StorageClass))
	case *storage.CSIDriver:
		return storagevalidation.ValidateCSIDriverUpdate(now, old.(*storage.CSIDriver))
	case *scheduling.PriorityClass:
		return schedulingvalidation.ValidatePriorityClassUpdate(now, old.(*scheduling.PriorityClass))
	case *networking.IngressClass:
		return networkvalidation.ValidateIngressClassUpdate(now, old.(*networking.IngressClass))
	case *core.PersistentVolumeClaim:
		old := old.(*core.PersistentVolumeClaim)
		old.Status.Phase, now.Status.Phase = core.ClaimBound, core.ClaimBound
		old.Status.Capacity = old.Spec.Resources.Requests
		return validation.ValidatePersistentVolumeClaimUpdate(now, old, validation.PersistentVolumeClaimSpecValidationOptions{
			EnableRecoverFromExpansionFailure: true, EnableVolumeAttributesClass: true})
	case *core.PersistentVolume:
		return validation.ValidatePersistentVolumeUpdate(now, old.(*core.PersistentVolume),
			validation.PersistentVolumeSpecValidationOptions{})
	case *core.Pod:
		return validation.ValidatePodUpdate(now, old.(*core.Pod), pods)
	case *core.Service:
		return validation.ValidateServiceUpdate(now, old.(*core.Service))
	case *core.Secret:
		return validation.ValidateSecretUpdate(now, old.(*core.Secret))
	case *core.ConfigMap:
		return validation.ValidateConfigMapUpdate(now, old.(*core.ConfigMap))
	case *core.ResourceQuota:
		return validation.ValidateResourceQuotaUpdate(now, old.(*core.ResourceQuota))
	case *apiextensions.CustomResourceDefinition:
		old := old.(*apiextensions.CustomResourceDefinition)
		old.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{
			{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
		for _, crd := range []*apiextensions.CustomResourceDefinition{old, now} {
			for _, v := range crd.Spec.Versions {
				if v.Storage && !slices.Contains(old.Status.StoredVersions, v.Name) {
					old.Status.StoredVersions = append(old.Status.StoredVersions, v.Name)
				}
			}
		}
		now.Status = old.Status
		return crdvalidation.ValidateCustomResourceDefinitionUpdate(t.Context(), now, old)
	}
	t.Fatalf("no validation for %T", now)
	return nil
}

// cases are objects, and for each the changes to compare: a text of the object and its replacement.
// The server accepts each object as it is.
var cases = []struct {
	base  string
	edits [][2]string
}{
	{`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: b}, spec: {replicas: 1, minReadySeconds: 1, selector: {matchLabels: {a: b}}, strategy: {type: Recreate}, template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: a, image: "a:1"}]}}}}`,
		[][2]string{
			{"matchLabels: {a: b}", "matchLabels: {c: d}"},
			{"matchLabels: {a: b}", "matchLabels: {a: b}, matchExpressions: []"},
			{"replicas: 1", "replicas: 2"},
			{"Recreate", "RollingUpdate"},
			{`"a:1"`, `"a:2"`},
			{"{a: b, c: d}", "{a: b, c: e}"},
		}},
	{`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, namespace: b}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: a, image: "a:1"}]}}}}`,
		[][2]string{
			{"matchLabels: {a: b}", "matchLabels: {c: d}"},
			{`"a:1"`, `"a:2"`},
		}},
	{`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: b}, spec: {replicas: 1, serviceName: s, minReadySeconds: 1, revisionHistoryLimit: 3, ordinals: {start: 1}, selector: {matchLabels: {a: b}}, updateStrategy: {type: OnDelete}, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], storageClassName: x, resources: {requests: {storage: 2Gi}}}}], template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: a, image: "a:1"}]}}}}`,
		[][2]string{
			{"matchLabels: {a: b}", "matchLabels: {c: d}"},
			{"serviceName: s", "serviceName: t"},
			{"serviceName: s, ", ""},
			{"replicas: 1", "replicas: 1, podManagementPolicy: Parallel"},
			{"replicas: 1", "replicas: 1, podManagementPolicy: OrderedReady"},
			{"2Gi", "3Gi"},
			{"2Gi", "1Gi"},
			{"2Gi", "2048Mi"},
			{"storageClassName: x", "storageClassName: x, volumeMode: Filesystem"},
			{"storageClassName: x", "storageClassName: x, volumeMode: Block"},
			{"{name: v}", "{name: v, labels: {a: b}}"},
			{"{name: v}", "{name: w}"},
			{"storageClassName: x, ", ""},
			{"minReadySeconds: 1", "minReadySeconds: 2"},
			{"start: 1", "start: 2"},
			{"Limit: 3", "Limit: 4"},
			{"OnDelete", "RollingUpdate"},
			{"whenDeleted: Delete", "whenDeleted: Retain"},
			{`"a:1"`, `"a:2"`},
		}},
	{`{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: b}, spec: {manualSelector: true, completions: 1, parallelism: 1, backoffLimit: 3, ttlSecondsAfterFinished: 3, activeDeadlineSeconds: 9, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}`,
		[][2]string{
			{"matchLabels: {a: b}", "matchLabels: {c: d}"},
			{"completions: 1", "completions: 2"},
			{"completions: 1", "completions: 1, completionMode: NonIndexed"},
			{"completions: 1", "completions: 1, completionMode: Indexed"},
			{"parallelism: 1", "parallelism: 2"},
			{"backoffLimit: 3", "backoffLimit: 4"},
			{"Finished: 3", "Finished: 4"},
			{"Seconds: 9", "Seconds: 10"},
			{`"a:1"`, `"a:2"`},
			{"c: d", "c: e"},
			{"restartPolicy: Never", "restartPolicy: Never, dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30"},
			{"restartPolicy: Never", "restartPolicy: OnFailure"},
			{"completions: 1", "completions: 1, suspend: true"},
			{"completions: 1",
				"completions: 1, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: \"True\"}]}]}"},
		}},
	{`{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: b}, spec: {suspend: true, manualSelector: true, completionMode: Indexed, completions: 2, parallelism: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: {restartPolicy: Never, nodeSelector: {a: b}, containers: [{name: a, image: "a:1"}]}}}}`,
		[][2]string{
			{"completions: 2, parallelism: 2", "completions: 3, parallelism: 3"},
			{"completions: 2", "completions: 3"},
			{"c: d", "c: e"},
			{"nodeSelector: {a: b}", "nodeSelector: {a: c}"},
			{"nodeSelector: {a: b}",
				"nodeSelector: {a: b}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}"},
			{`"a:1"`, `"a:2"`},
		}},
	{`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: User, name: u}]}`,
		[][2]string{
			{"name: r", "name: s"},
			{"kind: Role,", "kind: ClusterRole,"},
			{"apiGroup: rbac.authorization.k8s.io, ", ""},
			{"name: u", "name: v"},
		}},
	{`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: u}]}`,
		[][2]string{
			{"name: r", "name: s"},
			{"name: u", "name: v"},
		}},
	{`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, provisioner: p, parameters: {a: b}, allowVolumeExpansion: true, mountOptions: [a]}`,
		[][2]string{
			{"provisioner: p", "provisioner: q"},
			{"{a: b}", "{a: c}"},
			{"{a: b}", "{}"},
			{"provisioner: p", "provisioner: p, reclaimPolicy: Retain"},
			{"provisioner: p", "provisioner: p, reclaimPolicy: Delete, volumeBindingMode: Immediate"},
			{"provisioner: p", "provisioner: p, volumeBindingMode: WaitForFirstConsumer"},
			{"Expansion: true", "Expansion: false"},
			{"mountOptions: [a]", "mountOptions: [b]"},
		}},
	{`{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: a}, spec: {podInfoOnMount: true}}`,
		[][2]string{
			{"podInfoOnMount: true", "podInfoOnMount: false"},
			{"podInfoOnMount: true", "podInfoOnMount: true, attachRequired: false"},
			{"podInfoOnMount: true", "podInfoOnMount: true, attachRequired: true, volumeLifecycleModes: [Persistent]"},
			{"podInfoOnMount: true", "podInfoOnMount: true, volumeLifecycleModes: [Ephemeral]"},
			{"podInfoOnMount: true", "podInfoOnMount: true, fsGroupPolicy: File"},
		}},
	{`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a}, value: 5, description: x}`,
		[][2]string{
			{"value: 5", "value: 6"},
			{"value: 5", "value: 5, preemptionPolicy: Never"},
			{"value: 5", "value: 5, preemptionPolicy: PreemptLowerPriority"},
			{"description: x", "description: z"},
			{"description: x", "globalDefault: true"},
		}},
	{`{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: a}, spec: {controller: a.io/b}}`,
		[][2]string{
			{"a.io/b", "a.io/c"},
			{"a.io/b", "a.io/b, parameters: {kind: K, name: nn, scope: Cluster}"},
		}},
	{`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: b}, spec: {accessModes: [ReadWriteOnce], storageClassName: x, volumeName: v, resources: {requests: {storage: 2Gi}, limits: {storage: 9Gi}}}}`,
		[][2]string{
			{"2Gi", "3Gi"},
			{"2Gi", "1Gi"},
			{"2Gi", "2048Mi"},
			{"9Gi", "8Gi"},
			{"ReadWriteOnce", "ReadWriteMany"},
			{"storageClassName: x", "storageClassName: z"},
			{"storageClassName: x, ", ""},
			{"volumeName: v", "volumeName: w"},
			{"volumeName: v, ", ""},
			{"storageClassName: x", "storageClassName: x, volumeMode: Block"},
			{"storageClassName: x", "storageClassName: x, volumeMode: Filesystem"},
			{"storageClassName: x", "storageClassName: x, selector: {matchLabels: {a: b}}"},
			{"storageClassName: x", "storageClassName: x, volumeAttributesClassName: z"},
		}},
	{`{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}, storageClassName: x, nfs: {server: s, path: /a}, persistentVolumeReclaimPolicy: Retain, mountOptions: [a]}}`,
		[][2]string{
			{"2Gi", "3Gi"},
			{"2Gi", "1Gi"},
			{"ReadWriteOnce", "ReadWriteMany"},
			{"storageClassName: x", "storageClassName: z"},
			{"path: /a", "path: /b"},
			{"nfs: {server: s, path: /a}", "hostPath: {path: /a}"},
			{"Retain", "Delete"},
			{"[a]", "[b]"},
			{"storageClassName: x", "storageClassName: x, volumeMode: Block"},
			{"storageClassName: x",
				"storageClassName: x, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}"},
		}},
	{`{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}, csi: {driver: d, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}`,
		[][2]string{
			{"volumeHandle: h", "volumeHandle: i"},
			{"volumeHandle: h", "volumeHandle: h, controllerExpandSecretRef: {name: a, namespace: b}"},
			{"key: a", "key: b"},
		}},
	{`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, labels: {a: b}}, spec: {activeDeadlineSeconds: 9, serviceAccountName: x, tolerations: [{key: a, operator: Exists}], containers: [{name: a, image: "a:1"}]}}`,
		[][2]string{
			{`"a:1"`, `"a:2"`},
			{`"a:1"`, `"a:1", args: [b]`},
			{"Seconds: 9", "Seconds: 8"},
			{"Seconds: 9", "Seconds: 10"},
			{"activeDeadlineSeconds: 9, ", ""},
			{"labels: {a: b}", "labels: {a: c}"},
			{"key: a", "key: b"},
			{"[{key: a, operator: Exists}]", "[{key: a, operator: Exists}, {key: b, operator: Exists}]"},
			{"serviceAccountName: x", "serviceAccountName: z"},
			{"serviceAccountName: x", "serviceAccountName: x, hostNetwork: true"},
			{"serviceAccountName: x", "serviceAccountName: x, terminationGracePeriodSeconds: 30, dnsPolicy: ClusterFirst"},
			{`[{name: a, image: "a:1"}]`, `[{name: a, image: "a:1"}, {name: b, image: "a:1"}]`},
		}},
	{`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}, spec: {type: ClusterIP, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, selector: {a: b}, ports: [{port: 1}]}}`,
		[][2]string{
			{"clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]", "clusterIP: 10.0.0.2, clusterIPs: [10.0.0.2]"},
			{"clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]", "clusterIP: None, clusterIPs: [None]"},
			{"selector: {a: b}", "selector: {a: c}"},
			{"port: 1", "port: 2"},
			{"type: ClusterIP", "type: NodePort"},
			{"type: ClusterIP", "type: LoadBalancer, loadBalancerClass: a/b"},
			{"[10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack",
				"[10.0.0.1, '::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack"},
		}},
	{`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}, spec: {type: LoadBalancer, loadBalancerClass: a/b, externalTrafficPolicy: Local, healthCheckNodePort: 30001, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, selector: {a: b}, ports: [{port: 1, nodePort: 30000}]}}`,
		[][2]string{
			{"a/b", "a/c"},
			{"loadBalancerClass: a/b, ", ""},
			{"30001", "30002"},
			{"externalTrafficPolicy: Local, healthCheckNodePort: 30001", "externalTrafficPolicy: Cluster"},
			{"type: LoadBalancer, loadBalancerClass: a/b, externalTrafficPolicy: Local, healthCheckNodePort: 30001", "type: NodePort"},
		}},
	{`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, immutable: true, data: {a: YQ==}}`,
		[][2]string{
			{"YQ==", "Yg=="},
			{"immutable: true, ", ""},
			{"immutable: true", "immutable: true, type: Opaque"},
			{"immutable: true", "immutable: true, type: x"},
		}},
	{`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: {a: YQ==}}`,
		[][2]string{
			{"YQ==", "Yg=="},
			{", data:", ", immutable: true, data:"},
			{", data:", ", type: x/y, data:"},
		}},
	{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, immutable: true, data: {a: b}}`,
		[][2]string{
			{"{a: b}", "{a: c}"},
			{"immutable: true, ", ""},
			{"immutable: true", "immutable: true, binaryData: {b: YQ==}"},
			{"metadata: {", "metadata: {labels: {a: b}, "},
		}},
	{`{apiVersion: v1, kind: ResourceQuota, metadata: {name: a, namespace: b}, spec: {hard: {pods: 1}, scopes: [BestEffort, NotTerminating]}}`,
		[][2]string{
			{"[BestEffort, NotTerminating]", "[NotTerminating, BestEffort]"},
			{"[BestEffort, NotTerminating]", "[BestEffort]"},
			{"pods: 1", "pods: 2"},
		}},
	{`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		[][2]string{
			{"Namespaced", "Cluster"},
			{"kind: Thing,", "kind: Other,"},
			{"group: example.com", "group: other.com"},
			{"plural: things", "plural: others"},
			{"[{name: v1", "[{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}, {name: v1"},
			{"name: v1", "name: v2"},
			{"type: object", "type: object, description: x"},
		}},
}

// TestServerAgrees checks for each change that it has a finding if and only if the API server
// refuses it.
func TestServerAgrees(t *testing.T) {
	value := func(text string) yaml.Value {
		v, err := (&yaml.Source{File: "object.yaml", Data: []byte(text)}).Value()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	refused := 0
	for _, c := range cases {
		if errs := update(t, load(t, c.base), load(t, c.base)); len(errs) > 0 {
			t.Errorf("%s\nrefused without a change: %v", c.base, errs)
			continue
		}
		for _, e := range c.edits {
			now := strings.Replace(c.base, e[0], e[1], 1)
			if now == c.base {
				t.Errorf("%s\nhas no %q", c.base, e[0])
			}
			errs := update(t, load(t, c.base), load(t, now))
			var found []string
			for _, f := range danger.Find(value(c.base), value(now), nil) {
				if f.Code == diag.Immutable || f.Code == diag.Shrunk {
					found = append(found, f.Field+": "+f.Msg)
				}
			}
			if (len(found) > 0) != (len(errs) > 0) {
				t.Errorf("%s\n%q -> %q: found %q, the server's errors are %v", c.base, e[0], e[1], found, errs)
			}
			if len(errs) > 0 {
				refused++
			}
		}
	}
	t.Logf("%d changes refused", refused)
	if refused < 60 {
		t.Errorf("only %d changes are refused", refused)
	}
}
