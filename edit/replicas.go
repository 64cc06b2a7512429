package edit

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// SetReplicas returns an edit that sets replicas. Each argument has the form NAME=COUNT.
func SetReplicas(args []string) (Edit, error) {
	if len(args) == 0 {
		return nil, errors.New("no replicas are given")
	}
	var set []yaml.Value
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "=")
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, diag.Errorf(diag.Pos{}, "", "%q has no valid count", arg).Hint("the form is NAME=COUNT, for instance web=3")
		}
		set = slices.DeleteFunc(set, func(o yaml.Value) bool { return nameOf(o) == name })
		set = append(set, yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(name)},
			yaml.Field{Key: "count", Value: yaml.Number(yaml.Int, strconv.FormatInt(count, 10))}))
	}
	return func(k *Kustomization) error {
		k.setItems("replicas", withReplicas(k.items("replicas"), set))
		return nil
	}, nil
}

// withReplicas merges set into the existing replicas entries. Of several entries with the same
// name, the first one is kept. A sorted list stays sorted.
func withReplicas(there, set []yaml.Value) []yaml.Value {
	byName := func(a, b yaml.Value) int { return cmp.Compare(nameOf(a), nameOf(b)) }
	sorted := slices.IsSortedFunc(there, byName)
	var list []yaml.Value
	index := func(in []yaml.Value, v yaml.Value) int {
		return slices.IndexFunc(in, func(o yaml.Value) bool { return nameOf(o) == nameOf(v) })
	}
	for _, r := range there {
		if index(list, r) >= 0 {
			continue
		}
		if i := index(set, r); i >= 0 {
			want, _ := set[i].Get("count").AsInt()
			if got, ok := get(r, "count").AsInt(); !ok || got != want {
				r = put(r, "count", set[i].Get("count"))
			}
		}
		list = append(list, r)
	}
	for _, r := range set {
		if index(list, r) < 0 {
			list = append(list, r)
		}
	}
	if sorted {
		slices.SortStableFunc(list, byName)
	}
	return list
}
