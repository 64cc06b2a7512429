package krm

// Named returns the positions of the resources that have or had a name, in order. The result must not be changed.
func (l *List) Named(name string) []int {
	if l.names == nil {
		l.names = make(map[string][]int, len(l.items))
		for i, r := range l.items {
			l.addNames(r, i)
		}
	}
	return l.names[name]
}

func (l *List) addNames(r *Resource, pos int) {
	l.addName(r.id.Name, pos)
	for i := range r.Prev {
		l.addName(r.Prev[i].Name, pos)
	}
}

func (l *List) addName(name string, pos int) {
	if at := l.names[name]; len(at) == 0 || at[len(at)-1] != pos {
		l.names[name] = append(at, pos)
	}
}
