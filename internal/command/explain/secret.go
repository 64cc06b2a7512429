package explain

import (
	"slices"

	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

func isSecret(r *krm.Resource) bool { return r != nil && secret.Is(r.Value()) }

// wasSecret reports whether a resource is a Secret at any of its steps: a patch may turn a
// ConfigMap into a Secret or vice versa. Its values are then hidden at every step.
func wasSecret(steps []history.Step) bool {
	return slices.ContainsFunc(steps, func(s history.Step) bool { return isSecret(s.Before) || isSecret(s.After) })
}

// shown returns the object for display.
func (e explainer) shown(r *krm.Resource) yaml.Value {
	if !e.secret || isSecret(r) {
		return e.hide.Show(r.Value())
	}
	hidden := e.hide.Show(asSecret(r.Value()))
	return r.Value().EditFields(func(f yaml.Field) yaml.Value {
		if f.Key == "kind" || f.Key == "apiVersion" {
			return f.Value
		}
		return hidden.Get(f.Key)
	})
}

// changed returns the changes of a step for display.
func (e explainer) changed(s history.Step) []diff.Edit {
	node := s.After.Schema().For(schema.Kind(s.After.ID().GVK))
	edits := diff.Values(s.Before.Value(), s.After.Value(), node, e.hide)
	if !e.secret {
		return edits
	}
	edits = slices.DeleteFunc(edits, func(x diff.Edit) bool { return !isType(x) })
	return append(edits, slices.DeleteFunc(diff.Values(asSecret(s.Before.Value()), asSecret(s.After.Value()), node, e.hide), isType)...)
}

// isType reports whether an edit changes the kind or apiVersion of an object.
func isType(x diff.Edit) bool {
	return len(x.Path) == 1 && (x.Path[0].Field == "kind" || x.Path[0].Field == "apiVersion")
}

// asSecret returns a copy of an object with the type of a Secret.
func asSecret(v yaml.Value) yaml.Value {
	return v.EditFields(func(f yaml.Field) yaml.Value {
		switch f.Key {
		case "kind":
			return yaml.Str("Secret")
		case "apiVersion":
			return yaml.Str("v1")
		}
		return f.Value
	})
}
