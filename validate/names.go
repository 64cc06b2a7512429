package validate

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// The schemas of Kubernetes do not contain the rules below: API servers check them in
// pkg/apis/*/validation.

// podSpecs are the paths to the pod specifications of the kinds that have one.
var podSpecs = map[string][]string{
	"Pod": {"spec"}, "PodTemplate": {"template", "spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
	"Deployment": {"spec", "template", "spec"}, "DaemonSet": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"},
	"ReplicaSet": {"spec", "template", "spec"}, "ReplicationController": {"spec", "template", "spec"}, "Job": {"spec", "template", "spec"},
}

// subdomains are kinds, besides those of podSpecs, whose names are DNS subdomains.
var subdomains = []string{"ConfigMap", "Secret", "ServiceAccount", "Ingress", "NetworkPolicy", "PersistentVolume", "PersistentVolumeClaim",
	"StorageClass", "HorizontalPodAutoscaler", "PodDisruptionBudget", "PriorityClass", "IngressClass", "LimitRange", "ResourceQuota",
	"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

var (
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	service   = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

const (
	inLabel     = "lowercase letters, digits and -, with a letter or digit at both ends"
	inService   = "lowercase letters, digits and -, with a letter at the start and a letter or digit at the end"
	inSubdomain = "lowercase letters, digits, - and ., with a letter or digit at both ends of each part"
)

// names checks names and numbers of an object of kind k by rules that its schema does not have.
func (c *checker) names(k openapi.Kind, v yaml.Value) {
	if c.sealed {
		return
	}
	podSpec := podSpecs[k.Kind]
	meta := v.Get("metadata")
	switch name := meta.Get("name"); {
	case k.Kind == "Service" && c.release.minor < 34: // later versions also accept other names
		c.name(name, service, inService, 63, "metadata", "name")
	case k.Kind == "Namespace" || k.Kind == "Service":
		c.name(name, label, inLabel, 63, "metadata", "name")
	case k.Kind == "CronJob":
		c.name(name, subdomain, inSubdomain, 52, "metadata", "name")
	case podSpec != nil || slices.Contains(subdomains, k.Kind):
		c.name(name, subdomain, inSubdomain, 253, "metadata", "name")
	}
	c.name(meta.Get("namespace"), label, inLabel, 63, "metadata", "namespace")
	if replicas := v.At("spec", "replicas"); podSpec != nil && replicas.Type() == yaml.Int {
		if n, err := strconv.Atoi(replicas.Text()); err == nil && n < 0 {
			c.foundAt([]any{"spec", "replicas"}, replicas, "must not be negative")
		}
	}
	if podSpec == nil {
		return
	}
	path := make([]any, len(podSpec))
	for i, key := range podSpec {
		path[i] = key
	}
	c.pod(v.At(podSpec...), v.At("spec", "volumeClaimTemplates"), path)
}

// pod checks the names in a pod specification, whose volumes are also those of claims.
func (c *checker) pod(pod, claims yaml.Value, path []any) {
	volumes := map[string]bool{}
	for i, v := range pod.Get("volumes").Items() {
		volumes[v.Get("name").Text()] = true
		c.name(v.Get("name"), label, inLabel, 63, append(slices.Clip(path), "volumes", i, "name")...)
	}
	for _, v := range claims.Items() {
		volumes[v.At("metadata", "name").Text()] = true
	}
	for _, list := range []string{"initContainers", "containers"} {
		for i, container := range pod.Get(list).Items() {
			at := slices.Clip(append(slices.Clip(path), list, i))
			c.name(container.Get("name"), label, inLabel, 63, append(at, "name")...)
			for j, port := range container.Get("ports").Items() {
				c.portName(port.Get("name"), append(at, "ports", j, "name"))
			}
			for j, mount := range container.Get("volumeMounts").Items() {
				if name := mount.Get("name"); name.IsScalar() && name.Text() != "" && !volumes[name.Text()] && !isPlaceholder(name.Text()) {
					f := c.foundAt(append(at, "volumeMounts", j, "name"), name, "the pod has no volume %s", c.show(name))
					f.Hints = diag.DidYouMean(name.Text(), slices.Sorted(maps.Keys(volumes)))
				}
			}
		}
	}
}

// name checks a name against a pattern and a maximum length.
func (c *checker) name(v yaml.Value, pattern *regexp.Regexp, letters string, most int, path ...any) {
	text := v.Text()
	switch {
	case v.Type() != yaml.String || text == "" || isPlaceholder(text):
	case len(text) > most:
		c.foundAt(path, v, "%s is too long: the maximum is %d letters", c.show(v), most)
	case !pattern.MatchString(text):
		c.foundAt(path, v, "%s is not a valid name: use %s", c.show(v), letters)
	}
}

// portName checks the name of a port of a container.
func (c *checker) portName(v yaml.Value, path []any) {
	if len(v.Text()) > 15 {
		c.name(v, label, inLabel, 15, path...)
		return
	}
	n := len(c.findings)
	c.name(v, label, inLabel, 15, path...)
	if text := v.Text(); v.Type() == yaml.String && len(c.findings) == n && text != "" && !isPlaceholder(text) &&
		(strings.Contains(text, "--") || strings.IndexFunc(text, func(r rune) bool { return 'a' <= r && r <= 'z' }) < 0) {
		c.foundAt(path, v, "%s is not a valid name of a port: use at least one letter and no --", c.show(v))
	}
}

// isPlaceholder reports whether another tool replaces text before it is applied.
func isPlaceholder(text string) bool { return strings.ContainsAny(text, "${}") }

// foundAt adds a finding about v, whose path begins at the object.
func (c *checker) foundAt(path []any, v yaml.Value, format string, args ...any) *Finding {
	c.path = c.path[:0]
	for _, p := range path {
		switch p := p.(type) {
		case string:
			c.key(p)
		case int:
			c.index(p)
		}
	}
	defer func() { c.path = c.path[:0] }()
	return c.found(WrongValue, v, format, args...)
}
