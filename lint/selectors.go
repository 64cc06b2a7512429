package lint

import (
	"fmt"

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
	pods := labelled{list: list, labels: podLabels}
	services := labelled{list: list, labels: serviceLabels}
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
		if policy {
			peers(r, before, &pods, warn)
			continue
		}
		all := &pods
		if s.what == "Service" {
			all = &services
		}
		labels := r.Value().At(s.path...)
		if was := before.At(s.path...); labels.Len() > 0 && !all.result().match(labels) {
			if of := all.files().find(was); of != nil {
				unmatched(r, s, labels, of, warn)
			}
		}
	}
}

// labelled are objects of a root by their labels or the labels of their pods.
type labelled struct {
	list        *krm.List
	labels      func(object yaml.Value) yaml.Value
	before, now *index // made when they are needed
}

// files returns the objects by the labels in their files.
func (l *labelled) files() *index {
	if l.before == nil {
		l.before = &index{}
		for _, r := range l.list.All() {
			if before, ok := r.Original(); ok {
				l.before.add(r, l.labels(before))
			}
		}
	}
	return l.before
}

// result returns the objects by their labels in the result.
func (l *labelled) result() *index {
	if l.now == nil {
		l.now = &index{}
		for _, r := range l.list.All() {
			l.now.add(r, l.labels(r.Value()))
		}
	}
	return l.now
}

// An index finds objects by labels.
type index struct {
	owners  []owner
	first   map[[2]string]chain
	entries []entry
}

// An owner is an object that has labels, or whose pods have them.
type owner struct {
	*krm.Resource
	labels yaml.Value
}

// A chain is the list of the n owners of a label: the entry first, and those that it leads to.
type chain struct{ first, n int32 }

type entry struct{ owner, next int32 }

// maxOwners is the number of owners of a selector's rarest label above which they are not compared.
const maxOwners = 64

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

func (x *index) add(r *krm.Resource, labels yaml.Value) {
	if labels.Len() == 0 {
		return
	}
	if x.first == nil {
		x.first = map[[2]string]chain{}
	}
	x.owners = append(x.owners, owner{r, labels})
	for _, l := range labels.Fields() {
		key := [2]string{l.Key, l.Value.Text()}
		c := x.first[key]
		x.entries = append(x.entries, entry{int32(len(x.owners) - 1), c.first})
		x.first[key] = chain{int32(len(x.entries)), c.n + 1} // an index + 1
	}
}

// rarest returns the owners of the label that the fewest objects have.
func (x *index) rarest(labels yaml.Value) (rarest chain) {
	for i, l := range labels.Fields() {
		if c := x.first[[2]string{l.Key, l.Value.Text()}]; i == 0 || c.n < rarest.n {
			rarest = c
		}
	}
	return rarest
}

// match reports whether an object has all labels. It assumes so if there are more than maxOwners
// candidates.
func (x *index) match(labels yaml.Value) bool {
	return x.rarest(labels).n > maxOwners || x.find(labels) != nil
}

// find returns an object with all labels, nil if there is none, no label is given, or there are
// more than maxOwners candidates.
func (x *index) find(labels yaml.Value) *krm.Resource {
	c := x.rarest(labels)
	if c.n > maxOwners {
		return nil
	}
	for at := c.first; at > 0; at = x.entries[at-1].next {
		if o := x.owners[x.entries[at-1].owner]; hasAll(o.labels, labels) {
			return o.Resource
		}
	}
	return nil
}

// hasAll reports whether labels contain all of wanted.
func hasAll(labels, wanted yaml.Value) bool {
	for _, l := range wanted.Fields() {
		if v := labels.Get(l.Key); !v.Exists() || v.Text() != l.Value.Text() {
			return false
		}
	}
	return true
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
func peers(r *krm.Resource, before yaml.Value, pods *labelled, warn diag.Warn) {
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
				if was.Len() == 0 || len(added) == 0 || len(missing(was, labels)) > 0 || pods.files().find(was) != nil {
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
