// Package cause finds the file and line that cause the edits of a comparison. It reports only
// causes that are cheap to find: a changed field in the file of the resource, or the only step of
// the root that changed.
//
// A history of the new side (internal/review/history) would not do. Its last step for a field
// is often the same on both sides, such as an image transformer over a changed base. The cause
// is where the histories of the two sides diverge, and comparing histories needs the lists of
// all steps.
package cause

import (
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Finder finds the causes of the edits of one root.
type Finder struct {
	// New and Old are the files of the two sides by name.
	New, Old map[string]*yaml.Source
	// Steps returns the changed steps of the new side, or all of them without a comparison.
	Steps func() []*graph.Node
	// Compared is true if both sides were planned.
	Compared bool
	// Changed reports whether a file differs. Counterpart returns its name on the old side.
	Changed     func(file string) bool
	Counterpart func(file string) string

	located int
}

// Moves returns the positions that cause the relocations, as far as they are known. All resources
// of a relocation must agree on it; a few of them are asked.
func (x *Finder) Moves(c *diff.Changes) []diag.Pos {
	const most = 3
	causes, asked := make([]diag.Pos, len(c.Relocations)), make([]int, len(c.Relocations))
	for i := range c.Resources {
		r := &c.Resources[i]
		k := r.Relocation
		if r.What != diff.Relocated || asked[k] == most {
			continue
		}
		for j := range r.Edits {
			if e := &r.Edits[j]; e.Moves && IsIdentity(e) {
				pos := x.Of(r, e)
				if asked[k]++; asked[k] > 1 && pos != causes[k] {
					pos = diag.Pos{}
				}
				causes[k] = pos
				break
			}
		}
	}
	return causes
}

// IsIdentity reports whether an edit is the name or namespace of the resource itself.
func IsIdentity(e *diff.Edit) bool {
	return slices.Contains([]string{"metadata.name", "metadata.namespace"}, e.Path.String())
}

// maxLocated limits the edits of a root that are located in files. Each of them parses a file
// again.
const maxLocated = 300

// Of returns the position that causes an edit, or the zero Pos if it is unknown.
func (x *Finder) Of(r *diff.Resource, e *diff.Edit) diag.Pos {
	if e.Op != diff.Remove && r.New.Pos.File != "" && x.Changed(r.New.Pos.File) {
		if pos := x.inFile(x.New[r.New.Pos.File], r.New, e.Path, false, e.New); pos.File != "" {
			return pos
		}
	}
	if e.Op == diff.Remove && x.Counterpart(r.New.Pos.File) == r.Old.Pos.File && x.Changed(r.New.Pos.File) {
		if src := x.Old[r.Old.Pos.File]; src != nil {
			if pos := x.inFile(src, r.Old, e.Path, true, e.Old); pos.File != "" {
				return pos
			}
		}
	}
	var found *graph.Node
	best, n := builtins.Unlikely, 0
	for _, step := range x.Steps() {
		switch how := x.may(step, r, e); {
		case how > best:
			found, best, n = step, how, 1
		case how == best:
			n++
		}
	}
	if found == nil || n > 1 || best == builtins.Possible && !x.Compared {
		return diag.Pos{}
	}
	for _, look := range []func(*graph.Node, *diff.Edit) diag.Pos{x.inPatch, x.inSource} {
		if pos := look(found, e); pos.File != "" {
			return pos
		}
	}
	if p, ok := graph.Maker(found.Op).(gitops.Placer); ok {
		if pos, ok := p.PlaceOf(editOf(r, e)); ok {
			return pos
		}
	}
	if found.Origin.Source != nil && found.Origin.Source.Folder != "" {
		// The fields of a GitOps object may be in different places, such as the parameters of an
		// ApplicationSet.
		return found.Origin.ValueIn(string(yaml.AppendJSON(nil, e.New))).Pos()
	}
	return found.Origin.Pos()
}

// editOf returns an edit in the form of package builtins.
func editOf(r *diff.Resource, e *diff.Edit) builtins.Edit {
	last := ""
	if n := len(e.Path); n > 0 {
		last = e.Path[n-1].Field
	}
	return builtins.Edit{Kind: r.New.ID.Kind, Name: r.New.ID.Name, Field: last, New: e.New}
}

// may returns the likelihood that a step made an edit.
func (x *Finder) may(step *graph.Node, r *diff.Resource, e *diff.Edit) builtins.Likelihood {
	switch b := graph.Maker(step.Op).(type) {
	case builtins.Patcher:
		if src := x.patch(step); src != nil && x.inPatch(step, e).Line == 0 {
			return builtins.Unlikely
		}
	case builtins.Causer:
		return b.Causes(editOf(r, e))
	}
	return builtins.Possible
}

// patch returns the file of a strategic merge patch, or nil if the step does not have exactly
// one.
func (x *Finder) patch(step *graph.Node) *yaml.Source {
	p, ok := graph.Maker(step.Op).(builtins.Patcher)
	if !ok {
		return nil
	}
	files, _ := p.PatchTexts()
	if len(files) != 1 || files[0] == "" {
		return nil
	}
	src := x.New[path.Join(step.Origin.Folder(), files[0])]
	if src == nil {
		return nil
	}
	if v, err := src.Value(); err != nil || v.Type() != yaml.Map {
		return nil
	}
	return src
}

// inPatch returns the position of an edit in the patch file of a step.
func (x *Finder) inPatch(step *graph.Node, e *diff.Edit) diag.Pos {
	src := x.patch(step)
	if x.located++; src == nil || x.located > maxLocated {
		return diag.Pos{}
	}
	docs, err := src.Patches()
	if err != nil {
		return diag.Pos{}
	}
	for i, doc := range docs {
		if at, _, ok := follow(doc.Value, e.Path, e.Op == diff.Remove); ok {
			return src.Locate(i, at...)
		}
	}
	return diag.Pos{}
}

// inSource returns the position of a value in the source file of a generator: the line of the
// value or, if that is unknown, the first changed line.
func (x *Finder) inSource(step *graph.Node, e *diff.Edit) diag.Pos {
	b, ok := graph.Maker(step.Op).(builtins.Locator)
	if !ok {
		return diag.Pos{}
	}
	name := func(file string) string { return path.Join(step.Origin.Folder(), file) }
	place, ok := b.Locate(builtins.Change{Path: e.Path.In(false), Removed: e.Op == diff.Remove,
		Files: func(file string) *yaml.Source { return x.New[name(file)] }})
	if !ok || place.File == "" {
		return diag.Pos{}
	}
	pos := diag.Pos{File: name(place.File), Line: place.Line}
	src := x.New[pos.File]
	if src == nil || !x.Changed(pos.File) {
		return diag.Pos{}
	}
	if old := x.Old[x.Counterpart(pos.File)]; old != nil && pos.Line == 0 {
		pos.Line = diff.FirstLine(old.Text(), src.Text())
	}
	return pos
}

// InNew returns the position of a value of an added resource in the file that defines it, or the
// zero Pos if it is unknown.
func (x *Finder) InNew(r *diff.Resource, way diff.Path, value yaml.Value) diag.Pos {
	return x.inFile(x.New[r.New.Pos.File], r.New, way, false, value)
}

// inFile returns the position of a value in the file in which its resource is defined.
func (x *Finder) inFile(src *yaml.Source, side diff.Side, way diff.Path, old bool, want yaml.Value) diag.Pos {
	if x.located++; src == nil || x.located > maxLocated || !want.Exists() {
		return diag.Pos{}
	}
	docs, err := src.Configs()
	if err != nil {
		return diag.Pos{}
	}
	for i, doc := range docs {
		if doc.Line != side.Pos.Line || doc.Value.Get("kind").Text() != side.ID.Kind {
			continue
		}
		at, value, ok := follow(doc.Value, way, old)
		if ok && string(yaml.AppendJSON(nil, value)) == string(yaml.AppendJSON(nil, want)) {
			return src.Locate(i, at...)
		}
	}
	return diag.Pos{}
}

// follow returns the path and value in a file for the path of an edit. Items are found by their
// keys.
func follow(v yaml.Value, way diff.Path, old bool) (at []any, found yaml.Value, ok bool) {
	for _, step := range way {
		if !step.Item {
			if v = v.Get(step.Field); !v.Exists() {
				return nil, v, false
			}
			at = append(at, step.Field)
			continue
		}
		i := step.To
		if old {
			i = step.From
		}
		if step.Key != "" {
			i = itemOf(v, step.Key)
		}
		if i < 0 || i >= v.Len() || v.Type() != yaml.Seq {
			return nil, v, false
		}
		v, at = v.Items()[i], append(at, i)
	}
	return at, v, true
}

// itemOf returns the index of the item that matches a key such as "name=web", or -1.
func itemOf(list yaml.Value, key string) int {
next:
	for i, item := range list.Items() {
		for part := range strings.SplitSeq(key, ",") {
			field, value, _ := strings.Cut(part, "=")
			if item.Get(field).Text() != value {
				continue next
			}
		}
		return i
	}
	return -1
}
