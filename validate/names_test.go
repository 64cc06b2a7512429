package validate

import (
	"testing"

	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// TestNames covers rules of API servers that are not in the schemas.
func TestNames(t *testing.T) {
	object := func(kind, name, rest string) string {
		return "{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + rest + "}}"
	}
	pod := func(rest string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{name: config}], containers: [{name: a, " + rest + "}]}}"
	}
	const letters = ": use lowercase letters, digits"
	for _, tc := range []struct{ text, want string }{
		{object("ConfigMap", "a.b-c", ""), ""},
		{object("ConfigMap", "kube-root-ca.crt", ", namespace: x"), ""},
		{object("ConfigMap", "'${NAME}'", ""), ""},
		{object("ConfigMap", "a_b", ""),
			`metadata.name: "a_b" is not a valid name` + letters + `, - and ., with a letter or digit at both ends of each part`},
		{object("ConfigMap", "a", ", namespace: a.b"), `metadata.namespace: "a.b" is not a valid name` + letters +
			` and -, with a letter or digit at both ends`},
		{object("Namespace", "a.b", ""), `metadata.name: "a.b" is not a valid name` +
			letters + ` and -, with a letter or digit at both ends`},
		{"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:a'}}", ""},
		{"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: p}, spec: {replicas: -1, serviceName: s, selector: {}, " +
			"volumeClaimTemplates: [{metadata: {name: data}}], template: {spec: {containers: [{name: a, volumeMounts: [{name: data, mountPath: /a}]}]}}}}",
			"spec.replicas: must not be negative"},
		{pod("volumeMounts: [{name: config, mountPath: /a}], ports: [{containerPort: 1, name: http-2}]"), ""},
		{pod("volumeMounts: [{name: confgi, mountPath: /a}]"), `spec.containers[0].volumeMounts[0].name: the pod has no volume "confgi"`},
		{pod("ports: [{containerPort: 1, name: a-name-of-16-letters}]"),
			`spec.containers[0].ports[0].name: "a-name-of-16-letters" is too long: the maximum is 15 letters`},
		{pod("ports: [{containerPort: 1, name: '80'}]"),
			`spec.containers[0].ports[0].name: "80" is not a valid name of a port: use at least one letter and no --`},
	} {
		for _, r := range resources(t, tc.text) {
			if got := joined(New(openapi.Newest).Check(r)); got != tc.want {
				t.Errorf("%s:\ngot  %q\nwant %q", tc.text, got, tc.want)
			}
		}
	}
	for _, r := range resources(t, object("Service", "1svc", "")) {
		if got := joined(New(33).Check(r)); got == "" {
			t.Error("a Service of Kubernetes 1.33 must not begin with a digit")
		}
	}
}
