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

// Changes are the changes to the files of a [Tree].
type Changes struct {
	// Files are the changed files, in path order.
	Files []Change
	// Removed are the removed resources, with their former positions.
	Removed []Removed
	// Notes list files that could not be edited in place. They were rewritten and lost
	// comments.
	Notes []*diag.Error
}

// A Change is the change of one file.
type Change struct {
	// Path is relative to the directory and slash-separated.
	Path string
	// Old is the current content, nil for a new file. New is the new content, nil for a removed
	// file.
	Old, New []byte
	Mode     fs.FileMode // of the existing file; for a new file nonzero only if it has a Secret
}

// Removed is a removed resource.
type Removed struct {
	ID  krm.ID
	Pos diag.Pos
}

// CheckPath returns an error if a function may not place a resource at p (IM-10): the path must
// stay in the directory, and the next run must read the file.
func CheckPath(p string) error {
	clean := path.Clean(p)
	switch {
	case p == "":
		return diag.Misplaced.Errorf("the path of the file is empty")
	case strings.Contains(p, `\`) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' }):
		return diag.Misplaced.Errorf("%q is not a valid path: use slashes and no control characters", p)
	case path.IsAbs(clean) || !filepath.IsLocal(filepath.FromSlash(clean)):
		return diag.Misplaced.Errorf("%q is outside the directory", p)
	case !CanHold(path.Base(clean)):
		return diag.Misplaced.Errorf("%q is not a path for resources: it must end in .yaml or .yml", p)
	}
	for name := range strings.SplitSeq(clean, "/") {
		if strings.HasPrefix(name, ".") {
			return diag.Misplaced.Errorf("%q is hidden: files and folders whose names begin with a dot are not read", p)
		}
		if len(name) > 255 {
			return diag.Misplaced.Errorf("%.40q... is not a valid path: it has a name of %d bytes, but file systems allow 255",
				p, len(name))
		}
	}
	return nil
}

// edits are the changes of one file.
type edits struct {
	name  string // name of the file for messages
	file  *File  // nil for a new file
	stays map[*Object]content
	added []addition
}

// content is the new content of an object.
type content struct {
	value    yaml.Value
	comments Comments
}

// Comments are the comments of a resource.
type Comments struct {
	// All are the current comments. Nil means the comments in the file.
	All inplace.Comments
	// Changed are the comments that functions changed. A removed comment is empty.
	Changed inplace.Comments
}

// An addition is a resource to be added to a file.
type addition struct {
	content
	from *Object // source of a moved object; nil for a new resource
}

// Changes returns the file changes that are needed so that the files contain the resources of
// list, each at the path in its annotations. It writes nothing. An object with an unchanged
// value keeps its text byte for byte; in other objects only the differences change. comments
// are the comments that functions returned, by origin; other resources have the comments of
// their files.
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

// put assigns a resource to its file.
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
			return diag.ExistsAlready.Errorf("%s would be written to %s, which already exists with different content", r.ID(), p)
		}
		all[p] = &edits{name: filepath.Join(t.Dir, filepath.FromSlash(p))}
	}
	all[p].added = append(all[p].added, addition{now, o})
	return nil
}

// change returns the change of a file, or nil if it is unchanged.
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

// edited returns the text of a file with the remaining objects, or nil if there are none.
func (e *edits) edited(c *Changes) []byte {
	text := slices.Clone(e.file.head)
	if text == nil {
		text = []byte{}
	}
	held, begins := false, false // begins: the next part becomes the first
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

// part returns the new text of a part, or nil if it is removed.
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

// rewrite returns the text of a part with a different value. comments are the comments of its
// objects.
func (f *File) rewrite(p *part, want yaml.Value, comments []Comments, c *Changes) []byte {
	pos := diag.Pos{File: f.name, Line: p.line}
	d, err := inplace.ParseObject(f.name, p.text)
	if err == nil {
		d, err = d.With(want)
	}
	if err != nil {
		at := diag.AsError(err)
		c.Notes = append(c.Notes, diag.Errorf(pos, at.Field, "is rewritten: %s", at.Msg).With(diag.NotInPlace))
		return withBreaks(c.encoded(pos, want, comments, p.list), f.eol())
	}
	return c.commented(pos, d, comments, p.list).Text()
}

// commented returns a document with the comments of its objects: the document itself, or the
// items of a list. pos is its position for messages.
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

// unwritten adds notes for comments that cannot be written.
func (c *Changes) unwritten(pos diag.Pos, places []inplace.Place) {
	for _, place := range places {
		c.Notes = append(c.Notes, diag.Errorf(pos, "", "the comment %s is not written: there is no line for it",
			place).With(diag.NotInPlace))
	}
}

// encoded returns a new document, with the fields in the order of the function's output.
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

// eol returns the line ending of a file.
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

// appended appends the additions of a file to text.
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
		} else { // a moved object keeps its text
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
