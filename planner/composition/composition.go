// Package composition turns the file of a Composition into the consolidated list of its items, as data: imports are worked in, overrides
// applied, and the order is the final one. It knows what an item says and where that stands, and plans nothing.
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

// A Reader reads the files that Compositions are made of, as [loaders.Local] does, and is told who reads what.
type Reader interface {
	Sub(dir *loaders.Dir, path string) (*loaders.Dir, error)
	IsDir(dir *loaders.Dir, path string) bool
	Read(dir *loaders.Dir, path string) (*yaml.Source, error)
	ReadUpTo(limit int64, dir *loaders.Dir, path string) (*yaml.Source, error)

	// Reads says that the Composition in a file reads another file, or this one itself.
	Reads(composition, file string)
	// Refers says that the field at path of a Composition refers to another Composition, by its file.
	Refers(composition *yaml.Source, path []any, other string)
}

// A List is a consolidated Composition: what it and everything that it imports come to. It must not be changed.
type List struct {
	// Items are in the final order.
	Items []*Item
	// Catalogs are those that it and its imports list, each once.
	Catalogs []catalog.Listed
	// Failed is true if there were mistakes. What the items are is then not known.
	Failed bool

	dir, file string // as messages show them
	// imports are what was imported, and importedBy the entries that did.
	imports    []*List
	importedBy []importRef
	// places says what each item is planned as, once somebody has asked.
	places []Place
	names  []string // what searched returns
	// namesakes counts the items of each kind and name.
	namesakes map[string]int
	errs      diag.Mistakes
}

// A Set consolidates Compositions, each once. It is not safe for concurrent use.
type Set struct {
	files        Reader
	unrestricted bool
	lists        map[loaders.DirKey]*List
}

// NewSet returns an empty Set. With unrestricted, overrides may name files outside the directory of their Composition.
func NewSet(files Reader, unrestricted bool) *Set {
	return &Set{files, unrestricted, map[loaders.DirKey]*List{}}
}

// Dirs returns the directories of the Compositions, as absolute paths in no order.
func (s *Set) Dirs() (dirs []string) {
	for dir := range s.lists {
		dirs = append(dirs, dir.Real)
	}
	return dirs
}

// Consolidate returns what the Composition in the file src of dir comes to; kinds is the schema by which overrides are merged. Mistakes
// are reported, once for each root.
func (s *Set) Consolidate(dir *loaders.Dir, src *yaml.Source, kinds *schema.Schema, r *report.Reporter) *List {
	return (&builder{Set: s, Reporter: r, kinds: kinds}).list(dir, src)
}

// builder consolidates a Composition, and what it imports.
type builder struct {
	*Set
	*report.Reporter
	kinds *schema.Schema
	// importing are the directories of the Compositions that are being consolidated, each imported by the one before it.
	importing []*loaders.Dir
}

// list consolidates the Composition in dir (CI-05, CI-06). Nothing is planned before all of it is known (CE-03).
func (b *builder) list(dir *loaders.Dir, src *yaml.Source) *List {
	if l := b.lists[dir.Key()]; l != nil {
		b.Errs.AddOnce(l.errs)
		return l
	}
	b.importing = append(b.importing, dir)
	defer func() { b.importing = b.importing[:len(b.importing)-1] }()
	before := b.Errs.Len()
	b.files.Reads(src.File, src.File)
	f := b.readFile(dir, src)
	dir.Close() // imports may be deep
	l := &List{dir: dir.Name, file: src.File, Catalogs: f.catalogs}
	front, back, complete := b.imported(l, f)
	// What is missing because of a mistake is not to be reported as another one.
	if complete = complete && !f.failed; complete {
		front, back = b.override(l, f, front, back)
		l.Items = slices.Concat(front, f.own, back)
		b.unique(l, l.Items)
		if b.Errs.Len() == before {
			l.Items = b.reorder(f, l.Items)
		}
	}
	l.Failed = b.Errs.Len() > before || !complete
	l.errs = b.Errs.Since(before)
	b.lists[dir.Key()] = l
	return l
}

// imported adds to l what f imports, and returns the items that come before and behind its own. complete is false if there are mistakes
// in imports.
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
		if i.append {
			back = append(back, in.Items...)
		} else {
			front = append(front, in.Items...)
		}
	}
	return front, back, complete
}

// searched names the catalogs in which c looks for its functions, in that order.
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

// absorb takes over the catalogs of an import, each only once: a Composition may be imported on many ways.
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
