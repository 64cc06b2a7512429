package lint

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A selection is a kind of object with a selector for the labels of pods or of Services.
type selection struct {
	path []string // of the labels
	what string
}

// selections are kinds that select pods or Services of the same root, without the kinds that have
// the template of the pods.
var selections = map[string]selection{
	"Service":             {[]string{"spec", "selector"}, "pod"},
	"PodDisruptionBudget": {[]string{"spec", "selector", "matchLabels"}, "pod"},
	"PodMonitor":          {[]string{"spec", "selector", "matchLabels"}, "pod"},
	"ServiceMonitor":      {[]string{"spec", "selector", "matchLabels"}, "Service"},
}

// selectors reports objects whose selector matches nothing in the root although it did in the
// files, and labels that were added to selectors of the peers of a NetworkPolicy.
func selectors(list *krm.List, warn diag.Warn) {
	var p, services *labelled
	matching := map[string]bool{} // selectors that match something, by kind and labels
	for _, r := range list.All() {
		s, ok := selections[r.ID().Kind]
		policy := r.ID().Kind == "NetworkPolicy"
		if !ok && !policy {
			continue
		}
		before, known := r.Original()
		if !known {
			continue
		}
		if p == nil {
			p, services = indexOf(list, podLabels), indexOf(list, serviceLabels)
		}
		if policy {
			p.peers(r, before, warn)
			continue
		}
		labels := r.Value().At(s.path...)
		all := p
		if s.what == "Service" {
			all = services
		}
		if labels.Len() == 0 || len(all.before) == 0 {
			continue
		}
		key := s.what + keyOf(labels)
		matches, done := matching[key]
		if !done {
			matches = all.now.match(labels) != nil
			matching[key] = matches
		}
		if matches {
			continue
		}
		if of := all.before.match(before.At(s.path...)); of != nil {
			unmatched(r, s, labels, of, warn)
		}
	}
}

// labelled are objects of a root by their labels or those of their pods, in its files and in its
// result.
type labelled struct{ before, now index }

// An index finds objects by labels.
type index map[[2]string][]owner

// An owner is an object that has labels, or whose pods have them.
type owner struct {
	*krm.Resource
	labels yaml.Value
}

func indexOf(list *krm.List, labels func(object yaml.Value) yaml.Value) *labelled {
	x := &labelled{index{}, index{}}
	for _, r := range list.All() {
		x.now.add(r, labels(r.Value()))
		if before, ok := r.Original(); ok {
			x.before.add(r, labels(before))
		}
	}
	return x
}

// serviceLabels returns the labels of a Service, None for other objects.
func serviceLabels(v yaml.Value) yaml.Value {
	if v.Get("kind").Text() != "Service" {
		return yaml.Value{}
	}
	return v.At("metadata", "labels")
}

// podLabels returns the labels of the pods of an object.
func podLabels(v yaml.Value) yaml.Value {
	switch v.Get("kind").Text() {
	case "Pod":
		return v.At("metadata", "labels")
	case "CronJob":
		return v.At("spec", "jobTemplate", "spec", "template", "metadata", "labels")
	}
	return v.At("spec", "template", "metadata", "labels")
}

func (x index) add(r *krm.Resource, labels yaml.Value) {
	for _, l := range labels.Fields() {
		key := [2]string{l.Key, l.Value.Text()}
		x[key] = append(x[key], owner{r, labels})
	}
}

// match returns an object with all labels, nil if there is none or no label is given.
func (x index) match(labels yaml.Value) *krm.Resource {
	var rarest []owner
	for i, l := range labels.Fields() {
		if found := x[[2]string{l.Key, l.Value.Text()}]; i == 0 || len(found) < len(rarest) {
			rarest = found
		}
	}
	for _, p := range rarest {
		if len(missing(labels, p.labels)) == 0 {
			return p.Resource
		}
	}
	return nil
}

// keyOf returns a text that is equal for equal labels.
func keyOf(labels yaml.Value) string {
	var b strings.Builder
	for _, l := range labels.Fields() {
		b.WriteString("\x00" + l.Key + "\x00" + l.Value.Text())
	}
	return b.String()
}

// missing returns the entries of labels that other does not have.
func missing(labels, other yaml.Value) (fields []yaml.Field) {
	for _, l := range labels.Fields() {
		if v := other.Get(l.Key); !v.Exists() || v.Text() != l.Value.Text() {
			fields = append(fields, l)
		}
	}
	return fields
}

// unmatched reports r, whose selector matched the object of in the files.
func unmatched(r *krm.Resource, s selection, labels yaml.Value, of *krm.Resource, warn diag.Warn) {
	path := make([]any, len(s.path))
	for i, key := range s.path {
		path[i] = key
	}
	has, who := podLabels(of.Value()), fmt.Sprintf("the pods of %s %s", of.ID().Kind, of.OrigID().Name)
	if s.what == "Service" {
		has, who = serviceLabels(of.Value()), "Service "+of.OrigID().Name
	}
	var hints []string
	for _, l := range missing(labels, has) {
		got := "none"
		if v := has.Get(l.Key); v.Exists() {
			got = v.Text()
		}
		hints = append(hints, fmt.Sprintf("the selector asks for %s: %s; found: %s", l.Key, l.Value.Text(), got))
	}
	hints = append(hints, "give the label to both in one kustomization, or to neither")
	at(r, warn, diag.SelectorUnmatched, path, fmt.Sprintf("selects no %s of this root any more; in its file it selects %s", s.what, who), hints...)
}

// peers reports labels that were added to the selectors of the peers of a NetworkPolicy if these
// matched no pod of the root before.
func (p *labelled) peers(r *krm.Resource, before yaml.Value, warn diag.Warn) {
	for _, side := range [][2]string{{"ingress", "from"}, {"egress", "to"}} {
		old := before.At("spec", side[0]).Items()
		for i, rule := range r.Value().At("spec", side[0]).Items() {
			if i >= len(old) {
				break
			}
			oldPeers := old[i].Get(side[1]).Items()
			for j, peer := range rule.Get(side[1]).Items() {
				if j >= len(oldPeers) {
					break
				}
				labels, was := peer.At("podSelector", "matchLabels"), oldPeers[j].At("podSelector", "matchLabels")
				added := missing(labels, was)
				if was.Len() == 0 || len(added) == 0 || len(missing(was, labels)) > 0 || p.before.match(was) != nil {
					continue
				}
				at(r, warn, diag.PeerSelector, []any{"spec", side[0], i, side[1], j, "podSelector", "matchLabels"},
					fmt.Sprintf("the label %s: %s was added to the selector of a peer, whose pods are not in this root",
						added[0].Key, added[0].Value.Text()),
					"use labels with fields, or with includeTemplates, instead of commonLabels or includeSelectors")
			}
		}
	}
}
