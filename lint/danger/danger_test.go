package danger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint/danger"
)

// object parses one YAML document, None if text is empty.
func object(t *testing.T, text string) yaml.Value {
	t.Helper()
	if text == "" {
		return yaml.Value{}
	}
	v, err := (&yaml.Source{File: "object.yaml", Data: []byte(text)}).Value()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// told returns findings as lines: LEVEL CODE FIELD: MESSAGE.
func told(found []danger.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s %s: %s\n", f.Level, f.Code, f.Field, f.Msg)
	}
	return b.String()
}

// values are the old and the new content of an object that breaks a rule, by kind and field. Other
// rules are broken by a field that changes from a to b.
var values = map[string][2]string{
	"Job spec.completions": {`spec: {completions: 1}`, `spec: {completions: 2}`},
	"Job spec.template": {`spec: {template: {spec: {containers: [{name: a, image: "a:1"}]}}}`,
		`spec: {template: {spec: {containers: [{name: a, image: "a:2"}]}}}`},
	"StatefulSet spec.volumeClaimTemplates": {`spec: {volumeClaimTemplates: [{metadata: {name: a}}]}`,
		`spec: {volumeClaimTemplates: [{metadata: {name: a, labels: {x: y}}}]}`},
	"CSIDriver spec.volumeLifecycleModes": {`spec: {}`, `spec: {volumeLifecycleModes: [Ephemeral]}`},
	"PersistentVolume spec.*":             {`spec: {nfs: {path: /a}}`, `spec: {nfs: {path: /b}}`},
	"PersistentVolumeClaim spec.*":        {`spec: {storageClassName: a}`, `spec: {storageClassName: b}`},
	"PersistentVolumeClaim spec.resources.limits": {`spec: {resources: {limits: {storage: 1Gi}}}`,
		`spec: {resources: {limits: {storage: 2Gi}}}`},
	"Pod spec.containers": {`spec: {containers: [{name: a, image: "a:1"}]}`,
		`spec: {containers: [{name: a, image: "a:2", args: [b]}]}`},
	"Pod spec.initContainers":        {`spec: {initContainers: [{name: a, image: "a:1"}]}`, `spec: {}`},
	"Pod spec.activeDeadlineSeconds": {`spec: {activeDeadlineSeconds: 5}`, `spec: {activeDeadlineSeconds: 6}`},
	"Pod spec.tolerations":           {`spec: {tolerations: [{key: a}]}`, `spec: {tolerations: [{key: b}]}`},
	"Pod spec.schedulingGates":       {`spec: {}`, `spec: {schedulingGates: [{name: b}]}`},
	"Service spec.clusterIP":         {`spec: {}`, `spec: {clusterIP: None}`},
	"Service spec.clusterIPs":        {`spec: {clusterIPs: [10.0.0.1]}`, `spec: {clusterIPs: [10.0.0.2, "::2"]}`},
	"Service spec.ipFamilies":        {`spec: {ipFamilies: [IPv4]}`, `spec: {ipFamilies: [IPv6]}`},
	"Service spec.loadBalancerClass": {`spec: {type: LoadBalancer}`, `spec: {type: LoadBalancer, loadBalancerClass: b}`},
	"Service spec.healthCheckNodePort": {`spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 1}`,
		`spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 2}`},
	"Secret immutable":          {`immutable: true`, `immutable: false`},
	"Secret data":               {`{immutable: true, data: {a: YQ==}}`, `{immutable: true, data: {a: Yg==}}`},
	"Secret stringData":         {`{immutable: true, stringData: {a: a}}`, `{immutable: true, stringData: {a: b}}`},
	"ConfigMap immutable":       {`immutable: true`, ``},
	"ConfigMap data":            {`{immutable: true, data: {a: a}}`, `{immutable: true, data: {a: b}}`},
	"ConfigMap binaryData":      {`immutable: true`, `{immutable: true, binaryData: {a: Yg==}}`},
	"ResourceQuota spec.scopes": {`spec: {scopes: [a, b]}`, `spec: {scopes: [b, c]}`},
	"ServiceCIDR spec.cidrs":    {`spec: {cidrs: [10.0.0.0/8]}`, `spec: {cidrs: [11.0.0.0/8]}`},
	"CustomResourceDefinition spec.versions": {`spec: {versions: [{name: v1, storage: true}]}`,
		`spec: {versions: [{name: v2, storage: true}]}`},
}

