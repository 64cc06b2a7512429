package krm

// An index finds the positions of resources in a list by identity.
type index struct {
	first map[ID]int   // the first position
	more  map[ID][]int // the others, in order
}

func newIndex(n int) *index { return &index{first: make(map[ID]int, n)} }

// add adds an identity of the resource at pos, which has no lower position than those before.
func (x *index) add(id ID, pos int) {
	id = id.Key()
	first, ok := x.first[id]
	if !ok {
		x.first[id] = pos
		return
	}
	more := x.more[id]
	if first == pos || len(more) > 0 && more[len(more)-1] == pos {
		return
	}
	if x.more == nil {
		x.more = map[ID][]int{}
	}
	x.more[id] = append(more, pos)
}

// addAll adds the identities that r, at pos, has and had.
func (x *index) addAll(r *Resource, pos int) {
	x.add(r.id, pos)
	for i := range r.Prev {
		x.add(r.PrevID(i), pos)
	}
}

func (x *index) find(id ID) []int {
	id = id.Key()
	first, ok := x.first[id]
	if !ok {
		return nil
	}
	return append([]int{first}, x.more[id]...)
}
