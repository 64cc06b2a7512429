package resourcelist

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/kio/filters"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
)

// An id is what tells resources apart when they are merged.
type id struct{ apiVersion, kind, namespace, name string }

func idOf(n *yaml.RNode) id {
	return id{Text(n, "apiVersion"), Text(n, "kind"), Text(n, "metadata", "namespace"), Text(n, "metadata", "name")}
}

// Merge merges each of items that has the id of an earlier one into that, as a strategic merge
// patch (WR-03). What stays the same keeps its comments. kyaml's MergeFilter is not used: it refuses
// resources without metadata, and loses comments.
func Merge(items []*yaml.RNode) (list []*yaml.RNode, err error) {
	at := map[id]int{}
	for _, item := range items {
		key := idOf(item)
		i, there := at[key]
		if !there {
			at[key] = len(list)
			list = append(list, item)
			continue
		}
		if list[i] == nil {
			list[i] = item // the one before was deleted by a patch
			continue
		}
		if list[i], err = merge(list[i], item); err != nil {
			return nil, diag.Errorf(diag.Pos{}, "", "%s %s: %w", diag.OneLine(key.kind), diag.OneLine(key.name), err).With(diag.CannotMerge)
		}
	}
	return slices.DeleteFunc(list, yaml.IsMissingOrNull), nil
}

// merge returns dest with patch, nil if that deletes it. Fields that the patch has, also those that
// it does not change, lose their comments in a merge, and get them back.
func merge(dest, patch *yaml.RNode) (*yaml.RNode, error) {
	before := dest.Copy()
	merged, err := merge2.Merge(patch, dest, yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
	if err != nil || merged.IsNil() {
		return nil, err
	}
	return merged, comments.CopyComments(before, merged)
}

// Format brings the fields of resources into the order of kyaml's formatter (WR-05).
func Format(items []*yaml.RNode) error {
	_, err := filters.FormatFilter{}.Filter(items)
	return err
}
