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
}

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
	_, last, ok := strings.Cut(key, "/")
	return ok && held(kind) && strings.HasSuffix(strings.ReplaceAll(last, "-", ""), kind)
}

// isHost reports whether a field of an object of Istio has the name of t as a host.
func isHost(group, field string, t target) bool {
	return group == "networking.istio.io" && t.kind == "service" && (field == "host" || field == "hosts")
}

// held reports whether objects of a kind, given in lower case, are usually referred to by a field
// that is named after the kind alone, such as secret or canaryService.
func held(kind string) bool {
	switch kind {
	case "secret", "configmap", "service", "serviceaccount", "persistentvolumeclaim", "issuer", "clusterissuer", "secretstore":
		return true
	}
	return false
}

// lastFields returns the last two fields of path, the last one first, and reports whether path
// ends in a list.
func lastFields(path []any) (names [2]string, inList bool) {
	_, isField := path[len(path)-1].(string)
	n := 0
	for i := len(path) - 1; i >= 0 && n < len(names); i-- {
		if key, ok := path[i].(string); ok {
			names[n] = key
			n++
		}
	}
	return names, !isField
}

// refersTo reports whether a field refers to objects of the kind of t. names are the name of the
// field and of the field around it, and parent is the mapping that has the field.
func refersTo(names [2]string, inList bool, parent yaml.Value, t target) bool {
	field := names[0]
	switch {
	case field == "name" && !inList:
		if kind := parent.Get("kind"); kind.Type() == yaml.String {
			return kind.Text() == t.ID().Kind && groupFits(parent, t.ID())
		}
		if kinds, ok := fieldKinds[strings.ToLower(names[1])]; ok {
			return slices.Contains(kinds, t.kind)
		}
		return namesKind(names[1], t.kind)
	case t.kind == "namespace":
		return strings.HasSuffix(singular(strings.ToLower(field)), t.kind)
	case inList:
		return held(t.kind) && strings.HasSuffix(singular(strings.ToLower(field)), t.kind)
	}
	lower := strings.ToLower(field)
	if kinds, ok := fieldKinds[lower]; ok {
		return slices.Contains(kinds, t.kind)
	}
	if stem, ok := strings.CutSuffix(lower, "name"); ok {
		return strings.HasSuffix(stem, t.kind)
	}
	return held(t.kind) && strings.HasSuffix(lower, t.kind)
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

// namesKind reports whether a field with a mapping refers to objects of a kind, given in lower
// case: it is named after the kind, with or without a suffix such as Ref.
func namesKind(field, kind string) bool {
	lower := singular(strings.ToLower(field))
	for _, suffix := range []string{"ref", "reference", "selector"} {
		if stem, ok := strings.CutSuffix(lower, suffix); ok && stem != "" {
			return strings.Contains(stem, kind) || len(stem) >= 5 && strings.HasSuffix(kind, stem)
		}
	}
	return held(kind) && strings.HasSuffix(lower, kind)
}

func singular(word string) string {
	if strings.HasSuffix(word, "ss") {
		return word
	}
	return strings.TrimSuffix(word, "s")
}
