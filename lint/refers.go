package lint

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// fieldKinds are the kinds that a field refers to whose name does not contain the kind, in lower
// case. The field holds a name, or a mapping or a list of mappings with a name.
var fieldKinds = map[string][]string{
	"backendref":           {"service"},
	"backendrefs":          {"service"},
	"parentrefs":           {"gateway"},
	"certificaterefs":      {"secret"},
	"cacertificaterefs":    {"configmap", "secret"},
	"imagepullsecrets":     {"secret"},
	"issuerref":            {"issuer", "clusterissuer"},
	"claimname":            {"persistentvolumeclaim"},
	"existingclaim":        {"persistentvolumeclaim"},
	"secretstoreref":       {"secretstore", "clustersecretstore"},
	"scaletargetref":       {"deployment", "statefulset", "rollout"},
	"workloadref":          {"deployment"},
	"authenticationref":    {"triggerauthentication"},
	"keyref":               {},
	"fieldref":             {},
	"resourcefieldref":     {},
	"priorityclassname":    {"priorityclass"},
	"persistentvolumename": {"persistentvolume"},
	"templatename":         {"analysistemplate", "clusteranalysistemplate"}, // of Argo Rollouts
	"credentialname":       {"secret"},                                      // of Istio
	"alertmanagers":        {"service"},                                     // of Prometheus
}

// istioGroup and gatewayGroup are the API groups of Istio's networking objects and the Gateway API.
const (
	istioGroup   = "networking.istio.io"
	gatewayGroup = "gateway.networking.k8s.io"
)

// telemetryFields are fields, in lower case, with settings of traces and metrics. A name of a
// service in one of them is a label of the sent data, not a reference to a Service.
var telemetryFields = []string{"otel", "opentelemetry", "telemetry", "tracing", "tracer", "trace", "jaeger", "zipkin", "datadog", "apm",
	"newrelic"}

// annotationKinds are the kinds that an annotation refers to whose key does not end in the kind.
var annotationKinds = map[string]string{
	"cert-manager.io/inject-ca-from":               "certificate",
	"cert-manager.io/inject-ca-from-secret":        "secret",
	"cert-manager.io/cluster-issuer":               "clusterissuer",
	"cert-manager.io/issuer":                       "issuer",
	"nginx.ingress.kubernetes.io/auth-secret":      "secret",
	"nginx.ingress.kubernetes.io/auth-tls-secret":  "secret",
	"nginx.ingress.kubernetes.io/proxy-ssl-secret": "secret",
	"nginx.ingress.kubernetes.io/default-backend":  "service",
}

// annotates reports whether the annotation refers to objects of a kind, given in lower case.
func annotates(key, kind string) bool {
	if k, ok := annotationKinds[key]; ok {
		return k == kind
	}
	domain, last, ok := strings.Cut(key, "/")
	if kind == "service" && (strings.HasSuffix(domain, "datadoghq.com") || strings.HasSuffix(domain, "opentelemetry.io")) {
		return false
	}
	return ok && held(kind) && strings.HasSuffix(strings.ReplaceAll(last, "-", ""), kind)
}

// isHost reports whether a field of an object of Istio has the name of t as a host.
func isHost(group, field string, t target) bool {
	return group == istioGroup && t.kind == "service" && (field == "host" || field == "hosts")
}

// held reports whether objects of a kind, given in lower case, are usually referred to by a field
// that is named after the kind alone, such as secret or canaryService.
func held(kind string) bool {
	switch kind {
	case "secret", "configmap", "service", "serviceaccount", "persistentvolumeclaim", "issuer", "clusterissuer", "secretstore",
		"gateway", "certificate", "ingress":
		return true
	}
	return false
}

// lastFields returns the last three fields of path, the last one first, and reports whether path
// ends in a list.
func lastFields(path []hop) (names [3]string, inList bool) {
	n := 0
	for i := len(path) - 1; i >= 0 && n < len(names); i-- {
		if path[i].field != "" {
			names[n] = path[i].field
			n++
		}
	}
	return names, path[len(path)-1].field == ""
}

