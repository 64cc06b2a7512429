package resourcelist

import (
	"bytes"
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// An id is what tells resources apart when they are merged.
type id struct{ apiVersion, kind, namespace, name string }

func idOf(n *yaml3.Node) id {
	return id{Text(n, "apiVersion"), Text(n, "kind"), Text(n, "metadata", "namespace"), Text(n, "metadata", "name")}
}

// Merge merges each of items that has the id of an earlier one into that, as a strategic merge patch (WR-03). What stays the same keeps its comments.
func Merge(items []*yaml3.Node) (list []*yaml3.Node, err error) {
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
	return slices.DeleteFunc(list, func(n *yaml3.Node) bool { return n == nil }), nil
}

// merge returns dest with patch, nil if that deletes it.
func merge(dest, patch *yaml3.Node) (*yaml3.Node, error) {
	var text, change bytes.Buffer
	if err := Encode(&text, false, dest); err != nil {
		return nil, err
	}
	if err := Encode(&change, false, patch); err != nil {
		return nil, err
	}
	doc, err := inplace.Parse("the resource of the list", text.Bytes(), nil)
	if err != nil {
		return nil, err
	}
	old, err := (&yaml.Source{File: "the resource of the list", Data: text.Bytes()}).Value()
	if err != nil {
		return nil, err
	}
	v, err := (&yaml.Source{File: "what the command has printed", Data: change.Bytes()}).Value()
	if err != nil {
		return nil, err
	}
	merged, deleted, err := builtins.MergePatch(nil, old, v)
	if err != nil || deleted {
		return nil, err
	}
	out := yaml.AppendYAML(nil, merged)
	if next, err := doc.With(merged); err == nil {
		out = next.Text()
	}
	docs, err := Documents("what was merged", out)
	if err != nil || len(docs) != 1 {
		return nil, err
	}
	return docs[0], nil
}
