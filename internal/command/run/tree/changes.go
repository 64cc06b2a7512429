package tree

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Changes are what becomes of the files of a [Tree].
type Changes struct {
	// Files are those that change, in the order of their paths.
	Files []Change
	// Removed are the resources that are gone, with the places where they were.
	Removed []Removed
	// Notes are about files that could not be changed in place: they were written anew, and have lost comments.
	Notes []*diag.Error
}

// A Change is what becomes of one file.
type Change struct {
	// Path is relative to the directory, with slashes.
	Path string
	// Old is what the file has, nil if there is none, and New what it will have, nil if it is removed.
	Old, New []byte
	Mode     fs.FileMode // of a file that exists; that of a new one with a Secret, else 0
}

// Removed is a resource that is gone.
type Removed struct {
	ID  krm.ID
	Pos diag.Pos
}

// CheckPath returns an error if a path is none that a function may give to a resource (IM-10): it must stay in the directory, and be that of a file
// that the next run reads.
func CheckPath(p string) error {
	clean := path.Clean(p)
	switch {
	case p == "":
		return diag.Misplaced.Errorf("the path of the file is empty")
	case strings.Contains(p, `\`) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' }):
		return diag.Misplaced.Errorf("%q is no path of a file: it must have slashes, and no special characters", p)
	case path.IsAbs(clean) || !filepath.IsLocal(filepath.FromSlash(clean)):
		return diag.Misplaced.Errorf("%q leaves the directory", p)
	case !CanHold(path.Base(clean)):
		return diag.Misplaced.Errorf("%q is no path of a file that holds resources: these are called *.yaml or *.yml", p)
	}
	for name := range strings.SplitSeq(clean, "/") {
		if strings.HasPrefix(name, ".") {
			return diag.Misplaced.Errorf("%q is hidden: files whose path has a name that begins with a dot are not read", p)
		}
		if len(name) > 255 {
			return diag.Misplaced.Errorf("%.40q... is no path of a file: it has a name of %d bytes, and file systems take 255", p, len(name))
		}
	}
	return nil
}

// edits are the changes of one file.
type edits struct {
	name  string // of the file, as messages show it
	file  *File  // nil for a new one
	stays map[*Object]content
	added []addition
}

// content is what an object holds.
type content struct {
	value    yaml.Value
	comments Comments
}

// Comments are the comments of a resource.
type Comments struct {
	// All are the comments that it has now. Nil stands for those of its file.
	All inplace.Comments
	// Changed are those of them that functions have changed, with empty comments for those that are gone.
	Changed inplace.Comments
}

// An addition is a resource that a file gets.
type addition struct {
	content
	from *Object // the object of another file that it was, nil for a new one
}

// Changes returns what becomes of the files if they are to hold the resources of list, each at the path that its annotations say. Objects whose values
// are the same keep their text, byte for byte; of others changes what differs. comments are those of resources that functions have returned,
// by their origins; others have those of their files. Nothing is written.
func (t *Tree) Changes(list *krm.List, comments map[*krm.Origin]Comments) (*Changes, error) {
	all := map[string]*edits{}
	for _, f := range t.Files {
		all[f.Path] = &edits{name: f.name, file: f, stays: map[*Object]content{}}
	}
	seen := map[*Object]bool{}
	for _, r := range list.All() {
		if err := t.put(all, r, comments[r.Origin], seen); err != nil {
			return nil, err
		}
	}
	c := &Changes{}
	for _, f := range t.Files {
		for _, o := range f.Objects {
			if seen[o] {
				continue
			}
			at := diag.Pos{File: f.name}
			if len(c.Removed) < diag.MaxMistakes {
				at = o.Pos()
			}
			c.Removed = append(c.Removed, Removed{o.ID(), at})
		}
	}
	for p, e := range all {
		if change := e.change(p, c); change != nil {
			c.Files = append(c.Files, *change)
		}
	}
	slices.SortFunc(c.Files, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return c, nil
}

// ID returns the identity of an object.
func (o *Object) ID() krm.ID { return krm.NewResource(o.Value, nil).ID() }

// put notes in which file a resource is.
func (t *Tree) put(all map[string]*edits, r *krm.Resource, comments Comments, seen map[*Object]bool) error {
	o := t.Of(r)
	was, before := yaml.Value{}, ""
	if o != nil {
		was, before = o.Value, o.File.Path
	}
	p := function.MovedPlace(r.Value(), before)
	if err := CheckPath(p); err != nil && p != before {
		return fmt.Errorf("%s: %w", r.ID(), err)
	}
	if p = path.Clean(p); o != nil && o.item >= 0 && p != before {
		return diag.Misplaced.Errorf("%s is an item of a list in %s: it cannot be moved to %s", r.ID(), o.File.name, p)
	}
	now := content{Bare(r.Value(), was), comments}
	if o != nil {
		now.value = Keep(was, now.value)
		switch same := now.value.Same(was); {
		case same && len(comments.Changed) == 0:
			now.comments.All = nil
		case !same && comments.All == nil:
			now.comments.All = o.Comments().Moved(was, now.value)
		}
		seen[o] = true
	}
	if o != nil && p == before {
		all[p].stays[o] = now
		return nil
	}
	if all[p] == nil {
		if t.Exists(p) {
			return diag.ExistsAlready.Errorf("%s would be written to %s, which is there already and holds something else", r.ID(), p)
		}
		all[p] = &edits{name: filepath.Join(t.Dir, filepath.FromSlash(p))}
	}
	all[p].added = append(all[p].added, addition{now, o})
	return nil
}

// change returns what becomes of a file, nil if it stays as it is.
func (e *edits) change(p string, c *Changes) *Change {
	if e.file == nil {
		change := &Change{Path: p, New: e.appended(nil, c)}
		if slices.ContainsFunc(e.added, func(a addition) bool { return secret.In(a.value) }) {
			change.Mode = secret.PrivatePerm
		}
		return change
	}
	text := e.appended(e.edited(c), c)
	if text != nil && bytes.Equal(text, e.file.Data) {
		return nil
	}
	return &Change{Path: p, Old: e.file.Data, New: text, Mode: e.file.Mode}
}

// edited returns the text of a file with what stays in it, nil if that is nothing.
func (e *edits) edited(c *Changes) []byte {
	text := slices.Clone(e.file.head)
	if text == nil {
		text = []byte{}
	}
	held, begins := false, false // begins is whether the next part is the first one now
	for i, p := range e.file.parts {
		now := e.part(p, c)
		if now == nil {
			begins = begins || i == 0
			continue
		}
		if !begins {
			text = append(text, p.separator...)
		}
		text, begins = append(text, now...), false
		held = held || !p.value.IsEmpty()
	}
	if !held {
		return nil
	}
	return text
}

// part returns the text of a part, nil if it goes.
func (e *edits) part(p *part, c *Changes) []byte {
	kept := append([]byte{}, p.text...)
	if p.value.IsEmpty() {
		return kept
	}
	want, changed := p.value, false
	var items []yaml.Value
	var comments []Comments
	for _, o := range p.objects {
		now, stays := e.stays[o]
		changed = changed || !stays || !now.value.Same(o.Value) || now.comments.All != nil
		if stays {
			items, comments = append(items, now.value), append(comments, now.comments)
		}
	}
	switch {
	case !changed:
		return kept
	case len(items) == 0:
		return nil
	case p.list:
		want = want.With("items", yaml.SeqOf(items...))
	default:
		want = items[0]
	}
	return e.file.rewrite(p, want, comments, c)
}

// rewrite returns the text of a part with a different value. comments are those of its objects.
func (f *File) rewrite(p *part, want yaml.Value, comments []Comments, c *Changes) []byte {
	pos := diag.Pos{File: f.name, Line: p.line}
	d, err := inplace.ParseObject(f.name, p.text)
	if err == nil {
		d, err = d.With(want)
	}
	if err != nil {
		at := diag.AsError(err)
		c.Notes = append(c.Notes, diag.Errorf(pos, at.Field, "is written anew: %s", at.Msg).With(diag.NotInPlace))
		return withBreaks(c.encoded(pos, want, comments, p.list), f.eol())
	}
	return c.commented(pos, d, comments, p.list).Text()
}

// commented returns a document with the comments of its objects: itself, or the items if it is a list. pos is its place for messages.
func (c *Changes) commented(pos diag.Pos, d *inplace.Document, comments []Comments, list bool) *inplace.Document {
	have := map[int]inplace.Comments{0: d.Comments()}
	if list {
		have = have[0].Items()
	}
	missing := inplace.Comments{}
	for i, x := range comments {
		of := x.All.Missing(have[i])
		maps.Copy(of, x.Changed)
		if list {
			of = of.InItem(i)
		}
		maps.Copy(missing, of)
	}
	d, left := d.WithComments(missing)
	c.unwritten(pos, left)
	return d
}

// unwritten notes that comments are not written.
func (c *Changes) unwritten(pos diag.Pos, places []inplace.Place) {
	for _, place := range places {
		c.Notes = append(c.Notes, diag.Errorf(pos, "", "the comment %s is not written: there is no line for it", place).With(diag.NotInPlace))
	}
}

// encoded returns the text of a document, with its fields in the order in which the function has written them.
func (c *Changes) encoded(pos diag.Pos, want yaml.Value, comments []Comments, list bool) []byte {
	d, err := inplace.ParseObject("", nil)
	if err == nil {
		d, err = d.With(want)
	}
	if err == nil && d.Value().Equal(want) {
		return c.commented(pos, d, comments, list).Text()
	}
	for i, x := range comments {
		if list {
			x.All = x.All.InItem(i)
		}
		c.unwritten(pos, x.All.Places())
	}
	return yaml.AppendYAML(nil, want)
}

// eol returns the line breaks of a file.
func (f *File) eol() string {
	if i := bytes.IndexByte(f.Data, '\n'); i > 0 && f.Data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func withBreaks(text []byte, eol string) []byte {
	if eol == "\n" {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\n"), []byte(eol))
}

// appended returns text with what is added to a file.
func (e *edits) appended(text []byte, c *Changes) []byte {
	eol := "\n"
	if e.file != nil {
		eol = e.file.eol()
	}
	for _, a := range e.added {
		if len(text) > 0 {
			if text[len(text)-1] != '\n' {
				text = append(text, eol...)
			}
			text = append(text, "---"+eol...)
		}
		var one []byte
		if a.from == nil {
			one = c.encoded(diag.Pos{File: e.name}, a.value, []Comments{a.comments}, false)
		} else { // its text moves with it
			one = a.from.File.rewrite(a.from.part, a.value, []Comments{a.comments}, c)
			one = bytes.ReplaceAll(one, []byte("\r\n"), []byte("\n"))
			if len(one) > 0 && one[len(one)-1] != '\n' {
				one = append(one, '\n')
			}
		}
		text = append(text, withBreaks(one, eol)...)
	}
	return text
}