// refersTo reports whether a field refers to objects of the kind of t. names are the name of the
// field and of the fields around it, the innermost first, and parent is the mapping that has the
// field.
func (s *search) refersTo(names [3]string, inList bool, parent yaml.Value, t target) bool {
	field := names[0]
	switch {
	case t.kind == "service" && isTelemetry(names):
		return false
	case t.kind == "gateway" && !s.sameGateways(t):
		return false
	case field == "name" && !inList:
		if kind := parent.Get("kind"); kind.Type() == yaml.String {
			return kind.Text() == t.ID().Kind && groupFits(parent, t.ID())
		}
		if kinds, ok := fieldKinds[strings.ToLower(names[1])]; ok {
			return slices.Contains(kinds, t.kind)
		}
		return s.namesKind(names[1], t) || t.kind == "secret" && s.selectsKey(names, parent)
	case t.kind == "namespace":
		return strings.HasSuffix(singular(strings.ToLower(field)), t.kind)
	case inList:
		return held(t.kind) && s.endsIn(singular(field), t.kind)
	}
	if kinds, ok := fieldKinds[strings.ToLower(field)]; ok {
		return slices.Contains(kinds, t.kind)
	}
	if stem, ok := strings.CutSuffix(field, "Name"); ok {
		return (held(t.kind) || words(t.ID().Kind) > 1) && s.endsIn(stem, t.kind)
	}
	return held(t.kind) && s.endsIn(field, t.kind)
}

// isTelemetry reports whether a field, given with the fields around it, has the name that a program
// gives itself in traces and metrics.
func isTelemetry(names [3]string) bool {
	field, around := strings.ToLower(names[0]), strings.ToLower(names[1])
	if field == "name" && around == "service" {
		field, around = "service", strings.ToLower(names[2])
	}
	for _, suffix := range []string{"config", "settings", "options"} {
		around = strings.TrimSuffix(around, suffix)
	}
	before, ok := strings.CutSuffix(strings.TrimSuffix(field, "name"), "service")
	return ok && (before == "" && slices.Contains(telemetryFields, around) || slices.Contains(telemetryFields, before))
}

// sameGateways reports whether the referrer can mean the Gateway t: Istio and the Gateway API have
// different kinds with this name.
func (s *search) sameGateways(t target) bool {
	from := s.referrer.ID().Group
	return from != istioGroup && from != gatewayGroup || from == t.ID().Group
}

// selectsKey reports whether ref selects a key of a Secret by name and key alone, without a field
// that names the kind: basicAuth.username, and any such field of the Prometheus operator.
func (s *search) selectsKey(names [3]string, ref yaml.Value) bool {
	for _, f := range ref.Fields() {
		if f.Key != "name" && f.Key != "key" && f.Key != "optional" {
			return false
		}
	}
	if ref.Get("key").Type() != yaml.String || strings.Contains(strings.ToLower(names[1]), "configmap") {
		return false
	}
	group := s.referrer.ID().Group
	return names[2] == "basicAuth" || group == "monitoring.coreos.com" || group == "operator.victoriametrics.com"
}

// endsIn reports whether the last words of a field's name are kind, which is in lower case, and not
// a longer kind of the root.
func (s *search) endsIn(field, kind string) bool {
	start := len(field) - len(kind)
	if start < 0 || !strings.EqualFold(field[start:], kind) || start > 0 && (field[start] < 'A' || field[start] > 'Z') {
		return false
	}
	for longer := start - 1; longer >= 0; longer-- {
		if s.kinds[strings.ToLower(field[longer:])] {
			return false
		}
	}
	return true
}

// words returns the number of words in the name of a kind.
func words(kind string) (n int) {
	for _, c := range kind {
		if c >= 'A' && c <= 'Z' {
			n++
		}
	}
	return n
}

// groupFits reports whether a reference, a mapping with a kind, names the API group of id or none.
func groupFits(ref yaml.Value, id krm.ID) bool {
	for _, key := range []string{"group", "apiGroup"} {
		if group := ref.Get(key); group.Exists() && !group.IsNull() {
			return group.Text() == id.Group
		}
	}
	if version := ref.Get("apiVersion").Text(); version != "" {
		return krm.ParseGVK(version, "").Group == id.Group
	}
	return true
}

// namesKind reports whether a field with a mapping refers to objects of the kind of t: it is named
// after the kind, with or without a suffix such as Ref.
func (s *search) namesKind(field string, t target) bool {
	field = singular(field)
	for _, suffix := range []string{"Ref", "Reference", "Selector"} {
		stem, ok := strings.CutSuffix(field, suffix)
		if !ok || stem == "" {
			continue
		}
		for _, role := range []string{"Key", "To"} {
			stem = strings.TrimSuffix(stem, role)
		}
		if s.endsIn(stem, t.kind) {
			return true
		}
		lower, kind := strings.ToLower(stem), t.ID().Kind
		start := len(kind) - len(lower)
		return len(lower) >= 5 && start > 0 && strings.EqualFold(kind[start:], lower) && kind[start] >= 'A' && kind[start] <= 'Z' &&
			!s.kinds[lower]
	}
	return held(t.kind) && s.endsIn(field, t.kind)
}

func singular(word string) string {
	if strings.HasSuffix(word, "ss") {
		return word
	}
	if stem, ok := strings.CutSuffix(word, "sses"); ok {
		return stem + "ss"
	}
	return strings.TrimSuffix(word, "s")
}
