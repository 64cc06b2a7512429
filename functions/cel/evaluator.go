package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An evaluator evaluates the groups of a list. It compiles each definition and policy once, and
// evaluates an object once for each definition and binding.
type evaluator struct {
	list        *resourceList
	definitions map[int]*definition
	policies    map[int]*policy
	found       map[evaluated][]violation
	results     []result
	current     int              // the group
	checked     map[*version]int // the number of the group that reported its mistakes, from 1
}

// evaluated has the indexes of an object, of its old state and of its definition. old is noItem for
// a new object.
type evaluated struct{ object, old, definition int }

const noItem = -1

func newEvaluator(list *resourceList) *evaluator {
	return &evaluator{list: list, definitions: map[int]*definition{}, policies: map[int]*policy{}, found: map[evaluated][]violation{},
		checked: map[*version]int{}}
}

// group evaluates the objects of a group.
func (e *evaluator) group(g group) {
	kinds := map[schema.GroupKind][]int{}
	for _, i := range g.Context {
		if u := &e.list.Items[i]; isDefinition(u) {
			if d := e.definition(i); d != nil {
				gk := schema.GroupKind{Group: d.group, Kind: d.kind}
				kinds[gk] = append(kinds[gk], i)
			}
		}
	}
	cluster := e.cluster(g, kinds)
	for _, i := range g.Objects {
		gvk := e.list.Items[i].GroupVersionKind()
		old, isUpdate := g.Old[i]
		if !isUpdate {
			old = noItem
		}
		e.object(i, old, gvk.Version, kinds[gvk.GroupKind()])
		if !isUpdate {
			cluster.admit(i)
		}
	}
	cluster.end()
}

// definition returns the definition of an item. It returns nil for a definition that cannot be
// read.
func (e *evaluator) definition(i int) *definition {
	d, ok := e.definitions[i]
	if !ok {
		d = newDefinition(&e.list.Items[i])
		e.definitions[i] = d
	}
	if d.err != nil {
		e.add(i, result{Severity: severityInfo, Message: fmt.Sprintf("the rules were not evaluated: %v", d.err)}, "")
		return nil
	}
	return d
}

// version returns a version of a definition, or nil if there is none. Once for each group, it
// reports rules that an API server refuses.
func (e *evaluator) version(i int, name string) *version {
	v := e.definitions[i].of(name)
	if v == nil || e.checked[v] == e.current+1 {
		return v
	}
	e.checked[v] = e.current + 1
	if v.err != nil {
		e.add(i, result{Severity: severityInfo, Message: fmt.Sprintf("the rules were not evaluated: %v", v.err)}, v.path)
	}
	for _, m := range v.mistakes {
		e.add(i, result{Severity: severityError, Message: "an API server refuses the rule: " + m.message, Field: fieldOf(m.path)}, m.path)
	}
	return v
}

// object evaluates the rules of the definitions of an object: for the update of the item old, or
// for creation if old is noItem. If there are several definitions, because several clusters have
// their own, one that accepts the object is sufficient.
func (e *evaluator) object(i, old int, version string, definitions []int) {
	var before *unstructured.Unstructured
	if old != noItem {
		before = &e.list.Items[old]
	}
	var first []violation
	for _, at := range definitions {
		v := e.version(at, version)
		if v == nil {
			continue
		}
		key := evaluated{i, old, at}
		found, ok := e.found[key]
		if !ok {
			found = v.evaluate(&e.list.Items[i], before)
			e.found[key] = found
		}
		if len(found) == 0 {
			return
		}
		if first == nil {
			first = found
		}
	}
	for _, x := range first {
		e.add(i, result{Severity: severityError, Message: x.message, Field: fieldOf(x.path), Tags: tags(x.rule, x.fields)}, x.path)
	}
}

// tags returns the tags of a violated rule: its text, and the fields that it reads as JSON.
func tags(rule string, fields [][]any) map[string]string {
	const most = 16
	t := map[string]string{}
	if rule != "" {
		t["rule"] = rule
	}
	if len(fields) > most {
		fields = fields[len(fields)-most:]
	}
	if len(fields) > 0 {
		text, _ := json.Marshal(fields)
		t["fields"] = string(text)
	}
	return t
}

// add adds a result about the field at path of an item.
func (e *evaluator) add(i int, r result, path string) {
	r.ResourceRef = refOf(&e.list.Items[i])
	if e.list.config.Spec.Groups != nil {
		if r.Tags == nil {
			r.Tags = map[string]string{}
		}
		r.Tags["group"], r.Tags["item"] = strconv.Itoa(e.current), strconv.Itoa(i)
		r.Tags["path"] = pathText(pathIn(e.list.Items[i].Object, path))
	}
	e.results = append(e.results, r)
}

// pathIn returns the steps of a path such as spec.list[0].map[a.b] in an object.
func pathIn(v any, text string) []any {
	path := []any{}
	step := func(key string) {
		if list, ok := v.([]any); ok {
			if i, err := strconv.Atoi(key); err == nil {
				path, v = append(path, i), nil
				if i < len(list) {
					v = list[i]
				}
				return
			}
		}
		m, _ := v.(map[string]any)
		path, v = append(path, key), m[key]
	}
	for text != "" {
		if inside, ok := strings.CutPrefix(text, "["); ok {
			key, rest, _ := strings.Cut(inside, "]")
			step(key)
			text = strings.TrimPrefix(rest, ".")
			continue
		}
		n := strings.IndexAny(text, ".[")
		if n < 0 {
			n = len(text)
		}
		step(text[:n])
		text = strings.TrimPrefix(text[n:], ".")
	}
	return path
}

func pathText(path []any) string {
	text, _ := json.Marshal(path)
	return string(text)
}
