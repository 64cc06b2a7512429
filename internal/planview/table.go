package planview

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/terminal"
)

// A row is a line of the table of roots. It shows one root, several similar roots, or all roots
// below a directory.
type row struct {
	parent string
	names  []string // of the roots, relative to parent; empty for all roots below parent

	roots               int
	minLayers, maxLayer int
	resources           int
	known               int // number of roots whose resources are known
	changes             map[string]int

	functions, charts, denied, warnings int
	// mistakes are distinct error texts: an error in a shared layer is counted once.
	mistakes map[string]bool
	folder   Changes
}

func (t *Text) rowOf(r *root) *row {
	x := &row{parent: path.Dir(r.dir), names: []string{path.Base(r.dir)}, roots: 1, minLayers: len(r.layers), maxLayer: len(r.layers),
		changes: r.changes, denied: r.denied(t.p), charts: r.charts(), warnings: r.warnings}
	if len(r.failed) > 0 {
		x.mistakes = map[string]bool{}
		for _, err := range r.failed {
			x.mistakes[err.Error()] = true
		}
	}
	x.functions = len(r.calls) - x.charts
	if r.out != nil {
		x.known, x.resources = 1, r.out.resources()
		if r.out.Changes != nil {
			x.folder = *r.out.Changes
		}
	}
	return x
}

// add adds the figures of y to x.
func (x *row) add(y *row) {
	if x.roots == 0 {
		x.changes, x.mistakes, x.minLayers = map[string]int{}, map[string]bool{}, y.minLayers
	}
	for name, n := range y.changes {
		x.changes[name] += n
	}
	maps.Copy(x.mistakes, y.mistakes)
	x.roots += y.roots
	x.minLayers, x.maxLayer = min(x.minLayers, y.minLayers), max(x.maxLayer, y.maxLayer)
	x.resources, x.known = x.resources+y.resources, x.known+y.known
	x.functions, x.charts, x.denied = x.functions+y.functions, x.charts+y.charts, x.denied+y.denied
	x.warnings += y.warnings
	x.folder.add(&y.folder)
}

// special reports whether the roots have functions, charts or errors, which the user should look
// at.
func (x *row) special() bool { return x.functions+x.charts+len(x.mistakes) > 0 }

// maxNames is the maximum number of names in a row of similar roots.
const maxNames = 5

func (x *row) name() string {
	switch names := x.names; {
	case len(names) == 0:
		return path.Join(x.parent, "…")
	case len(names) == 1:
		return path.Join(x.parent, names[0])
	case len(names) > maxNames:
		return path.Join(x.parent, fmt.Sprintf("{%s,… %d more}", strings.Join(names[:maxNames-1], ","), len(names)-maxNames+1))
	default:
		return path.Join(x.parent, "{"+strings.Join(names, ",")+"}")
	}
}

// cells returns the columns of a row: name, roots, layers, resources.
func (x *row) cells() []string {
	layers := fmt.Sprint(x.maxLayer)
	if x.minLayers != x.maxLayer {
		layers = fmt.Sprintf("%d–%d", x.minLayers, x.maxLayer)
	}
	resources := "?"
	if x.known > 0 {
		resources = fmt.Sprint(x.resources)
	}
	if len(x.mistakes) > 0 && x.maxLayer == 0 {
		layers = "?"
	}
	return []string{clean(x.name()), fmt.Sprint(x.roots), layers, resources}
}

// notes returns the remarks at the end of a row: errors, functions, charts, warnings and changed
// files.
func (x *row) notes(t *Text) string {
	var notes []string
	for _, c := range []struct {
		n     int
		what  string
		color terminal.Color
	}{
		{len(x.mistakes), "mistake", terminal.Red}, {x.denied, "denied function", terminal.Red},
		{x.functions - x.denied, "function", terminal.Green},
		{x.charts, "chart", terminal.Green}, {x.warnings, "warning", terminal.Yellow},
	} {
		if c.n > 0 {
			notes = append(notes, t.paint(c.color, diag.Plural(c.n, c.what)))
		}
	}
	if !x.folder.none() {
		notes = append(notes, x.folder.String())
	}
	return strings.Join(notes, ", ")
}

// Limits on the number of rows keep the table of many roots within a few screens: maxRows for
// ordinary rows and maxSpecialRows for special ones (see [row.special]). The directories at the
// first level with more than one entry always get their own rows if there are at most maxTop.
const (
	maxRows        = 60
	maxSpecialRows = 30
	maxTop         = 150
)

// table writes one row for each root, for each group of similar roots or, if there are too many
// rows, for all roots below a directory.
func (t *Text) table() {
	var ordinary, special []*row
	for _, x := range t.alike() {
		if x.special() {
			special = append(special, x)
		} else {
			ordinary = append(ordinary, x)
		}
	}
	t.rows(fold(ordinary, maxRows), fold(special, maxSpecialRows))
}

// alike returns the rows of the roots. Roots of the same directory share a row if all other
// columns are equal.
func (t *Text) alike() (rows []*row) {
	like := map[string]*row{}
	for _, r := range t.roots {
		x := t.rowOf(r)
		key := strings.Join(append(x.cells()[1:], x.parent, counts(x.changes), x.notes(t)), "\n")
		if same := like[key]; same != nil {
			same.names = append(same.names, x.names...)
			same.add(x)
			continue
		}
		own := &row{}
		own.add(x)
		own.parent, own.names = x.parent, x.names
		like[key] = own
		rows = append(rows, own)
	}
	return rows
}