// Every row of the table has a change that the rule refuses, and the finding names the row's field.
// Equal objects have no finding.
func TestRules(t *testing.T) {
	for _, r := range danger.Rules() {
		t.Run(r.Kind+" "+r.Field, func(t *testing.T) {
			content, ok := values[r.Kind+" "+r.Field]
			if !ok {
				path := strings.Split(strings.Replace(r.Field, "*", "x", 1), ".")
				set := func(value string) string {
					return strings.Join(path, ": {") + ": " + value + strings.Repeat("}", len(path)-1)
				}
				content = [2]string{set("a"), set("b")}
			}
			head := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x}\n", strings.TrimPrefix(r.Group+"/v1", "/"), r.Kind)
			side := func(i int) yaml.Value {
				v := object(t, head)
				if content[i] != "" {
					for _, f := range object(t, content[i]).Fields() {
						v = v.With(f.Key, f.Value)
					}
				}
				return v
			}
			old, now := side(0), side(1)
			found := danger.Find(old, now, nil)
			field, each := strings.CutSuffix(r.Field, "*")
			n := 0
			for _, f := range found {
				if f.Code == diag.Immutable && (f.Field == field || each && strings.HasPrefix(f.Field, field)) {
					n++
					if f.Level != diag.LevelError || len(f.Hints) == 0 || r.By == "" {
						t.Errorf("level %s, hints %q, by %q", f.Level, f.Hints, r.By)
					}
				}
			}
			if n != 1 {
				t.Errorf("want one finding for %s, got\n%s", r.Field, told(found))
			}
			if found := danger.Find(old, old, nil); strings.Contains(told(found), string(diag.Immutable)) {
				t.Errorf("without a change:\n%s", told(found))
			}
		})
	}
}

// A pod template with one container.
func deployment(pod string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: " + pod + "}}\n"
}

func role(rules string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: " + rules + "\n"
}

func statefulSet(templates, name string) string {
	return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: " + name + "}\nspec: {volumeClaimTemplates: " + templates + "}\n"
}

func claim(spec string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: " + spec + "\n"
}

func service(spec string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: " + spec + "\n"
}

func job(spec string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: " + spec + "\n"
}

func named(apiVersion, kind, name string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n", apiVersion, kind, name)
}

