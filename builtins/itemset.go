// Follows kyaml/yaml/fns.go, kyaml/yaml/walk/associative_sequence.go.

package builtins

import (
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// This file contains the steps of kustomize's procedure for lists of items with keys. They
// reproduce all of its peculiarities, because [itemMerge] simulates the procedure exactly.

// itemIndex returns the index of the first item whose keys have the given values, -1 if there is
// none.
func itemIndex(items []yaml.Value, keys, values []string) int {
next:
	for i, item := range items {
		if keys[0] == "" {
			if item.SourceText() == values[0] {
				return i
			}
			continue
		}
		if item.Type() != yaml.Map {
			continue
		}
		for j, key := range keys {
			if f := item.Get(key); !f.Exists() || f.SourceText() != values[j] {
				continue next
			}
		}
		return i
	}
	return -1
}

// setItem replaces every item whose keys have the given values by x, or removes them if x is
// None. If no item matches, it appends x. It also drops empty items and, if there are no values,
// all other items.
func setItem(items []yaml.Value, x yaml.Value, keys, values []string) ([]yaml.Value, error) {
	result := make([]yaml.Value, 0, len(items)+1)
	wantsMaps := keys[0] != "" && len(values) > 0 && values[0] != ""
	replaced := false
	for _, item := range items {
		if item.IsNull() || item.Type() == yaml.Map && item.Len() == 0 {
			continue
		}
		if wantsMaps && item.Type() != yaml.Map {
			result = append(result, item)
			continue
		}
		found, err := matches(item, keys, values)
		switch {
		case err != nil:
			return nil, err
		case found:
			replaced = true
			if x.Exists() {
				result = append(result, x)
			}
		case len(values) > 0:
			result = append(result, item)
		}
	}
	if !x.IsNull() && !replaced {
		result = append(result, x)
	}
	return result, nil
}

// matches reports whether the keys of item have the given values. An empty value matches any
// value, and keys without a corresponding value are ignored.
func matches(item yaml.Value, keys, values []string) (bool, error) {
	found := false
	for j, key := range keys {
		if j >= len(values) {
			break
		}
		switch {
		case key == "" && !item.IsScalar():
			return false, diag.PatchTypes.Errorf("found %s in a list of scalars", item.Type().Article())
		case key == "":
			found = item.Text() == values[j]
		case item.Type() != yaml.Map:
			return false, diag.PatchTypes.Errorf("found %s in a list of mappings", item.Type().Article())
		default:
			f := item.Get(key)
			found = f.Exists() && (values[j] == "" || f.SourceText() == values[j])
		}
		if !found {
			return false, nil
		}
	}
	return found, nil
}

// appendItems adds the items of src to dst. Each replaces the items with the same keys, or is
// appended.
func appendItems(dst, src []yaml.Value, keys []string) ([]yaml.Value, error) {
	var err error
	for _, item := range src {
		if keys[0] == "" {
			if dst, err = setItem(dst, item, keys, []string{item.SourceText()}); err != nil {
				return nil, err
			}
			continue
		}
		var values []string
		for _, key := range keys {
			if item.Type() != yaml.Map && !item.IsNull() {
				return nil, fmt.Errorf("found %s in a list of mappings", item.Type().Article())
			}
			if f := item.Get(key); f.Exists() {
				values = append(values, f.SourceText())
			} else {
				dst = append(dst, item)
			}
		}
		// With several keys, the item moves to the end; with one key, it keeps its position.
		if len(keys) > 1 {
			if dst, err = setItem(dst, yaml.Value{}, keys, values); err != nil {
				return nil, err
			}
		}
		if dst, err = setItem(dst, item, keys, values); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
