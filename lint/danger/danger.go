// Package danger finds changes of objects that an API server refuses, that lose data, or that give
// pods and users new privileges. It compares two manifests, so it knows neither the status of an
// object nor the fields that a cluster has set. Where the result depends on these, a hint says so.
package danger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Kubernetes is the version whose validation the table of [Rules] follows.
const Kubernetes = "v1.34.2"

// A Finding is a danger of a change to one object.
type Finding struct {
	Code  diag.Code
	Level diag.Level // never LevelOff
	// Path is the place of the field, as field names and list indexes in the new object, or in the
	// old one if InOld is true. It is nil if the finding is about the whole object.
	Path  []any
	InOld bool
	// Field is Path for messages: spec.containers[name=web].image.
	Field string
	// Old and New are the values of the field, None if absent or unimportant.
	Old, New yaml.Value
	// Msg states the consequence. Hints state what to do, one line each.
	Msg   string
	Hints []string
}

// Find returns the dangers of the change from the object old to the object now, the most severe
// first. Either may be None: the object is created or deleted. If the two differ in their group,
// kind, namespace or name, old is deleted and now is created, but now has no new privileges if old
// had them. levels replaces the default levels of codes. Values may be hidden: then the findings do
// not contain them either.
//
// Find has no side effects and is deterministic.
func Find(old, now yaml.Value, levels map[diag.Code]diag.Level) []Finding {
	c := &change{old: old, now: now, levels: levels}
	if old.Exists() && (!now.Exists() || !sameObject(old, now)) {
		c.deletion()
	} else if old.Exists() && !IsRecreated(now) {
		c.immutable()
		c.shrunk()
	}
	if old.Exists() && now.Exists() {
		c.versions()
	}
	if now.Exists() {
		c.privileges()
		c.images()
	}
	slices.SortStableFunc(c.found, func(a, b Finding) int { return int(b.Level) - int(a.Level) })
	return c.found
}

// A change is the change of one object, with the findings so far.
type change struct {
	old, now yaml.Value
	levels   map[diag.Code]diag.Level
	found    []Finding
}

// add adds a finding unless the level of its code is off.
func (c *change) add(f Finding) {
	level, ok := c.levels[f.Code]
	if !ok {
		level = f.Code.DefaultLevel()
	}
	if level == diag.LevelOff {
		return
	}
	f.Level = level
	if f.Field == "" {
		f.Field = FieldOf(c.side(f.InOld), f.Path)
	}
	c.found = append(c.found, f)
}

func (c *change) side(old bool) yaml.Value {
	if old {
		return c.old
	}
	return c.now
}

// identity returns the group, kind, namespace and name of an object.
func identity(v yaml.Value) (group, kind, namespace, name string) {
	meta := v.Get("metadata")
	namespace = meta.Get("namespace").Text()
	if namespace == "default" {
		namespace = ""
	}
	return groupOf(v), v.Get("kind").Text(), namespace, meta.Get("name").Text()
}

// groupOf returns the API group of an object. Objects of the group extensions are stored in the
// groups that replaced it.
func groupOf(v yaml.Value) string {
	group, _, ok := strings.Cut(v.Get("apiVersion").Text(), "/")
	switch {
	case !ok:
		return ""
	case group == "extensions" && slices.Contains([]string{"Ingress", "NetworkPolicy"}, v.Get("kind").Text()):
		return "networking.k8s.io"
	case group == "extensions":
		return "apps"
	}
	return group
}

// sameObject reports whether an API server sees two manifests as the same object.
func sameObject(old, now yaml.Value) bool {
	group, kind, namespace, name := identity(old)
	g, k, ns, n := identity(now)
	return group == g && kind == k && namespace == ns && name == n
}

// IsRecreated reports whether a tool that applies the object deletes the earlier one first. Then
// every field can change.
func IsRecreated(v yaml.Value) bool {
	notes := v.At("metadata", "annotations")
	return notes.Get("argocd.argoproj.io/hook").Exists() || notes.Get("helm.sh/hook").Exists() ||
		hasOption(notes.Get("argocd.argoproj.io/sync-options"), "Force=true") ||
		strings.EqualFold(notes.Get("kustomize.toolkit.fluxcd.io/force").Text(), "enabled")
}

// isKept reports whether tools that delete absent objects keep this one.
func isKept(v yaml.Value) bool {
	notes := v.At("metadata", "annotations")
	options := notes.Get("argocd.argoproj.io/sync-options")
	return hasOption(options, "Prune=false") || hasOption(options, "Delete=false") ||
		notes.Get("helm.sh/resource-policy").Text() == "keep" ||
		strings.EqualFold(notes.Get("kustomize.toolkit.fluxcd.io/prune").Text(), "disabled")
}

// hasOption reports whether a list of options, separated by commas, has an option.
func hasOption(list yaml.Value, option string) bool {
	for o := range strings.SplitSeq(list.Text(), ",") {
		if strings.TrimSpace(o) == option {
			return true
		}
	}
	return false
}

// FieldOf returns a path in an object for messages. Items with a name are identified by it.
func FieldOf(v yaml.Value, path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(diag.FieldPath([]any{step}))
			v = v.Get(step)
		case int:
			v = item(v, step)
			name := v.Get("name")
			if !name.Exists() {
				name = v.At("metadata", "name")
			}
			if name.IsScalar() {
				fmt.Fprintf(&b, "[name=%s]", diag.OneLine(name.Text()))
			} else {
				fmt.Fprintf(&b, "[%d]", step)
			}
		}
	}
	return b.String()
}

// item returns an item of a list, None if there is none.
func item(v yaml.Value, i int) yaml.Value {
	if v.Type() != yaml.Seq || i < 0 || i >= v.Len() {
		return yaml.Value{}
	}
	return v.Items()[i]
}

// get returns the value at a path.
func get(v yaml.Value, path []any) yaml.Value {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
		case int:
			v = item(v, step)
		}
	}
	return v
}

// fields converts a dotted path.
func fields(path string) (out []any) {
	for f := range strings.SplitSeq(path, ".") {
		out = append(out, f)
	}
	return out
}

// join returns path with more steps, in memory of its own.
func join(path []any, more ...any) []any { return append(path[:len(path):len(path)], more...) }

// command returns the command that deletes an object.
func command(v yaml.Value, flags string) string {
	_, kind, namespace, name := identity(v)
	line := "kubectl"
	if namespace != "" {
		line += " -n " + diag.ShellWord(namespace)
	}
	return line + " delete " + diag.ShellWord(strings.ToLower(kind)) + " " + diag.ShellWord(name) + flags
}
