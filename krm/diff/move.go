package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Relocation is one change of identity that several resources have in common: a new namespace, a
// new prefix or suffix of the name, or both.
//
// Without moves, a change of one line such as "namespace: shop2" replaces every resource of a root
// by a different one, and hides the few fields that really differ. kustomize has three fields that
// rename many resources at once (namespace, namePrefix, nameSuffix), so moves have the form of
// these fields. They are found by votes: each removed resource votes for every move that would
// turn it into an added resource of the same kind. The move with the most votes wins, pairs its
// resources, and the rest vote again. A move of a single resource is not a pattern: that resource
// stays removed and added.
type Relocation struct {
	// Respaced reports that the namespace changed, from OldNamespace to NewNamespace. Either is
	// empty for resources without a namespace.
	Respaced                   bool
	OldNamespace, NewNamespace string
	// The parts of the name that changed. All are empty if the name is the same.
	OldPrefix, NewPrefix string
	OldSuffix, NewSuffix string
}

// String describes the move: "moved from namespace shop to shop2".
func (m Relocation) String() string {
	var parts []string
	if m.Respaced {
		from, to := "namespace "+m.OldNamespace, m.NewNamespace
		if m.OldNamespace == "" {
			from, to = "no namespace", "namespace "+m.NewNamespace
		}
		parts = append(parts, "moved from "+from+" to "+cmp.Or(to, "no namespace"))
	}
	if m.renames() {
		parts = append(parts, "renamed from "+m.OldPrefix+"*"+m.OldSuffix+" to "+m.NewPrefix+"*"+m.NewSuffix)
	}
	return strings.Join(parts, " and ")
}

func (m Relocation) renames() bool { return m.OldPrefix != m.NewPrefix || m.OldSuffix != m.NewSuffix }

const (
	// leastMoved is the minimum number of resources with the same move. Renamed resources need one
	// more unless nothing else was removed or added, because similar names are common.
	leastMoved = 2
	// maxCompared limits the pairs of resources whose names are compared. Beyond it, only moves to
	// a different namespace are found.
	maxCompared = 1 << 20
	// leastCore is the minimum length of the common part of two names that differ at both ends.
	leastCore = 3
)

// moves pairs resources that have moved. It returns the moves, the index of the move of each
// moved resource by position in the new list, and the effect on fields, nil without moves.
func (m *matching) moves(hide *secret.Set) (moves []Relocation, of map[int]int, effect *moving) {
	of = map[int]int{}
	v := &voting{matching: m, votes: map[Relocation][][2]int{}}
	v.waiting(hide)
	if len(v.old) < leastMoved || len(v.now) < leastMoved {
		return nil, of, nil
	}
	v.spaces()
	v.names()
	for {
		best, pairs := v.winner()
		if len(pairs) == 0 {
			return moves, of, effect
		}
		if effect == nil {
			effect = &moving{names: map[string]string{}}
		}
		for _, p := range pairs {
			m.usedOld[p[0]], m.usedNew[p[1]] = true, true
			m.pairs = append(m.pairs, p)
			of[p[1]] = len(moves)
			effect.add(best, m.before[p[0]].ID(), m.after[p[1]].ID())
		}
		moves = append(moves, v.atSeparator(best, pairs))
	}
}

// voting counts the votes of unpaired resources.
type voting struct {
	*matching
	old, now []int // positions of the candidates
	votes    map[Relocation][][2]int
}

// waiting collects the candidates: unpaired resources whose identity contains no hidden value.
func (v *voting) waiting(hide *secret.Set) {
	collect := func(list []*krm.Resource, used []bool) (open []int) {
		for i, r := range list {
			if id := r.ID(); !used[i] && hide.Name(id.Name) == id.Name && hide.Name(id.Namespace) == id.Namespace {
				open = append(open, i)
			}
		}
		return open
	}
	v.old, v.now = collect(v.before, v.usedOld), collect(v.after, v.usedNew)
}

// stem returns the name without its content hash, which changes for other reasons.
func stem(id krm.ID) string { return cmp.Or(Base(id.Name), id.Name) }

// space returns the namespace of a resource, "" for a cluster-scoped one.
func space(id krm.ID) string {
	if id.Namespace == krm.ClusterScope {
		return ""
	}
	return id.Namespace
}

// isNamespace reports whether a resource is a Namespace.
func isNamespace(id krm.ID) bool { return id.Kind == "Namespace" && id.Group == "" }

