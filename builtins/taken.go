package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// takenFrom returns the texts in x that come from values of Secrets, for [krm.Resource.Taken]. x
// is the value that a step reads at path in r, or a part of it. Even if r is not a Secret, an
// earlier step may have copied such texts to it.
func takenFrom(r *krm.Resource, path []pathPart, x yaml.Value) (taken []string) {
	switch {
	case intoSecret(r.Value(), path):
		texts(x, func(text string) { taken = append(taken, text) })
	case x.Type() == yaml.Map || x.Type() == yaml.Seq:
		for v := range secret.Values(x) {
			taken = append(taken, v.Text())
		}
	}
	if len(r.Taken) == 0 {
		return taken
	}
	texts(x, func(text string) {
		for _, t := range r.Taken {
			switch {
			case len(t) < secret.MinTaken && t != text:
			case strings.Contains(text, t):
				taken = append(taken, t)
			case len(text) >= secret.MinTaken && strings.Contains(t, text):
				taken = append(taken, text)
			}
		}
	})
	slices.Sort(taken)
	return slices.Compact(taken)
}

// intoSecret reports whether path leads to a value of a Secret or to a part of one.
func intoSecret(v yaml.Value, path []pathPart) bool {
	for i := range path {
		if (path[i].text == "data" || path[i].text == "stringData") && secret.Is(v) {
			return true
		}
		var err error
		if v, _, err = path[i].lookup(v); err != nil || !v.Exists() {
			return false
		}
	}
	return false
}

// texts calls each for the text of every scalar in v that is not empty.
func texts(v yaml.Value, each func(string)) {
	for _, x := range v.Items() {
		texts(x, each)
	}
	for _, f := range v.Fields() {
		texts(f.Value, each)
	}
	if v.IsScalar() && v.Text() != "" {
		each(v.Text())
	}
}
