package lint

import (
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A selection is a kind of object with a selector for the labels of pods.
type selection struct {
	path  []string // of the labels
	empty bool     // an empty selector matches all pods
}

// selections are the built-in kinds that select pods, without those that have the pods' template.
var selections = map[string]selection{
	"Service":             {path: []string{"spec", "selector"}},
	"PodDisruptionBudget": {path: []string{"spec", "selector", "matchLabels"}},
}

// selectors reports objects whose selector matches no pod of the root although it matched one in
// the files, and labels that were added to selectors of the peers of a NetworkPolicy.
func selectors(list *krm.List, warn diag.Warn) {
	var p *pods
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
			p = podsIn(list)
		}
		if policy {
			p.peers(r, before, warn)
			continue
		}
		labels := r.Value().At(s.path...)
		if labels.Len() == 0 || p.now.match(labels) != nil {
			continue
		}
		if of := p.before.match(before.At(s.path...)); of != nil {
			p.unmatched(r, s, labels, of, warn)
		}
	}
}

// pods are the pods of a root, in its files and in its result.
type pods struct{ before, now index }

// An index finds pods by their labels.
type index map[[2]string][]pod

// A pod is an object with the labels of pods.
type pod struct {
	of     *krm.Resource
	labels yaml.Value
}

func podsIn(list *krm.List) *pods {
	p := &pods{index{}, index{}}
	for _, r := range list.All() {
		p.now.add(r, podLabels(r.Value()))
		if before, ok := r.Original(); ok {
			p.before.add(r, podLabels(before))
		}
	}
	return p
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
		x[key] = append(x[key], pod{r, labels})
	}
}

// match returns an object whose pods have all labels, nil if there is none or no label is given.
func (x index) match(labels yaml.Value) *krm.Resource {
	var rarest []pod
	for i, l := range labels.Fields() {
		if found := x[[2]string{l.Key, l.Value.Text()}]; i == 0 || len(found) < len(rarest) {
			rarest = found
		}
	}
	for _, p := range rarest {
		if len(missing(labels, p.labels)) == 0 {
			return p.of
		}
	}
	return nil
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

// unmatched reports r, whose selector matched the pods of an object in the files.
func (p *pods) unmatched(r *krm.Resource, s selection, labels yaml.Value, of *krm.Resource, warn diag.Warn) {
	path := make([]any, len(s.path))
	for i, key := range s.path {
		path[i] = key
	}
	text := fmt.Sprintf("selects no pod of this root any more; in its file it selects the pods of %s %s", of.ID().Kind, of.OrigID().Name)
	var hints []string
	for _, l := range missing(labels, podLabels(of.Value())) {
		got := "do not have the label"
		if v := podLabels(of.Value()).Get(l.Key); v.Exists() {
			got = "have " + v.Text()
		}
		hints = append(hints, fmt.Sprintf("the selector asks for %s: %s; the pods %s", l.Key, l.Value.Text(), got))
	}
	hints = append(hints, "give the label to both in one kustomization, or to neither")
	at(r, warn, diag.SelectorUnmatched, path, text, hints...)
}

// peers reports labels that were added to the selectors of the peers of a NetworkPolicy if these
// matched no pod of the root before.
func (p *pods) peers(r *krm.Resource, before yaml.Value, warn diag.Warn) {
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
