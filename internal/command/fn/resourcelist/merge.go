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

// An id identifies a resource when lists are merged.
type id struct{ apiVersion, kind, namespace, name string }

func idOf(n *yaml.RNode) id {
	return id{Text(n, "apiVersion"), Text(n, "kind"), Text(n, "metadata", "namespace"), Text(n, "metadata", "name")}
}

// Merge merges each item into the earlier item with the same id, as a strategic merge patch
// (WR-03). Unchanged parts keep their comments. It does not use kyaml's MergeFilter, which
// refuses resources without metadata and loses comments.
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
			list[i] = item // a patch deleted the previous item
			continue
		}
		if list[i], err = merge(list[i], item); err != nil {
			return nil, diag.Errorf(diag.Pos{}, "", "%s %s: %w", diag.OneLine(key.kind), diag.OneLine(key.name), err).With(diag.CannotMerge)
		}
	}
	return slices.DeleteFunc(list, yaml.IsMissingOrNull), nil
}

// merge applies patch to dest. The result is nil if the patch deletes the resource.
func merge(dest, patch *yaml.RNode) (*yaml.RNode, error) {
	before, beforeErr := documentOf(dest)
	isHead := dest.YNode().HeadComment != ""
	setNulls(dest.YNode(), "", blankNull)
	merged, err := merge2.Merge(patch, dest, yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend})
	if err != nil || merged.IsNil() {
		return nil, err
	}
	setNulls(merged.YNode(), blankNull, "")
	after, afterErr := documentOf(merged)
	if beforeErr != nil || afterErr != nil {
		return merged, nil // comments cannot be located
	}
	return restored(merged, before, after, isHead)
}

// blankNull replaces the text of a null without text during a merge. kyaml's merge drops such a
// null (`n:`) from every mapping that it visits and keeps one with text (`n: null`). The NUL byte
// cannot be in a YAML file.
const blankNull = "null\x00"

// setNulls replaces the text of the nulls in n whose text is from.
func setNulls(n *yaml.Node, from, to string) {
	null := n.Tag == yaml.NodeTagNull || n.Tag == yaml.NodeTagEmpty // a merge removes the tag of a null that it keeps
	if n.Kind == yaml.ScalarNode && null && n.Value == from && n.Style == 0 {
		n.Tag, n.Value = yaml.NodeTagNull, to
	}
	for _, x := range n.Content {
		setNulls(x, from, to)
	}
}

// restored returns merged, whose text is after, with the comments of before. isHead reports
// whether the comment at the top belongs to the resource and not to its first field. A merge
// loses the comments of all fields in the patch, even of fields that it does not change.
// restored does not use kyaml's CopyComments, which pairs list items by index and quotes folded
// texts.
func restored(merged *yaml.RNode, before, after *inplace.Document, isHead bool) (*yaml.RNode, error) {
	have := after.Comments()
	lost := before.Comments().Moved(before.Value(), after.Value()).Missing(have)
	maps.DeleteFunc(lost, func(p inplace.Place, text string) bool {
		return text == "" || have[p] != "" // a comment of the patch takes precedence
	})
	if len(lost) == 0 {
		return merged, nil
	}
	commented, _ := after.WithComments(lost) // flow style has no room for some comments
	docs, err := documents("the merged resource", commented.Text())
	if err != nil || len(docs) != 1 {
		return merged, err
	}
	if top := docs[0].node.YNode(); isHead && top.HeadComment == "" && len(top.Content) > 0 {
		top.HeadComment, top.Content[0].HeadComment = top.Content[0].HeadComment, ""
	}
	return docs[0].node, nil
}

// documentOf returns a resource as a document.
func documentOf(n *yaml.RNode) (*inplace.Document, error) {
	text, err := n.String()
	if err != nil {
		return nil, err
	}
	return inplace.ParseObject("", []byte(text))
}

// Format sorts the fields of resources in the order of kyaml's formatter (WR-05).
func Format(items []*yaml.RNode) error {
	_, err := filters.FormatFilter{}.Filter(items)
	return err
}
