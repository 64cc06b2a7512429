package krm

// Named returns the positions of the resources whose current or a previous name is name, in order.
func (l *List) Named(name string) []int {
	if l.names == nil {
		l.names = newIndex(len(l.items))
		for i, r := range l.items {
			l.addNames(r, i)
		}
	}
	return l.names.find(hashName(name), func(i int) bool { return l.items[i].hasName(name) })
}

func (l *List) addNames(r *Resource, pos int) {
	l.names.add(hashName(r.id.Name), pos)
	for i := range r.Prev {
		l.names.add(hashName(r.Prev[i].Name), pos)
	}
}

// hasName reports whether name is the current or a previous name of r.
func (r *Resource) hasName(name string) bool {
	if r.id.Name == name {
		return true
	}
	for i := range r.Prev {
		if r.Prev[i].Name == name {
			return true
		}
	}
	return false
}