// rows writes the rows in columns, with an empty line after each group.
func (t *Text) rows(groups ...[]*row) {
	head := []string{"", "roots", "layers", "resources"}
	width := make([]int, len(head))
	measure := func(cells []string) {
		for i, text := range cells {
			width[i] = max(width[i], runes(text))
		}
	}
	measure(head)
	var names []string
	notes := 0
	for _, x := range slices.Concat(groups...) {
		measure(x.cells())
		names = append(names, x.cells()[0])
		notes = max(notes, runes(x.notes(&Text{})))
	}
	maxName := 100
	if t.style.Width > 0 {
		others := width[1] + width[2] + width[3] + 4*len("  ") + notes
		maxName = max(20, min(t.width()/2, t.width()-others))
		names = terminal.Shorten(names, maxName)
	}
	width[0] = min(width[0], maxName)
	line := func(cells []string) string {
		line := cells[0] + pad(width[0]-runes(cells[0]))
		for i := 1; i < len(cells); i++ {
			line += "  " + pad(width[i]-runes(cells[i])) + cells[i]
		}
		return line
	}
	fmt.Fprintln(&t.b, t.paint(terminal.Dim, line(head)+"  changes"))
	for _, rows := range groups {
		for _, x := range rows {
			cells := x.cells()
			cells[0], names = names[0], names[1:]
			l := line(cells)
			fmt.Fprintln(&t.b, strings.TrimRight(l+t.last(x, runes(l)), " "))
		}
		if len(rows) > 0 {
			t.b.WriteByte('\n')
		}
	}
}

// last returns the end of a row: the steps that change its resources, cut to the width of the
// terminal, and the notes.
func (t *Text) last(x *row, before int) string {
	changes, notes := counts(x.changes), x.notes(t)
	if room := t.style.Width - before - 2 - runes(x.notes(&Text{})) - 2; t.style.Width > 0 && runes(changes) > room {
		changes = ""
		if room > 1 {
			changes = string([]rune(counts(x.changes))[:room-1]) + "…"
		}
	}
	if notes != "" && changes != "" {
		notes = "  " + notes
	}
	return "  " + changes + notes
}

func pad(n int) string { return strings.Repeat(" ", max(0, n)) }

// A branch is a directory in the tree of the roots.
type branch struct {
	path string
	rows []*row // of the directory itself
	kids []*branch
	all  int // number of rows, including those below
	open bool
}

// fold reduces rows to at most most lines by replacing directories with one summary row each.
//
// It starts with a single line for the whole tree and repeatedly opens the directory with the
// most rows if its entries still fit. Opening the largest directory first spends the available
// lines where they separate the most roots; a fixed depth would show too little of deep trees
// and too much of wide ones. If the first directory with more than one entry has at most
// [maxTop] entries, all of them get lines of their own.
func fold(rows []*row, most int) []*row {
	if len(rows) == 0 {
		return nil
	}
	top := &branch{path: "."}
	byPath := map[string]*branch{".": top}
	var at func(p string) *branch
	at = func(p string) *branch {
		b := byPath[p]
		if b == nil {
			b = &branch{path: p}
			byPath[p] = b
			up := top
			if dir := path.Dir(p); dir != p {
				up = at(dir)
			}
			up.kids = append(up.kids, b)
		}
		return b
	}
	for _, x := range rows {
		b := at(x.parent)
		b.rows = append(b.rows, x)
	}
	top.count()
	if n := top.spread(); n <= maxTop {
		most = max(most, n)
	}
	lines, closed := 1, []*branch{top}
	for len(closed) > 0 {
		i := 0
		for j, b := range closed {
			if b.all > closed[i].all {
				i = j
			}
		}
		b := closed[i]
		closed = slices.Delete(closed, i, i+1)
		if more := len(b.rows) + len(b.kids) - 1; b.all > 1 && lines+more <= most {
			b.open = true
			lines += more
			closed = append(closed, b.kids...)
		}
	}
	folded := top.lines(nil)
	slices.SortStableFunc(folded, func(a, b *row) int { return slices.Compare(a.key(), b.key()) })
	return folded
}

// key returns the sort key of a row.
func (x *row) key() []string {
	if len(x.names) == 0 {
		return strings.Split(x.parent, "/")
	}
	return strings.Split(path.Join(x.parent, x.names[0]), "/")
}

func (b *branch) count() {
	b.all = len(b.rows)
	for _, kid := range b.kids {
		kid.count()
		b.all += kid.all
	}
}

// spread returns the number of entries of the first directory that does not consist of a single
// subdirectory.
func (b *branch) spread() int {
	for len(b.rows) == 0 && len(b.kids) == 1 {
		b = b.kids[0]
	}
	return len(b.rows) + len(b.kids)
}

// lines appends the rows of an open branch, or one summary row for a closed branch.
func (b *branch) lines(rows []*row) []*row {
	if b.open || b.all == 1 {
		rows = append(rows, b.rows...)
		for _, kid := range b.kids {
			rows = kid.lines(rows)
		}
		return rows
	}
	sum := &row{parent: b.path}
	b.sum(sum)
	return append(rows, sum)
}

func (b *branch) sum(x *row) {
	for _, y := range b.rows {
		x.add(y)
	}
	for _, kid := range b.kids {
		kid.sum(x)
	}
}
