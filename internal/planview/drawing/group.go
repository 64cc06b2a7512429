package drawing

// A Layer is a layer to be grouped by [Group].
type Layer struct {
	Kind string
	Root bool
	// Look is the appearance of the layer apart from its kind. Layers with different looks are not
	// grouped.
	Look string
}

// A Use says that the layer To uses the layer From in a field. Both are indexes in a list of
// layers in topological order: From < To.
type Use struct {
	From, To int
	Field    string
}

// Group groups layers as a folded drawing does, see [Options.Fold]. It returns the indexes of the
// layers in each group, and whether the group is a chain. In a chain, consumers come first. Groups
// are in topological order.
func Group(list []Layer, uses []Use) (groups [][]int, chains []bool) {
	var p parts
	for i, l := range list {
		one := part{names: []string{""}, tips: []string{""}, tally: make([]tally, 1), kind: kindClass(l.Kind), members: []int{i}}
		if l.Root {
			one.roots = 1
		}
		if l.Look != "" {
			one.steps = []line{{text: l.Look, like: l.Look}}
		}
		p.list = append(p.list, one)
	}
	for _, u := range uses {
		p.edges = append(p.edges, edge{from: u.From, to: u.To, ways: []string{wayOf(u.Field)}})
	}
	p.edges = distinct(p.edges)
	for _, one := range p.fold().list {
		groups, chains = append(groups, one.members), append(chains, one.chain)
	}
	return groups, chains
}
