package krm

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// HoldsSecrets reports whether a resource of the list is a Secret or has one inside, as a template has. The other kinds of Kubernetes itself have
// none inside. A nil list holds nothing.
func (l *List) HoldsSecrets() bool {
	if l == nil {
		return false
	}
	known := map[GVK]bool{}
	var last GVK
	for _, r := range l.items {
		gvk := r.id.GVK
		if gvk == last && known[gvk] {
			continue
		}
		if gvk.Kind == "Secret" && gvk.Group == "" {
			return true
		}
		own, ok := known[gvk]
		if !ok {
			own = (*schema.Schema)(nil).For(schema.Kind(gvk)).Exists()
			known[gvk] = own
		}
		if !own && HoldsSecret(r.value) {
			return true
		}
	}
	return false
}

// HoldsSecret reports whether a value is or has a Secret.
func HoldsSecret(v yaml.Value) bool {
	if version := v.Get("apiVersion").Text(); version != "" && !strings.Contains(version, "/") && v.Get("kind").Text() == "Secret" {
		return true
	}
	return slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool { return HoldsSecret(f.Value) }) || slices.ContainsFunc(v.Items(), HoldsSecret)
}