// spaces adds the votes of resources with equal names in different namespaces. A Namespace that is
// replaced by another one votes for the same move as the resources in it.
func (v *voting) spaces() {
	at := map[krm.ID][]int{}
	of := func(id krm.ID) krm.ID { return krm.ID{GVK: krm.GVK{Group: id.Group, Kind: id.Kind}, Name: stem(id)} }
	var namespaces []int
	for _, j := range v.now {
		id := v.after[j].ID()
		at[of(id)] = append(at[of(id)], j)
		if isNamespace(id) {
			namespaces = append(namespaces, j)
		}
	}
	for _, i := range v.old {
		id := v.before[i].ID()
		for _, j := range at[of(id)] {
			if was, is := space(id), space(v.after[j].ID()); was != is {
				v.vote(Relocation{Respaced: true, OldNamespace: was, NewNamespace: is}, i, j)
			}
		}
		for _, j := range namespaces {
			if isNamespace(id) {
				v.vote(Relocation{Respaced: true, OldNamespace: id.Name, NewNamespace: v.after[j].ID().Name}, i, j)
			}
		}
	}
}

// names adds the votes of resources with different names.
func (v *voting) names() {
	type kind struct{ group, kind string }
	old, now := map[kind][]int{}, map[kind][]int{}
	add := func(to map[kind][]int, id krm.ID, i int) {
		k := kind{id.Group, id.Kind}
		to[k] = append(to[k], i)
	}
	for _, i := range v.old {
		add(old, v.before[i].ID(), i)
	}
	for _, j := range v.now {
		add(now, v.after[j].ID(), j)
	}
	total := 0
	for k := range old {
		total += len(old[k]) * len(now[k])
	}
	if total > maxCompared {
		return
	}
	for k, list := range old {
		for _, i := range list {
			for _, j := range now[k] {
				v.renamed(i, j)
			}
		}
	}
}

// renamed adds the votes for all forms in which one name can have become the other: a different
// prefix, a different suffix, or both around the longest common part.
func (v *voting) renamed(i, j int) {
	was, is := v.before[i].ID(), v.after[j].ID()
	a, b := stem(was), stem(is)
	if a == b {
		return
	}
	var m Relocation
	if x, y := space(was), space(is); x != y {
		m = Relocation{Respaced: true, OldNamespace: x, NewNamespace: y}
	}
	tail, head := commonSuffix(a, b), commonPrefix(a, b)
	if tail > 0 {
		m := m
		m.OldPrefix, m.NewPrefix = a[:len(a)-tail], b[:len(b)-tail]
		v.vote(m, i, j)
	}
	if head > 0 {
		m := m
		m.OldSuffix, m.NewSuffix = a[head:], b[head:]
		v.vote(m, i, j)
	}
	if x, y, n := commonPart(a, b); n >= leastCore {
		m.OldPrefix, m.NewPrefix, m.OldSuffix, m.NewSuffix = a[:x], b[:y], a[x+n:], b[y+n:]
		if m.OldPrefix != m.NewPrefix && m.OldSuffix != m.NewSuffix {
			v.vote(m, i, j)
		}
	}
}

func (v *voting) vote(m Relocation, i, j int) { v.votes[m] = append(v.votes[m], [2]int{i, j}) }

// winner returns the move that pairs most of the remaining resources, and its pairs. pairs is nil
// if no move has enough.
func (v *voting) winner() (best Relocation, pairs [][2]int) {
	all := slices.SortedFunc(maps.Keys(v.votes), func(a, b Relocation) int {
		if n := cmp.Compare(len(v.votes[b]), len(v.votes[a])); n != 0 {
			return n
		}
		return strings.Compare(a.String(), b.String())
	})
	for _, m := range all {
		if len(v.votes[m]) <= len(pairs) {
			break // sorted by votes: no other move can win
		}
		open := v.open(m)
		if len(open) < leastMoved || m.renames() && len(open) == leastMoved && !v.only(leastMoved) {
			delete(v.votes, m) // votes only decrease
			continue
		}
		if v.votes[m] = open; len(open) > len(pairs) {
			best, pairs = m, open
		}
	}
	return best, pairs
}

