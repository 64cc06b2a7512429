package planview

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/planner"
)

// Drift compares a plan with a document that [WriteJSON] wrote earlier. It returns one line for
// each difference in the inputs, functions and grants, and nil if a run would do the same. It
// returns an error if before is not a plan of this version.
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
		drift = append(drift, "content that may hold values of Secrets differs: "+now.secretPlaces())
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
		m[f.Path] = cmp.Or(f.Digest, "a file that may hold values of Secrets")
	}
	return m
}

// secretPlaces returns the files and nodes that the digest of [Document.Secrets] covers, at most
// ten by name.
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

// nodes returns a description of each node without its function, by node ID.
func (d *Document) nodes() map[string]string {
	m := map[string]string{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Verb + " <- " + strings.Join(n.Inputs, ", ")
		if len(n.After) > 0 {
			m[n.ID] += " after " + strings.Join(n.After, ", ")
		}
		if n.Function == nil {
			m[n.ID] += ": " + n.Summary // flags are visible in the summary only
		}
	}
	return m
}

// functions returns the function of each node by node ID; nil for a node without one.
func (d *Document) functions() map[string]*Function {
	m := map[string]*Function{}
	for _, n := range d.Nodes {
		m[n.ID] = n.Function
	}
	return m
}

// decided returns the fields that determine the behavior of a run.
func (f *Function) decided() map[string]string {
	m := f.fields()
	delete(m, "denials") // implied by allowed, and reported separately
	delete(m, "reason")
	return m
}

// fields returns the JSON text of each field of a function by its JSON name. It is safe to call
// on nil.
func (f *Function) fields() map[string]string {
	m := map[string]string{}
	if f == nil {
		return m
	}
	text, _ := json.Marshal(f) // cannot fail: the fields are strings and numbers
	var values map[string]json.RawMessage
	_ = json.Unmarshal(text, &values)
	for name, value := range values {
		m[name] = string(value)
	}
	delete(m, "cache") // the state of the cache does not affect a result; cacheable is compared
	return m
}
