package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// A resourceList is the input and the output of a KRM function. Numbers of items are int64 or
// float64, as in an API server.
type resourceList struct {
	APIVersion string                      `json:"apiVersion"`
	Kind       string                      `json:"kind"`
	Items      []unstructured.Unstructured `json:"items"`
	Results    []result                    `json:"results,omitempty"`
	config     config
}

// A config is the functionConfig. The items of a group are evaluated together, as if they were the
// content of one cluster. Without groups, all items are one group.
//
// With groups, the list is a question of krmflow validate or diff: the output has no items, and
// each result has tags with the indexes of the group and the item, and with the path of the field
// as JSON.
type config struct {
	Spec struct {
		Groups []group `json:"groups"`
	} `json:"spec"`
}

// A group has the indexes of items. Context are the items that provide rules, parameters and
// namespaces. Objects are the items to evaluate, each as if it were created. An object with an
// entry in Old is evaluated as an update of the item there. Policies are not evaluated for updates.
type group struct {
	Objects []int       `json:"objects"`
	Context []int       `json:"context"`
	Old     map[int]int `json:"old,omitempty"`
}

// A result is a finding about an item.
type result struct {
	Message     string            `json:"message"`
	Severity    string            `json:"severity"`
	ResourceRef *resourceRef      `json:"resourceRef,omitempty"`
	Field       *resultField      `json:"field,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

type resourceRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
}

type resultField struct {
	Path string `json:"path,omitempty"`
}

// The severities of results.
const (
	severityError   = "error"
	severityWarning = "warning"
	severityInfo    = "info"
)

// parseList reads a ResourceList in YAML or JSON.
func parseList(text []byte) (*resourceList, error) {
	data := text
	if !json.Valid(text) {
		var err error
		if data, err = yaml.YAMLToJSON(text); err != nil {
			return nil, fmt.Errorf("cannot read the ResourceList: %w", err)
		}
	}
	var raw struct {
		APIVersion     string           `json:"apiVersion"`
		Kind           string           `json:"kind"`
		Items          []map[string]any `json:"items"`
		FunctionConfig json.RawMessage  `json:"functionConfig"`
	}
	if err := utiljson.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("cannot read the ResourceList: %w", err)
	}
	if raw.Kind != "ResourceList" {
		return nil, fmt.Errorf("expected a ResourceList, found the kind %q", raw.Kind)
	}
	list := &resourceList{APIVersion: raw.APIVersion, Kind: raw.Kind, Items: []unstructured.Unstructured{}}
	for _, item := range raw.Items {
		if err := utiljson.ConvertMapNumbers(item, 0); err != nil {
			return nil, fmt.Errorf("cannot read the ResourceList: %w", err)
		}
		list.Items = append(list.Items, unstructured.Unstructured{Object: item})
	}
	if len(raw.FunctionConfig) > 0 {
		if err := json.Unmarshal(raw.FunctionConfig, &list.config); err != nil {
			return nil, fmt.Errorf("cannot read the functionConfig: %w", err)
		}
	}
	for _, g := range list.config.Spec.Groups {
		for _, indexes := range [][]int{g.Objects, g.Context, slices.Sorted(maps.Values(g.Old))} {
			for _, i := range indexes {
				if i < 0 || i >= len(list.Items) {
					return nil, fmt.Errorf("functionConfig: spec.groups: there is no item %d", i)
				}
			}
		}
	}
	return list, nil
}

// groups returns the groups of the functionConfig, or one group with all items.
func (l *resourceList) groups() []group {
	if l.config.Spec.Groups != nil {
		return l.config.Spec.Groups
	}
	var all group
	for i := range l.Items {
		all.Objects = append(all.Objects, i)
	}
	all.Context = all.Objects
	return []group{all}
}

// MarshalJSON omits the items of a list with groups.
func (l *resourceList) MarshalJSON() ([]byte, error) {
	type plain resourceList
	p := plain(*l)
	if l.config.Spec.Groups != nil {
		p.Items = []unstructured.Unstructured{}
	}
	return json.Marshal(p)
}

// refOf returns the reference to an item.
func refOf(u *unstructured.Unstructured) *resourceRef {
	return &resourceRef{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName(), Namespace: u.GetNamespace()}
}

// fieldOf returns the field of a result, nil for the whole object.
func fieldOf(path string) *resultField {
	if path == "" {
		return nil
	}
	return &resultField{Path: path}
}
