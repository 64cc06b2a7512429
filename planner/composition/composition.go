// Package composition consolidates the file of a Composition into a list of items: imports are
// included, overrides applied, and the items are in their final order. The package processes
// items as data and plans nothing.
package composition

import (
	"slices"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/report"
)

// A Reader reads the files of Compositions, as [loaders.Local] does, and records references.
type Reader interface {
	Sub(dir *loaders.Dir, path string) (*loaders.Dir, error)
	IsDir(dir *loaders.Dir, path string) bool
	Read(dir *loaders.Dir, path string) (*yaml.Source, error)
	ReadUpTo(limit int64, dir *loaders.Dir, path string) (*yaml.Source, error)

	// Reads records that the Composition in a file reads a different file, or its own.
	Reads(composition, file string)
	// Refers records that the field at path of a Composition refers to the Composition in the
	// file other.
	Refers(composition *yaml.Source, path []any, other string)
}

// A List is a consolidated Composition with everything it imports. It must not be modified.
type List struct {
	// Items are in the final order.
	Items []*Item
	// Catalogs are the catalogs listed by the Composition and its imports, without duplicates.
	Catalogs []catalog.Listed
	// Failed is set if there were mistakes. The items are then incomplete.
	Failed bool

	dir, file string // as displayed in messages
	// imports are the imported lists, and importedBy the corresponding entries.
	imports    []*List
	importedBy []importRef
	// places are the results of [Set.Places], computed on demand.
	places    []Place
	names     []string   // the result of searched
	namesakes *namesakes // made on demand
	// seen has the identities of the items until an importing list takes it.
	seen map[ID]bool
	// continued is true if the items of an importing list follow in the same slice.
	continued bool
	errs      diag.Mistakes
}

// A Set consolidates Compositions, each once. It must not be used concurrently.
type Set struct {
	files        Reader
	unrestricted bool
	lists        map[loaders.DirKey]*List
	entered      map[string]bool // real paths of the directories of lists, and of lists under construction
}

// NewSet returns an empty Set. With unrestricted, overrides may name files outside the directory
// of their Composition.
func NewSet(files Reader, unrestricted bool) *Set {
	return &Set{files, unrestricted, map[loaders.DirKey]*List{}, map[string]bool{}}
}

// Dirs returns the absolute paths of the Compositions' directories, in no particular order.
func (s *Set) Dirs() (dirs []string) {
	for dir := range s.lists {
		dirs = append(dirs, dir.Real)
	}
	return dirs
}

// Consolidate returns the consolidated list of the Composition in the file src of dir. Overrides
// are merged by the schema kinds. Mistakes are reported once per root.
func (s *Set) Consolidate(dir *loaders.Dir, src *yaml.Source, kinds *schema.Schema, r *report.Reporter) *List {
	return (&builder{Set: s, Reporter: r, kinds: kinds}).list(dir, src)
}

// A builder consolidates a Composition and its imports.
type builder struct {
	*Set
	*report.Reporter
	kinds *schema.Schema
	// importing are the directories of the Compositions being consolidated. Each is imported by
	// the previous one.
	importing []*loaders.Dir
}

// list consolidates the Composition in dir (CI-05, CI-06). Nothing is planned before the list is
// complete (CE-03).
func (b *builder) list(dir *loaders.Dir, src *yaml.Source) *List {
	if l := b.lists[dir.Key()]; l != nil {
		b.Errs.AddOnce(l.errs)
		return l
	}
	b.entered[dir.Real] = true
	b.importing = append(b.importing, dir)
	defer func() { b.importing = b.importing[:len(b.importing)-1] }()
	known := b.Errs // an error that the root already has is an error of this list as well
	b.Errs = known.Apart()
	b.files.Reads(src.File, src.File)
	f := b.readFile(dir, src)
	dir.Close() // imports may be deeply nested
	l := &List{dir: dir.Name, file: src.File, Catalogs: f.catalogs}
	front, back, complete := b.imported(l, f)
	// Skip checks whose failures would only be consequences of earlier mistakes.
	if complete = complete && !f.failed; complete {
		front, back = b.override(l, f, front, back)
		l.Items = l.joined(front, f.own, back)
		b.uniqueItems(l, f)
		if b.Errs.Len() == 0 {
			l.Items = b.reorder(f, l.Items)
		}
	}
	l.Failed = b.Errs.Len() > 0 || !complete
	l.errs, b.Errs = b.Errs, known
	b.Errs.AddOnce(l.errs)
	b.lists[dir.Key()] = l
	return l
}

// imported adds the imports of f to l, and returns the items that precede and follow its own.
// complete is false if an import has mistakes.
func (b *builder) imported(l *List, f *file) (front, back []*Item, complete bool) {
	complete = true
	for _, i := range f.imports {
		in := b.importItems(f, i)
		if in == nil || in.Failed {
			complete = false
			if in == nil {
				continue
			}
		}
		l.absorb(in)
		l.imports, l.importedBy = append(l.imports, in), append(l.importedBy, i)
		into := &front
		if i.append {
			into = &back
		}
		if *into == nil {
			*into = slices.Clip(in.Items)
		} else {
			*into = append(*into, in.Items...)
		}
	}
	return front, back, complete
}

// joined returns the items of l. A list that only adds items to its import appends to the slice of
// the import, if no other list did. Otherwise each list in a chain of imports would copy all items
// before it.
func (l *List) joined(front, own, back []*Item) []*Item {
	if len(l.imports) == 1 && len(back) == 0 && len(front) > 0 {
		if in := l.imports[0]; !in.continued && len(front) == len(in.Items) && &front[0] == &in.Items[0] {
			in.continued = true
			return append(in.Items, own...)
		}
	}
	return slices.Concat(front, own, back)
}

// searched returns the names of the catalogs of c, in search order for functions.
func (c *List) searched() []string {
	if c.names == nil {
		seen := map[string]bool{}
		for _, ref := range c.Catalogs {
			if name := ref.Key(); !seen[name] {
				seen[name] = true
				c.names = append(c.names, name)
			}
		}
	}
	return c.names
}

// absorb adds the catalogs of an import without duplicates: a Composition may be imported along
// several paths.
func (c *List) absorb(in *List) {
	for _, ref := range in.Catalogs {
		same := func(known catalog.Listed) bool {
			return known.Source == ref.Source && diag.FieldPath(known.Path) == diag.FieldPath(ref.Path)
		}
		if !slices.ContainsFunc(c.Catalogs, same) {
			c.Catalogs = append(c.Catalogs, ref)
		}
	}
}
