package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Overwritten returns a finding about an operation add of a JSON patch that replaced a mapping or a
// list with content, nil if nothing is lost. old is the previous content of the place, now the
// content in the result, added the value of the operation, and pointer the path of the operation.
func Overwritten(old, now, added yaml.Value, pointer string) *Finding {
	var lost losses
	switch {
	case now.IsNull(): // removes the content on purpose
	case old.Type() == yaml.Map && (now.Type() != yaml.Map || isOpen(old, pointer) || overlap(old, added)):
		for _, f := range old.Fields() {
			if !now.Get(f.Key).Exists() {
				lost.fields = append(lost.fields, fieldName(f.Key))
			}
		}
	case old.Type() == yaml.Seq:
		lost = compareLists(old, now, nil)
		lost.fields = nil
	}
	if lost.empty() {
		return nil
	}
	what := "existing " + old.Type().String()
	if now.Type() != old.Type() {
		what += " by " + now.Type().Article()
	}
	return &Finding{diag.AddOverwrites, nil, fmt.Sprintf("add replaces the %s, so %s", what, lost), func() []string {
		if old.Type() == yaml.Seq {
			return []string{fmt.Sprintf("to append an item, write {op: add, path: %s/-, value: ...}", pointer),
				"to replace the whole list, write op: replace"}
		}
		hints := []string{"use op: replace if this is intended"}
		if fields := added.Fields(); len(fields) > 0 {
			path := pointer + "/" + pointerToken(fields[0].Key)
			hints = []string{fmt.Sprintf("to add one field, write {op: add, path: %s, value: ...}", path),
				"to replace the whole mapping, write op: replace"}
		}
		return hints
	}}
}

// openFields are the common fields of Kubernetes whose keys are names of the user.
var openFields = []string{"annotations", "labels", "matchLabels", "nodeSelector", "selector", "data", "stringData", "binaryData",
	"limits", "requests"}

// isOpen reports whether the keys of the mapping at pointer are names of the user, such as those of
// labels, and not the fields of an API, which are in camel case.
func isOpen(v yaml.Value, pointer string) bool {
	return slices.Contains(openFields, pointer[strings.LastIndex(pointer, "/")+1:]) ||
		slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool {
			return strings.ContainsAny(f.Key, "./-_") || strings.ToUpper(f.Key) == f.Key
		})
}

// overlap reports whether two mappings have a field in common. An add that replaces the content
// by different fields switches to a different variant on purpose.
func overlap(a, b yaml.Value) bool {
	return slices.ContainsFunc(b.Fields(), func(f yaml.Field) bool { return a.Get(f.Key).Exists() })
}