func TestFind(t *testing.T) {
	binding := func(role, subjects string) string {
		return named("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "b") +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\nsubjects: " + subjects + "\n"
	}
	crd := func(versions string) string {
		return named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com") + "spec: {versions: " + versions + "}\n"
	}
	const refused = "cannot be changed in place: the API server refuses the update"
	for _, tt := range []struct{ name, old, now, want string }{
		// Fields that are equal for the server.
		{"default", named("storage.k8s.io/v1", "StorageClass", "a"), named("storage.k8s.io/v1", "StorageClass", "a") +
			"reclaimPolicy: Delete", ""},
		{"default of a claim", statefulSet("[{metadata: {name: d}}]", "a"),
			statefulSet(
				"[{metadata: {name: d}, apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeMode: Filesystem}, status: {phase: Pending}}]", "a"), ""},
		{"quantities", claim("{resources: {requests: {storage: 1Gi}, limits: {storage: 2048Mi}}}"),
			claim("{resources: {requests: {storage: 1024Mi}, limits: {storage: 2Gi}}}"), ""},
		{"empty selector",
			"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}, matchExpressions: []}}",
			"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}}}", ""},
		{"old group", "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}}}",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: c}}}",
			"error KF0240 spec.selector: " + refused + "\n"},
		{"different kind of service", service("{clusterIP: None}"), named("serving.knative.dev/v1", "Service", "s") +
			"spec: {clusterIP: a}", ""},

		// Conditions.
		{"headless keeps its address", service("{clusterIP: None}"), service("{}"), ""},
		{"external name", service("{type: ExternalName}"), service("{clusterIP: None}"), ""},
		{"second address", service("{clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}"),
			service("{clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, '::1']}"), ""},
		{"load balancer gone", service("{type: LoadBalancer, loadBalancerClass: a}"), service("{type: ClusterIP}"), ""},
		{"indexed job", job("{completionMode: Indexed, completions: 2, parallelism: 2}"),
			job("{completionMode: Indexed, completions: 3, parallelism: 3}"), ""},
		{"suspended job", job("{suspend: true, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {a: b}}}}"),
			job("{suspend: true, template: {metadata: {labels: {a: c}}, spec: {nodeSelector: {a: c}}}}"), ""},
		{"claim bound later", claim("{}"), claim("{volumeName: v}"), ""},
		{"claim grows", claim("{resources: {requests: {storage: 1Gi}}}"), claim("{resources: {requests: {storage: 2Gi}}}"), ""},
		{"hook", job("{template: {spec: {a: b}}}"),
			strings.Replace(job("{template: {spec: {a: c}}}"), "name: j", "name: j, annotations: {helm.sh/hook: pre-install}", 1), ""},
		{"replaced by Argo CD", job("{template: {spec: {a: b}}}"),
			strings.Replace(job("{template: {spec: {a: c}}}"), "name: j",
				"name: j, annotations: {argocd.argoproj.io/sync-options: 'Force=true,Replace=true'}", 1), ""},
		{"pod image", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: 'a:1'}]}",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: 'a:2'}]}", ""},
		{"mutable config", named("v1", "ConfigMap", "c") + "data: {a: b}", named("v1", "ConfigMap", "c") + "data: {a: c}\nimmutable: true",
			""},
		{"new hash", named("v1", "ConfigMap", "c-2456789bcd") + "immutable: true\ndata: {a: b}",
			named("v1", "ConfigMap", "c-9876542bcd") + "immutable: true\ndata: {a: c}", ""},

		// Smaller volumes.
		{"claim shrinks", claim("{resources: {requests: {storage: 1Gi}}}"), claim("{resources: {requests: {storage: 1000M}}}"),
			"error KF0241 spec.resources.requests.storage: a volume cannot become smaller: the API server refuses the update\n"},
		{"template shrinks", statefulSet("[{metadata: {name: d}, spec: {resources: {requests: {storage: 2Gi}}}}]", "a"),
			statefulSet("[{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]", "a"),
			"error KF0241 spec.volumeClaimTemplates[name=d].spec.resources.requests.storage: a volume cannot become smaller: the API server refuses the update\n"},
		{"template grows", statefulSet("[{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]", "a"),
			statefulSet("[{metadata: {name: d}, spec: {resources: {requests: {storage: 2Gi}}}}]", "a"),
			"error KF0240 spec.volumeClaimTemplates: " + refused + "\n"},

		// Deletions.
		{"namespace", named("v1", "Namespace", "team"), "", "warning KF0242 : deleting a Namespace deletes every object in it\n"},
		{"kept", "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, annotations: {argocd.argoproj.io/sync-options: Prune=false}}\n",
			"", ""},
		{"config", named("v1", "ConfigMap", "n"), "", ""},
		{"renamed", statefulSet("[]", "a"), statefulSet("[]", "b"),
			"warning KF0242 : a new name or namespace makes a new object, and the old one is deleted: deleting a StatefulSet stops its pods, and deletes their volumes if persistentVolumeClaimRetentionPolicy.whenDeleted is Delete\n"},
		{"served version", crd("[{name: v1, served: true, storage: true}, {name: v1beta1, served: true}]"),
			crd("[{name: v1, served: true, storage: true}]"),
			"warning KF0242 spec.versions[name=v1beta1]: manifests and clients that use version v1beta1 fail, and the API server refuses the update if objects were ever stored in it\n"},

		// Privileges.
		{"pod", "",
			deployment(
				"{hostNetwork: true, hostPID: true, hostIPC: true, volumes: [{name: v, hostPath: {path: /var/run}}], containers: []}"),
			"warning KF0243 spec.template.spec.hostNetwork: uses the network of the node\n" +
				"warning KF0243 spec.template.spec.hostPID: sees and can signal all processes of the node\n" +
				"warning KF0243 spec.template.spec.hostIPC: shares memory with processes of the node\n" +
				"warning KF0243 spec.template.spec.volumes[name=v].hostPath.path: mounts a directory of the node: /var/run\n"},
		{"container", deployment("{containers: [{name: a, image: 'a:1'}]}"),
			deployment(
				"{containers: [{name: a, image: 'a:1', securityContext: {privileged: true, allowPrivilegeEscalation: true, runAsUser: 0, capabilities: {add: [NET_ADMIN]}}}]}"),
			"warning KF0243 spec.template.spec.containers[name=a].securityContext.privileged: the container has all rights of root on the node\n" +
				"warning KF0243 spec.template.spec.containers[name=a].securityContext.runAsUser: the container runs as root\n" +
				"warning KF0243 spec.template.spec.containers[name=a].securityContext.capabilities.add[0]: adds the capability NET_ADMIN\n"},
		{"known privilege",
			deployment(
				"{hostPID: true, containers: [{name: b, image: 'b:1'}, {name: a, image: 'a:1', securityContext: {privileged: true}}]}"),
			deployment(
				"{hostPID: true, containers: [{name: a, image: 'a:1', securityContext: {privileged: true}}, {name: b, image: 'b:1'}]}"),
			""},
		{"privilege of a moved object", strings.Replace(deployment("{hostPID: true, containers: []}"), "shop", "store", 1),
			deployment("{hostPID: true, containers: []}"), ""},
		{"denial dropped", deployment("{containers: [{name: a, image: 'a:1', securityContext: {allowPrivilegeEscalation: false}}]}"),
			deployment("{containers: [{name: b, image: 'b:1'}, {name: a, image: 'a:1'}]}"),
			"warning KF0243 spec.template.spec.containers[name=a].securityContext.allowPrivilegeEscalation: the default is true: processes can gain more rights than their parent\n"},
		{"custom kind", "", named("argoproj.io/v1alpha1", "Rollout", "r") + "spec: {template: {spec: {hostPID: true, containers: []}}}",
			"warning KF0243 spec.template.spec.hostPID: sees and can signal all processes of the node\n"},

		// Roles.
		{"all rights", "", role("[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}, {nonResourceURLs: ['*'], verbs: [get]}]"),
			"warning KF0243 rules[0].verbs[0]: gives every verb on every resource of every API group\n" +
				"warning KF0243 rules[1].nonResourceURLs[0]: gives get on every URL\n"},
		{"rights that the role has", role("[{apiGroups: ['*'], resources: ['*'], verbs: [get, list]}]"),
			role("[{apiGroups: [''], resources: [a], verbs: [get]}, {apiGroups: [apps], resources: ['*'], verbs: [list]}]"), ""},
		{"more rights", role("[{apiGroups: [''], resources: [pods], verbs: ['*']}]"),
			role("[{apiGroups: ['', apps], resources: [pods], verbs: ['*']}]"),
			"warning KF0243 rules[0].verbs[0]: gives every verb on pods of the core API, apps\n"},
		{"dangerous verbs", "", role("[{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [get, escalate, bind]}]"),
			"warning KF0243 rules[0].verbs[1]: lets its users give themselves any right\n" +
				"warning KF0243 rules[0].verbs[2]: lets its users bind roles that they do not have\n"},
		{"cluster-admin", binding("cluster-admin", "[{kind: User, name: a}]"),
			binding("cluster-admin", "[{kind: User, name: a}, {kind: ServiceAccount, name: b, namespace: team}]"),
			"warning KF0243 subjects[name=b]: ServiceAccount team/b becomes cluster-admin, with all rights in the cluster\n"},
		{"binding to a different role", binding("view", "[{kind: User, name: a}]"), binding("cluster-admin", "[{kind: User, name: a}]"),
			"error KF0240 roleRef: " + refused +
				"\nwarning KF0243 subjects[name=a]: User a becomes cluster-admin, with all rights in the cluster\n"},

		// Images.
		{"images", deployment("{containers: [{name: same, image: a}, {name: new, image: 'a:1'}]}"),
			deployment(
				"{containers: [{name: same, image: a}, {name: new, image: 'registry:5000/a'}, {name: b, image: 'a:latest'}, {name: c, image: 'a@sha256:0'}, {name: d, image: $(IMAGE)}]}"),
			"info KF0244 spec.template.spec.containers[name=new].image: registry:5000/a has no tag or digest, which means the tag latest\n" +
				"info KF0244 spec.template.spec.containers[name=b].image: a:latest can be a different image at each start of a pod\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := danger.Find(object(t, tt.old), object(t, tt.now), nil)
			if got := told(found); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			for _, f := range found {
				if v := (map[bool]yaml.Value{true: object(t, tt.old), false: object(t, tt.now)})[f.InOld]; f.Path != nil &&
					!at(v, f.Path).Exists() {
					t.Errorf("%s: nothing is at %v", f.Field, f.Path)
				}
			}
		})
	}
}

