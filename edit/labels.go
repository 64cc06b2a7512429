package edit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// AddLabelOptions holds the flags of `edit add label` and `edit add annotation`.
type AddLabelOptions struct {
	Force            bool // replace existing values
	WithoutSelector  bool // add to labels instead of commonLabels
	IncludeTemplates bool // of the labels entry
}

// AddLabels returns an edit that adds KEY:VALUE pairs to commonLabels, or to labels if
// WithoutSelector is set.
func AddLabels(args []string, o AddLabelOptions) (Edit, error) {
	if o.IncludeTemplates && !o.WithoutSelector {
		return nil, errors.New("--include-templates requires --without-selector")
	}
	pairs, err := parsePairs(args, "label")
	if err != nil {
		return nil, err
	}
	if o.WithoutSelector {
		return func(k *Kustomization) error { return k.addToLabels(pairs, o) }, nil
	}
	return func(k *Kustomization) error { return k.addPairs("commonLabels", pairs, o.Force) }, nil
}

// AddAnnotations returns an edit that adds KEY:VALUE pairs to commonAnnotations.
func AddAnnotations(args []string, force bool) (Edit, error) {
	pairs, err := parsePairs(args, "annotation")
	if err != nil {
		return nil, err
	}
	return func(k *Kustomization) error { return k.addPairs("commonAnnotations", pairs, force) }, nil
}

// SetLabels returns an edit that sets KEY:VALUE pairs in commonLabels.
func SetLabels(args []string) (Edit, error) {
	pairs, err := parsePairs(args, "label")
	if err != nil {
		return nil, err
	}
	return func(k *Kustomization) error { return k.addPairs("commonLabels", pairs, true) }, nil
}

// annotationKey matches the keys that `edit set annotation` accepts.
// The expression is large, so it is compiled only when it is used.
var annotationKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-zA-Z](([-a-zA-Z0-9.]{0,251})[a-zA-Z0-9])?\/)?[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?$`)
})

// SetAnnotations returns an edit that sets KEY:VALUE pairs in commonAnnotations.
func SetAnnotations(args []string) (Edit, error) {
	pairs, err := parsePairs(args, "annotation")
	if err != nil {
		return nil, err
	}
	for _, f := range pairs {
		if !annotationKey().MatchString(f.Key) {
			return nil, diag.Errorf(diag.Pos{}, "", "%q is not a valid annotation key", f.Key).
				Hint("write letters, digits, '-', '_' and '.', optionally after a DNS name and a slash")
		}
	}
	return func(k *Kustomization) error { return k.addPairs("commonAnnotations", pairs, true) }, nil
}

// parsePairs parses KEY:VALUE arguments. A value may be enclosed in double quotes. A key without
// a colon has the empty value. If a key occurs twice, the last value takes precedence.
func parsePairs(args []string, kind string) ([]yaml.Field, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("no %s is given", kind)
	}
	var pairs []yaml.Field
	for _, arg := range args {
		key, value, found := strings.Cut(arg, ":")
		if found && key == "" {
			return nil, diag.Errorf(diag.Pos{}, "", "%s %q has no key", kind, arg).Hint("the form is KEY:VALUE")
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		pairs = slices.DeleteFunc(pairs, func(f yaml.Field) bool { return f.Key == key })
		pairs = append(pairs, yaml.Field{Key: key, Value: yaml.Str(value)})
	}
	return pairs, nil
}

// addPairs adds pairs to a mapping.
func (k *Kustomization) addPairs(field string, pairs []yaml.Field, force bool) error {
	v, err := withPairs(k.field(field), field, pairs, force)
	if err == nil {
		k.set(field, v)
	}
	return err
}

// withPairs returns a mapping with pairs added. Unlike field names, the keys are case-sensitive.
// It returns an error if a key exists already, unless force is set.
func withPairs(v yaml.Value, field string, pairs []yaml.Field, force bool) (yaml.Value, error) {
	if v.Type() != yaml.Map {
		v = yaml.MapOf()
	}
	for _, f := range pairs {
		old := v.Get(f.Key)
		if old.Exists() && !force {
			return v, mistake(field, "already has %s", f.Key).Hint("add --force to replace its value")
		}
		if !old.Equal(f.Value) {
			v = v.With(f.Key, f.Value)
		}
	}
	return v, nil
}

// addToLabels adds pairs to the first labels entry with the same settings, or to a new entry.
func (k *Kustomization) addToLabels(pairs []yaml.Field, o AddLabelOptions) error {
	entries := slices.Clone(k.items("labels"))
	i := slices.IndexFunc(entries, func(e yaml.Value) bool {
		return !isTrue(get(e, "includeSelectors")) && isTrue(get(e, "includeTemplates")) == o.IncludeTemplates
	})
	if i < 0 {
		fields := []yaml.Field{{Key: "pairs", Value: yaml.MapOf(pairs...)}}
		if o.IncludeTemplates {
			fields = append(fields, yaml.Field{Key: "includeTemplates", Value: yaml.BoolValue(true)})
		}
		k.setItems("labels", append(entries, yaml.MapOf(fields...)))
		return nil
	}
	with, err := withPairs(get(entries[i], "pairs"), "labels", pairs, o.Force)
	if err != nil {
		return err
	}
	entries[i] = put(entries[i], "pairs", with)
	k.setItems("labels", entries)
	return nil
}

// isTrue reports whether a value is the boolean true.
func isTrue(v yaml.Value) bool { return v.Equal(yaml.BoolValue(true)) }

// RemovePairs returns an edit that removes keys from commonLabels or commonAnnotations. The
// single argument is a comma-separated list of keys. Unless ignore is set, the edit fails if a
// key does not exist.
func RemovePairs(field string, args []string, ignore bool) (Edit, error) {
	if len(args) != 1 {
		return nil, errors.New("one argument is needed: the keys, separated by commas")
	}
	keys := strings.Split(args[0], ",")
	if slices.Contains(keys, "") {
		return nil, fmt.Errorf("%q has an empty key", args[0])
	}
	return func(k *Kustomization) error {
		v := k.field(field)
		for _, key := range keys {
			if !v.Get(key).Exists() && !ignore {
				return mistake(field, "has no %s", key)
			}
			v = v.Without(key)
		}
		k.set(field, v)
		return nil
	}, nil
}
