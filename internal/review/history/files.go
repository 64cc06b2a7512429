package history

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// Files holds the files of a plan by path.
type Files map[string]*yaml.Source

// FilesOf returns the files of a plan.
func FilesOf(plan *planner.Plan) Files {
	files := Files{}
	for _, src := range plan.Files() {
		files[src.File] = src
	}
	return files
}

// InFile returns the location of a value in the file that a resource was loaded from, and the
// path of the value there. has returns the path of the value in a document and whether the
// document contains it.
func (f Files) InFile(r *krm.Resource, has func(doc yaml.Value) (at []any, ok bool)) (pos diag.Pos, at []any, ok bool) {
	src := f[r.Pos.File]
	if src == nil {
		return pos, nil, false
	}
	docs, err := src.Configs()
	if err != nil {
		return pos, nil, false
	}
	for i, doc := range docs {
		if doc.Line != r.Pos.Line || !began(doc.Value, r) {
			continue
		}
		if at, ok := has(doc.Value); ok {
			return src.Locate(i, at...), at, true
		}
	}
	return pos, nil, false
}

// began reports whether v is the original object of a resource.
func began(v yaml.Value, r *krm.Resource) bool {
	return v.Get("kind").Text() == r.OrigID().Kind && v.At("metadata", "name").Text() == r.OrigID().Name
}

// InPatch returns the location in a step's patch that sets a value, and the path of the value in
// the patch. For a patch that is an object, has finds the value. In a JSON patch it is the last
// of the operations that match most of path, and the returned path is path itself.
func (f Files) InPatch(n *graph.Node, path []any, has func(doc yaml.Value) (at []any, ok bool)) (pos diag.Pos, at []any, ok bool) {
	p, is := graph.Maker(n.Op).(builtins.Patcher)
	if !is {
		return pos, nil, false
	}
	files, text := p.PatchTexts()
	for _, name := range files {
		if src := f[besides(n.Origin, name)]; src != nil {
			if pos, at, ok = inPatch(src, path, has); ok {
				return pos, at, true
			}
		}
	}
	if text == "" {
		return diag.Pos{}, nil, false
	}
	pos, at, ok = inPatch(&yaml.Source{Data: []byte(text)}, path, has)
	return f.lineOf(n.Origin, pos.Line), at, ok
}

// besides returns the path of a file that the configuration of a step names.
func besides(o graph.Origin, name string) string { return path.Join(o.Folder(), name) }

// of returns a function that looks up files by their names in the configuration of a step.
func (f Files) of(n *graph.Node) builtins.Files {
	return func(name string) *yaml.Source { return f[besides(n.Origin, name)] }
}

// place returns the location and the path of a part of the configuration of a step.
func (f Files) place(n *graph.Node, p builtins.Place) (pos diag.Pos, at []any) {
	switch {
	case p.File != "":
		return diag.Pos{File: besides(n.Origin, p.File), Line: p.Line}, p.Path
	case n.Origin.Source == nil:
		return pos, p.Path
	}
	at = slices.Concat(n.Origin.Path, p.Path)
	return n.Origin.Source.Locate(0, at...), at
}

// InConfig returns the part of a step's configuration, or of a file named there, that made a
// change. at is the path of that part.
func (f Files) InConfig(c Change, path []any) (pos diag.Pos, at []any, ok bool) {
	b, is := graph.Maker(c.Node.Op).(builtins.Locator)
	if !is {
		return pos, nil, false
	}
	p, ok := b.Locate(builtins.Change{Before: c.Before, After: c.After, Path: path, Removed: !c.New.Exists(), Files: f.of(c.Node)})
	if !ok {
		return pos, nil, false
	}
	pos, at = f.place(c.Node, p)
	return pos, at, pos.File != ""
}

// lineOf returns the location of a line of a patch that is inline in the field patch of a step.
func (f Files) lineOf(step graph.Origin, line int) diag.Pos {
	pos := step.Source.Locate(0, append(slices.Clip(step.Path), "patch")...)
	src := f[pos.File]
	if src == nil {
		return pos
	}
	lines := strings.SplitN(src.Text(), "\n", pos.Line+1)
	if pos.Line > 0 && len(lines) > pos.Line {
		if _, value, _ := strings.Cut(lines[pos.Line-1], "patch:"); strings.HasPrefix(strings.TrimSpace(value), "|") {
			pos.Line += line
		}
	}
	return pos
}

func inPatch(src *yaml.Source, path []any, has func(doc yaml.Value) (at []any, ok bool)) (diag.Pos, []any, bool) {
	if docs, err := src.Patches(); err == nil {
		for i, doc := range docs {
			if at, ok := has(doc.Value); ok {
				return src.Locate(i, at...), at, true
			}
		}
		return diag.Pos{}, nil, false
	}
	ops, err := src.Value()
	if err != nil {
		return diag.Pos{}, nil, false
	}
	best, length := -1, 0
	for i, op := range ops.Items() {
		n := pointsTo(op.Get("path").Text(), path)
		switch op.Get("op").Text() {
		case "test":
			continue
		case "move":
			n = max(n, pointsTo(op.Get("from").Text(), path))
		}
		if n >= length {
			best, length = i, n
		}
	}
	if best < 0 {
		return diag.Pos{}, nil, false
	}
	return src.Locate(0, best), path, true
}

// pointsTo returns the number of tokens of a JSON pointer that leads to path or a parent of it,
// and -1 if it leads elsewhere.
func pointsTo(pointer string, path []any) int {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if len(tokens) > len(path) {
		return -1
	}
	for i, token := range tokens {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch step := path[i].(type) {
		case string:
			if token != step {
				return -1
			}
		case int:
			if token != strconv.Itoa(step) && token != "-" {
				return -1
			}
		}
	}
	return len(tokens)
}
