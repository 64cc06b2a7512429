package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// Newest returns the newest known version of Kubernetes, in a form accepted by [ParseVersion].
func Newest() string { return version(openapi.Newest) }

// Oldest returns the oldest version of Kubernetes for which objects can be validated.
func Oldest() string { return version(oldest) }

// oldest is later than the first version of the table, so that findings can also describe APIs
// that oldest had already removed.
const oldest = openapi.Oldest + 2

func version(minor int) string { return "1." + strconv.Itoa(minor) }

// ParseVersion returns the minor version in a version of Kubernetes: 31 for 1.31, v1.31 or
// v1.31.4. The empty text and "latest" mean the newest version. Unknown versions are an error.
func ParseVersion(text string) (minor int, err error) {
	if text == "" || text == "latest" {
		return openapi.Newest, nil
	}
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if len(parts) > 1 {
		minor, err = strconv.Atoi(parts[1])
	}
	switch {
	case len(parts) < 2 || err != nil || parts[0] != "1":
		return 0, fmt.Errorf("%q is not a version of Kubernetes such as %s", text, Newest())
	case minor < oldest || minor > openapi.Newest:
		return 0, fmt.Errorf("unknown version %s of Kubernetes: expected %s to %s", version(minor), Oldest(), Newest())
	}
	return minor, nil
}

// served adds a finding if the release does not serve k, or if a newer release removes it.
func (c *checker) served(k openapi.Kind) {
	minor := c.release.minor
	switch {
	case k.To < minor:
		c.path = append(c.path[:0], step{"apiVersion", -1})
		f := c.found(RemovedAPI, yaml.Str(apiVersion(k)), "Kubernetes %s has no %s %s: it was removed in %s", version(minor), apiVersion(k),
			k.Kind, version(k.To+1))
		f.Hints = c.instead(k)
	case k.From > minor:
		c.path = append(c.path[:0], step{"apiVersion", -1})
		f := c.found(RemovedAPI, yaml.Str(apiVersion(k)), "Kubernetes %s has no %s %s yet: it was added in %s", version(minor),
			apiVersion(k), k.Kind, version(k.From))
		f.Hints = c.instead(k)
	case k.To < openapi.Newest:
		instead := c.instead(k)
		if instead == nil {
			break // no replacement exists yet, so the user cannot act
		}
		c.path = append(c.path[:0], step{"apiVersion", -1})
		f := c.found(LaterRemoved, yaml.Str(apiVersion(k)), "Kubernetes %s removes %s %s", version(k.To+1), apiVersion(k), k.Kind)
		f.Warning, f.Hints = true, instead
	}
	c.path = c.path[:0]
}

func apiVersion(k openapi.Kind) string {
	return krm.GVK{Group: k.Group, Version: k.Version}.APIVersion()
}

// instead returns a hint that names the replacement of k in the release, nil if there is none.
func (c *checker) instead(k openapi.Kind) []string {
	var best openapi.Kind
	for o := range openapi.Kinds() {
		if (o.To > k.To || o.To == openapi.Newest) && o != k && o.Kind == k.Kind && o.Namespaced == k.Namespaced &&
			o.From <= c.release.minor && o.To >= c.release.minor && (o.Group == k.Group || succeeds(k.Group, o.Group)) {
			if best.Kind == "" || better(o, best) {
				best = o
			}
		}
	}
	if best.Kind == "" {
		if hint := gone[k.Kind]; hint != "" {
			return []string{hint}
		}
		return nil
	}
	return []string{fmt.Sprintf("use %s, available in %s; its fields may differ", apiVersion(best), version(c.release.minor))}
}

// succeeds reports whether kinds have moved from the group old to group.
func succeeds(old, group string) bool {
	return old == "extensions" && slices.Contains([]string{"apps", "networking.k8s.io", "policy"}, group)
}

// better reports whether a is preferable to b. A version that the newest release still serves is
// better, then a more stable one.
func better(a, b openapi.Kind) bool {
	if (a.To == openapi.Newest) != (b.To == openapi.Newest) {
		return a.To == openapi.Newest
	}
	return strings.Contains(b.Version, "alpha") || strings.Contains(b.Version, "beta") && !strings.Contains(a.Version, "alpha")
}

// gone describes the replacements of removed kinds that have no other version.
var gone = map[string]string{
	"PodSecurityPolicy": "use Pod Security admission instead: label the namespace with pod-security.kubernetes.io/enforce",
	"PodPreset":         "Kubernetes has no replacement for it",
}

// noSuchKind adds a finding about a kind that does not exist in a group of Kubernetes.
func (c *checker) noSuchKind(g krm.GVK) {
	var kinds, versions []string
	group := false
	for k := range openapi.Kinds() {
		if k.Group != g.Group || k.To < c.release.minor || k.From > c.release.minor {
			continue
		}
		group = true
		if k.Version == g.Version {
			kinds = append(kinds, k.Kind)
		}
		if k.Kind == g.Kind {
			versions = append(versions, apiVersion(k))
		}
	}
	if !group {
		return
	}
	c.path = append(c.path[:0], step{"kind", -1})
	f := c.found(UnknownKind, yaml.Str(g.Kind), "Kubernetes %s has no %s", version(c.release.minor), g)
	switch f.Hints = diag.DidYouMean(g.Kind, kinds); {
	case len(versions) > 0:
		f.Hints = []string{"its apiVersion is " + strings.Join(versions, " or ")}
	case f.Hints == nil:
		for k := range openapi.Kinds() {
			if k.Kind == g.Kind && k.From <= c.release.minor && k.To >= c.release.minor {
				f.Hints = []string{"its apiVersion is " + apiVersion(k)}
			}
		}
	}
	c.path = c.path[:0]
}
