package planview

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/planner"
)

// Drift compares a plan with what [WriteJSON] wrote before and returns what differs in the inputs, functions and
// grants, one line each; none if a run would do the same.
func Drift(p *planner.Plan, before []byte) ([]string, error) {
	old, err := Read(before)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, p, nil); err != nil {
		return nil, err
	}
	now, err := Read(b.Bytes())
	if err != nil {
		return nil, err
	}
	var drift []string
	say := func(what string, old, now map[string]string) {
		for _, c := range compare(old, now) {
			switch c.What {
			case Removed:
				drift = append(drift, fmt.Sprintf("%s %s is gone", what, c.Name))
			case Changed:
				drift = append(drift, fmt.Sprintf("%s %s differs: planned %s, now %s", what, c.Name, old[c.Name], now[c.Name]))
			}
		}
		for _, c := range compare(old, now) {
			if c.What == Added {
				drift = append(drift, fmt.Sprintf("%s %s is new", what, c.Name))
			}
		}
	}
	say("file", old.files(), now.files())
	if old.Secrets != now.Secrets {
		drift = append(drift, "what may hold values of Secrets differs: "+now.secretPlaces())
	}
	nodes, functions := now.nodes(), now.functions()
	say("node", old.nodes(), nodes)
	for _, n := range old.Nodes {
		if _, ok := nodes[n.ID]; ok {
			a, b := n.Function.decided(), functions[n.ID].decided()
			for name := range a {
				b[name] = cmp.Or(b[name], "nothing")
			}
			for name := range b {
				a[name] = cmp.Or(a[name], "nothing")
			}
			say("node "+n.ID+":", a, b)
		}
	}
	return drift, nil
}

func (d *Document) files() map[string]string {
	m := map[string]string{}
	for _, f := range d.Files {
		m[f.Path] = cmp.Or(f.Digest, "one that may hold values of Secrets")
	}
	return m
}

// secretPlaces names the files and configurations that the digest of secrets is about.
func (d *Document) secretPlaces() string {
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
func (d *Document) nodes() map[string]string {
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
func (d *Document) functions() map[string]*Function {
	m := map[string]*Function{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Function
	}
	return m
}

// decided returns the fields that decide about what a run does.
func (f *Function) decided() map[string]string {
	m := f.fields()
	delete(m, "denials") // allowed says it, and they are reported themselves
	delete(m, "reason")
	return m
}

// fields returns what is known about a function, by the names of the JSON form.
func (f *Function) fields() map[string]string {
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
	delete(m, "cache") // what is there by now decides about no result, and cacheable says the rest
	return m
}
