package diff

import (
	"cmp"
	"hash/maphash"
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
	maxCompared = 1 << 16
	// leastCore is the minimum length of the common part of two names that differ at both ends.
	leastCore = 3
)

// compare orders moves: those that keep the name first, then by their fields.
func (m Relocation) compare(n Relocation) int {
	if n.renames() && !m.renames() {
		return -1
	} else if m.renames() && !n.renames() {
		return 1
	}
	return cmp.Or(strings.Compare(m.OldNamespace, n.OldNamespace), strings.Compare(m.NewNamespace, n.NewNamespace),
		strings.Compare(m.OldPrefix, n.OldPrefix), strings.Compare(m.NewPrefix, n.NewPrefix),
		strings.Compare(m.OldSuffix, n.OldSuffix), strings.Compare(m.NewSuffix, n.NewSuffix))
}

// moves pairs resources that have moved. It returns the moves, the index of the move of each
// moved resource by position in the new list, and the effect on fields, nil without moves.
func (m *matching) moves(hide *secret.Set) (moves []Relocation, of map[int]int, effect *moving) {
	of = map[int]int{}
	v := &voting{matching: m}
	v.waiting(hide)
	if len(v.old) < leastMoved || len(v.now) < leastMoved {
		return nil, of, nil
	}
	votes := v.count()
	byCount := make([][]Relocation, min(len(v.old), len(v.now))+1)
	queue := func(move Relocation, pairs [][2]int) {
		if votes[move] = pairs; len(pairs) >= leastMoved {
			byCount[len(pairs)] = append(byCount[len(pairs)], move)
		}
	}
	for move := range votes {
		queue(move, v.open(votes[move]))
	}
	// A move only loses votes, to moves that have more. So each is looked at once for each count.
	for n := len(byCount) - 1; n >= leastMoved; n-- {
		slices.SortFunc(byCount[n], Relocation.compare)
		for _, best := range byCount[n] {
			pairs := v.open(votes[best])
			if len(pairs) < n {
				queue(best, pairs)
				continue
			}
			if best.renames() && n == leastMoved && !v.only(leastMoved) {
				continue
			}
			for _, p := range pairs {
				m.usedOld[p[0]], m.usedNew[p[1]] = true, true
				m.pairs = append(m.pairs, p)
				of[p[1]] = len(moves)
			}
			moves = append(moves, v.atSeparator(best, pairs))
		}
	}
	if len(moves) > 0 {
		effect = m.effect(of, moves)
	}
	return moves, of, effect
}

// voting counts the votes of unpaired resources.
type voting struct {
	*matching
	old, now []int // positions of the candidates
	vote     func(m Relocation, i, j int)
	row      []int // memory of commonPart
}

// count returns the pairs that vote for each move. Most votes for new names are the only one of
// their move: n removed and n added resources with similar names cast 3 n² of them. A first pass
// therefore counts votes by a hash of their move, and only the votes that may be one of several
// are kept in a second pass.
func (v *voting) count() map[Relocation][][2]int {
	var counts [1 << 19]uint8
	seed := maphash.MakeSeed()
	count := func(m Relocation) *uint8 { return &counts[maphash.Comparable(seed, m)%uint64(len(counts))] }
	v.vote = func(m Relocation, _, _ int) {
		if n := count(m); *n < leastMoved {
			*n++
		}
	}
	v.all()
	votes := map[Relocation][][2]int{}
	v.vote = func(m Relocation, i, j int) {
		if *count(m) >= leastMoved {
			votes[m] = append(votes[m], [2]int{i, j})
		}
	}
	v.all()
	return votes
}

