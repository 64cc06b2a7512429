package resourcelist

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
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

// merge returns dest with patch, nil if that deletes it.
func merge(dest, patch *yaml.RNode) (*yaml.RNode, error) {
	before, beforeErr := documentOf(dest)
	isHead := dest.YNode().HeadComment != ""
	merged, err := merge2.Merge(patch, dest, yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
	if err != nil || merged.IsNil() {
		return nil, err
	}
	after, afterErr := documentOf(merged)
	if beforeErr != nil || afterErr != nil {
		return merged, nil // its comments cannot be found
	}
	return restored(merged, before, after, isHead)
}

// restored returns merged, whose text is after, with comments of before. isHead is whether the comment
// at the top is that of the resource, and not of its first field. Fields that the patch has, also
// those that it does not change, lose their comments in a merge. kyaml's CopyComments is not used: it
// pairs the items of lists by their indexes, and puts folded texts in quotes.
func restored(merged *yaml.RNode, before, after *inplace.Document, isHead bool) (*yaml.RNode, error) {
	have := after.Comments()
	lost := before.Comments().Moved(before.Value(), after.Value()).Missing(have)
	maps.DeleteFunc(lost, func(p inplace.Place, text string) bool {
		return text == "" || have[p] != "" // the patch has one, which takes precedence
	})
	if len(lost) == 0 {
		return merged, nil
	}
	commented, _ := after.WithComments(lost) // some fields in brackets have no line for one
	docs, err := documents("the merged resource", commented.Text())
	if err != nil || len(docs) != 1 {
		return merged, err
	}
	if top := docs[0].node.YNode(); isHead && top.HeadComment == "" && len(top.Content) > 0 {
		top.HeadComment, top.Content[0].HeadComment = top.Content[0].HeadComment, ""
	}
	return docs[0].node, nil
}

// documentOf returns the text of a resource.
func documentOf(n *yaml.RNode) (*inplace.Document, error) {
	text, err := n.String()
	if err != nil {
		return nil, err
	}
	return inplace.ParseObject("", []byte(text))
}

// Format brings the fields of resources into the order of kyaml's formatter (WR-05).
func Format(items []*yaml.RNode) error {
	_, err := filters.FormatFilter{}.Filter(items)
	return err
}
