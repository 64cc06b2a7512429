package composition

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A way is the import path of an item: the import, and the Compositions between the list and the
// one that declares the item.
type way struct {
	by   importRef
	over []string // their directories, starting with the list's
}

func (w way) String() string { return strings.Join(w.over, " -> ") }

// ways returns the import paths of an item of c, one for each import that contains it.
func (c *List) ways(id ID) (list []way) {
	for i, in := range c.imports {
		if in.has(id) {
			list = append(list, way{c.importedBy[i], append([]string{c.dir}, in.over(id)...)})
		}
	}
	return list
}

// over returns the directories of the Compositions on the import path of an item, starting with
// that of c.
func (c *List) over(id ID) []string {
	for _, in := range c.imports {
		if in.has(id) {
			return append([]string{c.dir}, in.over(id)...)
		}
	}
	return []string{c.dir}
}

func (c *List) has(id ID) bool {
	return slices.ContainsFunc(c.Items, func(it *Item) bool { return it.ID == id })
}

// onTwoWays adds hints to the error about an item that two imports contain: the import paths and
// a fix.
func (c *List) onTwoWays(err *diag.Error, id ID) {
	ways := c.ways(id)
	if len(ways) < 2 {
		return
	}
	first, second := ways[0], ways[1]
	field := func(w way) string { return diag.FieldPath(w.by.at[:2]) }
	err.Hint("%s imports it twice: through %s (%s) and %s (%s)", c.file, first, field(first), second, field(second))
	if len(first.over) > 2 && len(second.over) > 2 {
		err.Hint("import it through one of them, and list the other under transformers: {apiVersion: builtin, kind: %s, paths: [%s]}",
			accumulatorKind, second.by.path)
		return
	}
	if len(first.over) == 2 && len(second.over) > 2 {
		second = first
	}
	err.Hint("remove %s: the other import also includes it", field(second))
}
