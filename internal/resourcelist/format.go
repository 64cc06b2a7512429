package resourcelist

import (
	"cmp"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// order are fields in the order in which kyaml's formatter writes them, wherever they stand; of one that is there twice the last place counts. All
// others follow by their names.
const order = `name generateName namespace clusterName apiVersion kind metadata type labels annotations spec status stringData data binaryData
parallelism completions activeDeadlineSeconds backoffLimit replicas selector manualSelector template ttlSecondsAfterFinished volumeClaimTemplates
service serviceName podManagementPolicy updateStrategy strategy minReadySeconds revision revisionHistoryLimit paused progressDeadlineSeconds
restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy serviceAccountName serviceAccount automountServiceAccountToken nodeName
hostNetwork hostPID hostIPC shareProcessNamespace hostname subdomain schedulerName priorityClassName priority runtimeClassName enableServiceLinks
nodeSelector hostAliases initContainers containers volumes securityContext imagePullSecrets affinity tolerations dnsConfig readinessGates
image command args workingDir ports envFrom env resources volumeMounts volumeDevices livenessProbe readinessProbe lifecycle terminationMessagePath
terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty clusterIP externalIPs loadBalancerIP loadBalancerSourceRanges
externalName externalTrafficPolicy sessionAffinity protocol port targetPort hostPort containerPort hostIP readOnly mountPath subPath subPathExpr
mountPropagation value valueFrom fieldRef resourceFieldRef configMapKeyRef secretKeyRef prefix configMapRef secretRef`

// notFormatted is the annotation by which a resource asks to be left as it is, with the value none.
const notFormatted = "config.kubernetes.io/formatting"

// sorted are the kinds of which the formatter sorts containers, or operations of a webhook, and versions those of their versions.
var (
	sorted   = []string{"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet", "ValidatingWebhookConfiguration"}
	versions = []string{"apps/v1", "apps/v1beta1", "apps/v1beta2", "batch/v1", "batch/v1beta1", "extensions/v1beta1", "v1", "admissionregistration.k8s.io/v1"}
)

// Format brings the fields of resources into the order of kyaml's formatter (WR-05).
func Format(items []*yaml3.Node) {
	places := map[string]int{}
	for i, name := range strings.Fields(order) {
		places[name] = i + 1
	}
	for _, item := range items {
		if Annotation(item, notFormatted) == "none" || Text(item, "apiVersion") == "" {
			continue
		}
		f := formatter{places: places, lists: slices.Contains(sorted, Text(item, "kind")) && slices.Contains(versions, Text(item, "apiVersion"))}
		f.format(item, "")
	}
}

type formatter struct {
	places map[string]int
	lists  bool // lists are sorted, too
}

// format sorts what is in a node; path leads there.
func (f formatter) format(n *yaml3.Node, path string) {
	switch n.Kind {
	case yaml3.MappingNode:
		f.sortFields(n)
		for i := 0; i+1 < len(n.Content); i += 2 {
			f.format(n.Content[i+1], path+"."+n.Content[i].Value)
		}
	case yaml3.SequenceNode:
		if f.lists && path == ".spec.template.spec.containers" {
			slices.SortStableFunc(n.Content, func(a, b *yaml3.Node) int { return cmp.Compare(Text(a, "name"), Text(b, "name")) })
		}
		if f.lists && path == ".webhooks.rules.operations" {
			slices.SortStableFunc(n.Content, func(a, b *yaml3.Node) int { return cmp.Compare(a.Value, b.Value) })
		}
		for _, item := range n.Content {
			f.format(item, path)
		}
	}
}

func (f formatter) sortFields(n *yaml3.Node) {
	type pair struct{ key, value *yaml3.Node }
	var pairs []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, pair{n.Content[i], n.Content[i+1]})
	}
	place := func(key string) int { return cmp.Or(f.places[key], len(order)) }
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(place(a.key.Value), place(b.key.Value)), cmp.Compare(a.key.Value, b.key.Value))
	})
	for i, p := range pairs {
		n.Content[2*i], n.Content[2*i+1] = p.key, p.value
	}
}
