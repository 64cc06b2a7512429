// Follows api/internal/builtins/SortOrderTransformer.go, api/types/sortoptions.go.

package builtins

import (
	"cmp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// SortOptions is the field sortOptions of a Kustomization, the order of the output.
type SortOptions struct {
	// Order is "legacy" (by kind and name) or "fifo" (as loaded).
	Order string `json:"order,omitempty"`
	// LegacySortOptions overrides the first and last kinds of the legacy order.
	LegacySortOptions *LegacySortOptions `json:"legacySortOptions,omitempty"`
}

// LegacySortOptions lists the kinds that come first and last, in that order. All other kinds are
// in between.
type LegacySortOptions struct {
	OrderFirst []string `json:"orderFirst"`
	OrderLast  []string `json:"orderLast"`
}

// LegacyOrder returns kustomize's default options. Namespaces and other prerequisites of objects
// come first, webhooks last.
func LegacyOrder() *SortOptions { return &SortOptions{Order: "legacy"} }

// A SortOrderTransformer sorts resources according to SortOptions. If SortOptions is nil, it
// keeps their order.
type SortOrderTransformer struct {
	SortOptions *SortOptions `json:"sortOptions,omitempty"`
}

// Configure validates the options.
func (s *SortOrderTransformer) Configure(Env) error { return s.SortOptions.Validate() }

// Validate returns an error if o is inconsistent.
func (o *SortOptions) Validate() error {
	switch {
	case o == nil || o.Order == "legacy":
		return nil
	case o.Order == "":
		return advised(notGiven(`order must be legacy or fifo, not ""`),
			"legacy sorts by kind and name, fifo keeps the order in which resources are loaded")
	case o.Order != "fifo":
		return advised(diag.SortOrder.Errorf("order must be legacy or fifo, not %q", o.Order),
			"legacy sorts by kind and name, fifo keeps the order in which resources are loaded")
	case o.LegacySortOptions != nil:
		return advised(diag.SortOrder.Errorf("legacySortOptions is set, but order is fifo"),
			"write order: legacy, or remove legacySortOptions")
	}
	return nil
}

// Transform sorts list. It fails if two resources have the same identity.
func (s *SortOrderTransformer) Transform(list *krm.List, warn Warn) error {
	if s.SortOptions == nil || s.SortOptions.Order != "legacy" {
		return nil
	}
	if err := list.CheckUnique(); err != nil {
		return err
	}
	rank := kindRank
	if o := s.SortOptions.LegacySortOptions; o != nil {
		rank = o.rank()
	}
	order := sortKeys(list, rank)
	if !slices.IsSortedFunc(order, sortKey.compare) {
		slices.SortFunc(order, sortKey.compare)
		rs := make([]*krm.Resource, len(order))
		for i, k := range order {
			rs[i] = k.r
		}
		list.Replace(rs)
	}
	return nil
}

func (o *LegacySortOptions) rank() func(kind string) int {
	ranks := map[string]int{}
	for i, kind := range o.OrderFirst {
		ranks[kind] = i - len(o.OrderFirst)
	}
	for i, kind := range o.OrderLast {
		ranks[kind] = i + 1
	}
	return func(kind string) int { return ranks[kind] }
}

// A sortKey determines the position of a resource.
type sortKey struct {
	kind            int // the rank of its kind
	namespace, name string
	r               *krm.Resource
}

// sortKeys returns the sort keys of the resources in list. It sorts the few kinds first, which
// makes comparisons between thousands of resources cheap.
func sortKeys(list *krm.List, rank func(kind string) int) []sortKey {
	places := map[krm.GVK]int{}
	var kinds []krm.GVK
	for _, r := range list.All() {
		g := sortedKind(r)
		if _, known := places[g]; !known {
			places[g] = 0
			kinds = append(kinds, g)
		}
	}
	slices.SortFunc(kinds, func(a, b krm.GVK) int { return compareKinds(a, b, rank) })
	for i, g := range kinds {
		places[g] = i
	}
	keys := make([]sortKey, list.Len())
	for i, r := range list.All() {
		id := r.ID()
		keys[i] = sortKey{places[sortedKind(r)], cmp.Or(id.Namespace, "~X"), cmp.Or(id.Name, "~N"), r}
	}
	return keys
}

// sortedKind returns the kind of r for sorting. An explicit null as the apiVersion is treated
// like any other version.
func sortedKind(r *krm.Resource) krm.GVK {
	g := r.ID().GVK
	if g.Group == "" && g.Version == "" {
		g.Version = r.Value().Get("apiVersion").SourceText()
	}
	return g
}

// compareKinds compares kinds by rank and then by text. A Namespace without a group comes before
// other Namespaces, and the Namespaces without a group are in descending order.
func compareKinds(a, b krm.GVK, rank func(kind string) int) int {
	if i, j := rank(a.Kind), rank(b.Kind); i != j {
		return cmp.Compare(i, j)
	}
	if a.Kind == "Namespace" && b.Kind == "Namespace" && (a.Group == "" || b.Group == "") {
		a, b = b, a
	}
	return cmp.Compare(sortText(a), sortText(b))
}

func (a sortKey) compare(b sortKey) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	return compareJoined(a.namespace, a.name, b.namespace, b.name)
}

// compareJoined compares the texts namespace|name without joining them in most cases. If one
// namespace is a prefix of the other, the shorter one usually comes last, because a bar is
// greater than letters, digits and hyphens.
func compareJoined(aNamespace, aName, bNamespace, bName string) int {
	if len(aNamespace) == len(bNamespace) {
		return cmp.Or(cmp.Compare(aNamespace, bNamespace), cmp.Compare(aName, bName))
	}
	n := min(len(aNamespace), len(bNamespace))
	if c := cmp.Compare(aNamespace[:n], bNamespace[:n]); c != 0 {
		return c
	}
	return strings.Compare(aNamespace+"|"+aName, bNamespace+"|"+bName)
}