func at(v yaml.Value, path []any) yaml.Value {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			v = v.Get(s)
		case int:
			v = v.Items()[s]
		}
	}
	return v
}

func TestLevels(t *testing.T) {
	now := object(t, deployment("{hostPID: true, containers: [{name: a, image: a}]}"))
	found := danger.Find(yaml.Value{}, now, map[diag.Code]diag.Level{diag.NewPrivilege: diag.LevelOff, diag.UnpinnedImage: diag.LevelError})
	if len(found) != 1 || found[0].Level != diag.LevelError || found[0].Code != diag.UnpinnedImage {
		t.Errorf("got\n%s", told(found))
	}
}

func TestHints(t *testing.T) {
	const object1 = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: x}\nspec: {selector: {matchLabels: {app: web}}}"
	found := danger.Find(object(t, object1), object(t, strings.Replace(object1, "app: web", "app: web, team: b", 1)), nil)
	if len(found) != 1 {
		t.Fatalf("got\n%s", told(found))
	}
	got := strings.Join(found[0].Hints, "\n")
	want := "to keep it, add the labels elsewhere only: `labels: [{pairs: {\"team\":\"b\"}, includeTemplates: true}]`\n" +
		"to replace the object: kubectl -n x delete deployment web, then apply (its pods stop until the new ones are ready)"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The schema of a CustomResourceDefinition can be deeply nested.
func TestDeepValues(t *testing.T) {
	deep := strings.Repeat("{a: ", 60) + "%s" + strings.Repeat("}", 60)
	const head = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {versions: [{name: v1, schema: %s}]}"
	old, now := fmt.Sprintf(head, fmt.Sprintf(deep, "b")), fmt.Sprintf(head, fmt.Sprintf(deep, "c"))
	if found := danger.Find(object(t, old), object(t, now), nil); len(found) > 0 {
		t.Errorf("got\n%s", told(found))
	}
}