// open returns the pairs of a move whose resources are unpaired. Each resource occurs once.
func (v *voting) open(m Relocation) (pairs [][2]int) {
	old, now := map[int]bool{}, map[int]bool{}
	for _, p := range v.votes[m] {
		if i, j := p[0], p[1]; !v.usedOld[i] && !v.usedNew[j] && !old[i] && !now[j] {
			old[i], now[j] = true, true
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// only reports whether at most n candidates of each side are left.
func (v *voting) only(n int) bool {
	left := func(list []int, used []bool) (k int) {
		for _, i := range list {
			if !used[i] {
				k++
			}
		}
		return k
	}
	return left(v.old, v.usedOld) <= n && left(v.now, v.usedNew) <= n
}

// atSeparator extends the changed prefix or suffix of a move to a separator, if all names have one
// there: "dev" and "prod" become "dev-" and "prod-".
func (v *voting) atSeparator(m Relocation, pairs [][2]int) Relocation {
	if !m.renames() {
		return m
	}
	const separators = "-._"
	var first, last byte
	for k, p := range pairs {
		name := stem(v.before[p[0]].ID())
		core := name[len(m.OldPrefix) : len(name)-len(m.OldSuffix)]
		if len(core) < 2 {
			return m
		}
		if k == 0 {
			first, last = core[0], core[len(core)-1]
		}
		if core[0] != first || strings.IndexByte(separators, first) < 0 {
			first = 0
		}
		if core[len(core)-1] != last || strings.IndexByte(separators, last) < 0 {
			last = 0
		}
	}
	if first != 0 && m.OldPrefix != m.NewPrefix {
		m.OldPrefix, m.NewPrefix = m.OldPrefix+string(first), m.NewPrefix+string(first)
	}
	if last != 0 && m.OldSuffix != m.NewSuffix {
		m.OldSuffix, m.NewSuffix = string(last)+m.OldSuffix, string(last)+m.NewSuffix
	}
	return m
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// commonPart returns the positions and the length of the longest common part of two names.
func commonPart(a, b string) (inA, inB, n int) {
	length := make([]int, len(b)+1)
	for i := range len(a) {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] != b[j] {
				length[j+1] = 0
				continue
			}
			if length[j+1] = length[j] + 1; length[j+1] > n {
				n = length[j+1]
				inA, inB = i-n+1, j-n+1
			}
		}
	}
	return inA, inB, n
}

// A moving is the effect of moves on the fields of all resources.
type moving struct {
	names  map[string]string // old to new names of moved resources
	spaces [][2]string       // old and new namespaces
}

// add records the move of a pair.
func (m *moving) add(move Relocation, was, is krm.ID) {
	if was.Name != is.Name && !isNamespace(was) {
		m.names[was.Name] = is.Name
	}
	if s := [2]string{move.OldNamespace, move.NewNamespace}; move.Respaced && !slices.Contains(m.spaces, s) {
		m.spaces = append(m.spaces, s)
	}
}

// explains reports whether an edit is only a consequence of the moves: a new namespace or name, a
// reference to it, or a text in which the old namespace was replaced by the new one.
func (m *moving) explains(e *Edit) bool {
	if m != nil && len(e.Inside) > 0 && !slices.ContainsFunc(e.Inside, func(in Edit) bool { return !in.Moves }) {
		return true
	}
	if m == nil || len(e.Path) == 0 || e.Op == Move || e.Old.Exists() && e.Old.Type() != yaml.String ||
		e.New.Exists() && e.New.Type() != yaml.String {
		return false
	}
	old, now := e.Old.Text(), e.New.Text()
	if to, ok := m.names[old]; ok && to == now && e.Op == Replace {
		return true
	}
	field := e.Path[len(e.Path)-1].Field
	for _, s := range m.spaces {
		switch {
		case field == "namespace" && old == s[0] && now == s[1]:
			return true
		case e.Op == Replace && s[0] != "" && s[1] != "" && replacesWord(old, now, s[0], s[1]):
			return true
		}
	}
	return false
}

// replacesWord reports whether now is old with the word replaced at one or more places. A part of
// a longer word does not count.
func replacesWord(old, now, word, by string) bool {
	starts := func(text string, i int, word string) bool {
		end := i + len(word)
		return strings.HasPrefix(text[i:], word) && (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end]))
	}
	i, j, replaced := 0, 0, false
	for i < len(old) && j < len(now) {
		switch {
		case starts(old, i, word) && starts(now, j, by):
			i, j, replaced = i+len(word), j+len(by), true
		case old[i] == now[j]:
			i, j = i+1, j+1
		default:
			return false
		}
	}
	return replaced && i == len(old) && j == len(now)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// BeforeInPlace returns Before with the edits applied that moves explain: the old object as it
// would be in its new place. What still differs from After are the remaining changes.
func (r *Resource) BeforeInPlace() yaml.Value {
	var moved []Edit
	for _, e := range r.Edits {
		if e.Moves {
			moved = append(moved, e)
		}
	}
	return Apply(r.Before, moved)
}