// all casts all votes.
func (v *voting) all() {
	v.spaces()
	v.names()
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
	compared := 0
	for _, i := range v.old {
		id := v.before[i].ID()
		same := at[of(id)]
		var others []int
		if isNamespace(id) {
			others = namespaces
		}
		if compared += len(same) + len(others); compared > maxCompared {
			return
		}
		for _, j := range same {
			if was, is := space(id), space(v.after[j].ID()); was != is {
				v.vote(Relocation{Respaced: true, OldNamespace: was, NewNamespace: is}, i, j)
			}
		}
		for _, j := range others {
			v.vote(Relocation{Respaced: true, OldNamespace: id.Name, NewNamespace: v.after[j].ID().Name}, i, j)
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
	if x, y, n := v.commonPart(a, b); n >= leastCore {
		m.OldPrefix, m.NewPrefix, m.OldSuffix, m.NewSuffix = a[:x], b[:y], a[x+n:], b[y+n:]
		if m.OldPrefix != m.NewPrefix && m.OldSuffix != m.NewSuffix {
			v.vote(m, i, j)
		}
	}
}

// open returns those of the pairs whose resources are unpaired. Each resource occurs once.
func (v *voting) open(all [][2]int) (pairs [][2]int) {
	old, now := map[int]bool{}, map[int]bool{}
	for _, p := range all {
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
func (v *voting) commonPart(a, b string) (inA, inB, n int) {
	v.row = append(v.row[:0], make([]int, len(b)+1)...)
	length := v.row
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
	// New names by old names of moved resources, and new namespaces by old ones. A reference does
	// not always tell the kind of its target. So if resources with the same name have different new
	// names, a reference to one of them may be a real change, and it is not explained.
	names, spaces map[string][]string
}

// effect returns the effect of moves.
func (m *matching) effect(of map[int]int, moves []Relocation) *moving {
	e := &moving{names: map[string][]string{}, spaces: map[string][]string{}}
	add := func(to map[string][]string, old, now string) {
		if !slices.Contains(to[old], now) {
			to[old] = append(to[old], now)
		}
	}
	for _, move := range moves {
		if move.Respaced {
			add(e.spaces, move.OldNamespace, move.NewNamespace)
		}
	}
	for _, p := range m.pairs {
		was, is := m.before[p[0]].ID(), m.after[p[1]].ID()
		if _, ok := of[p[1]]; ok && was.Name != is.Name && !isNamespace(was) {
			e.names[was.Name] = nil
		}
	}
	for _, p := range m.pairs {
		old := m.before[p[0]].ID()
		if _, ok := e.names[old.Name]; ok && !isNamespace(old) {
			add(e.names, old.Name, m.after[p[1]].ID().Name)
		}
	}
	return e
}

// only returns the only element of list, and false if it has none or several.
func only(list []string) (string, bool) {
	if len(list) != 1 {
		return "", false
	}
	return list[0], true
}

// explains reports whether an edit is only a consequence of the moves: the new namespace or name of
// a moved resource itself, a reference to it, or the new namespace in the address of a Service.
// Other fields with the same text, such as the tag of an image, may have changed on purpose, so
// they are not explained.
func (d *differ) explains(e *Edit) bool {
	m := d.moves
	switch {
	case m == nil:
		return false
	case len(e.Inside) > 0 && !slices.ContainsFunc(e.Inside, func(in Edit) bool { return !in.Moves }):
		return true
	case len(e.Path) == 0 || e.Op == Move || e.Old.Exists() && e.Old.Type() != yaml.String ||
		e.New.Exists() && e.New.Type() != yaml.String:
		return false
	}
	field := e.Path.field()
	if d.relocated && d.inside == 0 && len(e.Path) == 2 && e.Path[0].Field == "metadata" && (field == "name" || field == "namespace") {
		return true
	}
	old, now := e.Old.Text(), e.New.Text()
	if to, ok := only(m.names[old]); ok && e.Op == Replace && to == now && isReference(field) {
		return true
	}
	if field == "namespace" || field == "kubernetes.io/metadata.name" {
		to, ok := only(m.spaces[old])
		return ok && to == now
	}
	if e.Op != Replace || isImage(field) {
		return false
	}
	for was, list := range m.spaces {
		if to, ok := only(list); ok && was != "" && to != "" && replacesNamespace(old, now, was, to) {
			return true
		}
	}
	return false
}

// field returns the name of the field that a path leads to, also from an item of its list.
func (p Path) field() string {
	for _, s := range slices.Backward(p) {
		if !s.Item {
			return s.Field
		}
	}
	return ""
}

// isReference reports whether a field with this name usually holds the name of a resource: name,
// serviceAccountName, resourceNames.
func isReference(field string) bool {
	field = strings.TrimSuffix(field, "s")
	return field == "name" || strings.HasSuffix(field, "Name")
}

// isImage reports whether a field with this name holds an image or a part of its name.
func isImage(field string) bool {
	return slices.Contains([]string{"image", "newName", "newTag", "tag", "repository", "registry"}, field)
}

// replacesNamespace reports whether now is old with the namespace was replaced by to, at one or
// more places that are in the address of a Service (web.shop.svc, web.shop:8080) or after
// "namespace=".
func replacesNamespace(old, now, was, to string) bool {
	means := func(text string, i int, namespace string) bool {
		rest, ok := strings.CutPrefix(text[i:], namespace)
		ends := func(rest string) bool { return rest == "" || !isWord(rest[0]) && rest[0] != '-' }
		service, inService := strings.CutPrefix(rest, ".svc")
		host := i > 1 && text[i-1] == '.' && isWord(text[i-2])
		return ok && (host && (inService && ends(service) || strings.HasPrefix(rest, ":")) ||
			strings.HasSuffix(text[:i], "namespace=") && ends(rest))
	}
	i, j, replaced := 0, 0, false
	for i < len(old) && j < len(now) {
		switch {
		case means(old, i, was) && means(now, j, to):
			i, j, replaced = i+len(was), j+len(to), true
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
