package plandoc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/planner"
)

// Drift compares a plan with what [WriteJSON] wrote before and returns what differs in the inputs, functions and
// grants, one line each; none if a run would do the same.
func Drift(p *planner.Plan, before []byte) ([]string, error) {
	var old, now planDoc
	if err := json.Unmarshal(before, &old); err != nil || old.Kind != "Plan" {
		return nil, errors.New("this is no plan: write one with plan -o json")
	}
	if old.APIVersion != Version {
		return nil, fmt.Errorf("the plan has version %q, this krmflow has %s", old.APIVersion, Version)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, p, nil); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b.Bytes(), &now); err != nil {
		return nil, err
	}
	var drift []string
	compare := func(what string, old, now map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(old)) {
			if v, ok := now[k]; !ok {
				drift = append(drift, fmt.Sprintf("%s %s is gone", what, k))
			} else if v != old[k] {
				drift = append(drift, fmt.Sprintf("%s %s differs: planned %s, now %s", what, k, old[k], v))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(now)) {
			if _, ok := old[k]; !ok {
				drift = append(drift, fmt.Sprintf("%s %s is new", what, k))
			}
		}
	}
	compare("file", old.files(), now.files())
	if old.Secrets != now.Secrets {
		drift = append(drift, "what may hold values of Secrets differs: "+now.secretPlaces())
	}
	nodes, functions := now.nodes(), now.functions()
	compare("node", old.nodes(), nodes)
	for _, n := range old.Nodes {
		if _, ok := nodes[n.ID]; ok {
			a, b := n.Function.fields(), functions[n.ID].fields()
			for name := range a {
				b[name] = cmp.Or(b[name], "nothing")
			}
			for name := range b {
				a[name] = cmp.Or(a[name], "nothing")
			}
			compare("node "+n.ID+":", a, b)
		}
	}
	return drift, nil
}

func (d *planDoc) files() map[string]string {
	m := map[string]string{}
	for _, f := range d.Files {
		m[f.Path] = cmp.Or(f.Digest, "one that may hold values of Secrets")
	}
	return m
}

// secretPlaces names the files and configurations that the digest of secrets is about.
func (d *planDoc) secretPlaces() string {
	var names []string
	for _, f := range d.Files {
		if f.Secret {
			names = append(names, f.Path)
		}
	}
	for _, n := range d.Nodes {
		if n.Function != nil && n.Function.Config == "" {
			names = append(names, n.ID)
		}
	}
	if n := len(names) - 10; n > 0 {
		names = append(names[:10], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// nodes returns what each node does, without its function.
func (d *planDoc) nodes() map[string]string {
	m := map[string]string{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Verb + " <- " + strings.Join(n.Inputs, ", ")
		if len(n.After) > 0 {
			m[n.ID] += " after " + strings.Join(n.After, ", ")
		}
		if n.Function == nil {
			m[n.ID] += ": " + n.Summary // what flags change shows there alone
		}
	}
	return m
}

// functions returns the functions by their nodes.
func (d *planDoc) functions() map[string]*functionDoc {
	m := map[string]*functionDoc{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Function
	}
	return m
}

// fields returns what is known about a function, by the names of the JSON form.
func (f *functionDoc) fields() map[string]string {
	m := map[string]string{}
	if f == nil {
		return m
	}
	text, _ := json.Marshal(f) // strings and numbers only
	var values map[string]json.RawMessage
	_ = json.Unmarshal(text, &values)
	for name, value := range values {
		m[name] = string(value)
	}
	delete(m, "cache")   // what is there by now decides about no result, and cacheable says the rest
	delete(m, "denials") // allowed says it, and they are reported themselves
	delete(m, "reason")
	return m
}
