// Package tree has the files of a directory as functions see them: resources with the places where they stand. What functions make of these becomes
// the least change of the files. The package writes nothing.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/sys/ignore"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Kptfile is the name of the files that make a folder a package of kpt. They hold a resource, too.
const Kptfile = "Kptfile"

// A Tree is what the files of a directory hold. It does not change.
type Tree struct {
	// Dir is the directory as the user has named it.
	Dir string
	// Files are those that hold resources, in the order of their paths.
	Files []*File
	// Left are the files that could hold resources and are left alone, with the reason. Missed are those of them that seem to hold one.
	Left, Missed []*diag.Error

	objects map[*krm.Origin]*Object
}

// A File holds resources.
type File struct {
	// Path is relative to the directory, with slashes.
	Path string
	// Data is its content, and Mode its mode.
	Data    []byte
	Mode    fs.FileMode
	Objects []*Object

	name  string // as messages show it
	head  []byte // byte order mark
	parts []*part
}

// A part is the text of a document, and the line that separates it from the one before.
type part struct {
	separator, text []byte
	line            int        // of the text
	value           yaml.Value // None if there is none
	list            bool       // its items are the objects
	objects         []*Object

	surveyed bool                     // comments is set
	comments map[int]inplace.Comments // of the objects, by their items
}

// An Object is one of the resources of a file.
type Object struct {
	File *File
	// Index is its place in the file, from 0.
	Index int
	Value yaml.Value

	part *part
	item int // in the list that the part holds
	mark *krm.Origin
}

// A ReadFile reads a file of the machine.
type ReadFile func(path string) ([]byte, error)

// Read reads the files below dir that can hold resources: those called *.yaml, *.yml or Kptfile. It
// skips hidden files and folders, symbolic links below dir, and paths that a .krmflowignore in dir
// or below it ignores. Files with other content, such as values or templates of a chart, are in
// [Tree.Left]. The error has the mistakes of files that look like resources and are not valid YAML.
func Read(ctx context.Context, dir string, read ReadFile) (*Tree, error) {
	t := &Tree{Dir: dir, objects: map[*krm.Origin]*Object{}}
	w := walk{Tree: t, read: read, rules: map[string]*ignore.Rules{}}
	top := strings.TrimRight(dir, string(filepath.Separator)) + string(filepath.Separator) // a link to a directory is one
	err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return w.visit(file, filepath.ToSlash(rel), d)
	})
	if err == nil {
		err = errors.Join(w.mistakes.Errors()...)
	}
	return t, err
}

// A walk reads a Tree.
type walk struct {
	*Tree
	read     ReadFile
	rules    map[string]*ignore.Rules // by folder
	mistakes diag.Mistakes
}

// visit looks at one file or folder; rel is its path from the directory.
func (w *walk) visit(file, rel string, d fs.DirEntry) error {
	rules := w.rules[path.Dir(rel)]
	switch {
	case d.IsDir() && rel != "." && strings.HasPrefix(d.Name(), "."):
		return fs.SkipDir
	case d.IsDir() && rules.Ignores(rel, true):
		w.leave(file, 0, "%s leaves it out", ignore.File)
		return fs.SkipDir
	case d.IsDir():
		return w.enter(file, rel, rules)
	case !CanHold(d.Name()):
		return nil
	case strings.HasPrefix(d.Name(), "."):
		w.leave(file, 0, "it is hidden")
		return nil
	case !d.Type().IsRegular():
		w.leave(file, 0, "it is %s", kindOf(d.Type()))
		return nil
	case rules.Ignores(rel, false):
		w.leave(file, 0, "%s leaves it out", ignore.File)
		return nil
	}
	return w.file(file, rel, d)
}

// enter reads the ignore file of a folder, if it has one.
func (w *walk) enter(folder, rel string, outer *ignore.Rules) (err error) {
	w.rules[rel] = outer
	name := filepath.Join(folder, ignore.File)
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	data, err := w.read(name)
	if err == nil && len(data) > ignore.MaxSize {
		err = diag.Limitf("%s is larger than %s", name, diag.Size(ignore.MaxSize))
	}
	if err == nil {
		w.rules[rel], err = ignore.Parse(folder, rel, data, outer)
	}
	return err
}

func kindOf(mode fs.FileMode) string {
	if mode&fs.ModeSymlink != 0 {
		return "a symbolic link"
	}
	return "no regular file"
}

// CanHold reports whether a file of this name can hold resources.
func CanHold(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || name == Kptfile
}

func (t *Tree) leave(file string, line int, format string, args ...any) *diag.Error {
	e := diag.Errorf(diag.Pos{File: file, Line: line}, "", "is left alone: "+format, args...).With(diag.NoResource)
	t.Left = append(t.Left, e)
	return e
}

// file reads a file.
func (w *walk) file(file, rel string, d fs.DirEntry) error {
	data, err := w.read(file)
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	f := &File{Path: rel, Data: data, Mode: info.Mode().Perm(), name: file}
	why, err := f.parse()
	switch {
	case err != nil && (f.isMeant() || d.Name() == Kptfile):
		w.mistakes.Add(diag.AsError(err))
	case why != "" && d.Name() == Kptfile: // its pipeline would not run
		w.mistakes.Add(diag.Errorf(diag.Pos{File: file}, "", "cannot be read as the file of a package: %s", why).With(diag.NoResource))
	case err != nil:
		at := diag.AsError(err)
		w.leave(file, at.Pos.Line, "it is not valid YAML: %s", at.Msg)
	case why != "":
		if e := w.leave(file, 0, "%s", why); f.isMeant() {
			w.Missed = append(w.Missed, e)
		}
	default:
		w.Files = append(w.Files, f)
		for _, o := range f.Objects {
			w.objects[o.mark] = o
		}
	}
	return nil
}

// head matches the text of what is meant to be a resource. It is compiled when it is needed, as all
// patterns here: few commands read directories.
var head = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^apiVersion:[^\n]*\n(?:.*\n)*?kind:`) })

// oddBreak matches a line break that is neither LF nor CR LF, where it may matter to where a document ends.
var oddBreak = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\r[^\n]|\r$|(\x{85}|\x{2028}|\x{2029})(---|\.\.\.|%)`)
})

// isMeant reports whether a file that cannot be read was meant to be read.
func (f *File) isMeant() bool { return head().Match(f.Data) && !bytes.Contains(f.Data, []byte("{{")) }

var bom = []byte("\xef\xbb\xbf")

// parse finds the objects of a file. It returns why the file is left alone, if it has no mistake and is.
func (f *File) parse() (why string, err error) {
	text := f.Data
	if len(text) > len(bom) && string(text[:len(bom)]) == string(bom) {
		f.head, text = text[:len(bom)], text[len(bom):]
	}
	if strings.HasPrefix(string(text[:min(2, len(text))]), "\xff\xfe") || strings.HasPrefix(string(text[:min(2, len(text))]), "\xfe\xff") {
		return "it is UTF-16", nil
	}
	if oddBreak().Match(text) {
		return "it has line breaks that only some readers of YAML know", nil
	}
	if f.parts, why = split(text); why != "" {
		return why, nil
	}
	for _, p := range f.parts {
		src := &yaml.Source{File: f.name, Data: p.text}
		if p.value, err = src.Content(); err != nil {
			return "", p.move(err)
		}
		if p.value.IsEmpty() {
			continue
		}
		if why := f.add(p); why != "" {
			return why, nil
		}
	}
	if len(f.Objects) == 0 {
		return "it holds no resource", nil
	}
	return "", nil
}

// move returns an error about the text of a part as one about the file.
func (p *part) move(err error) error {
	e := *diag.AsError(err)
	if e.Pos.Line > 0 {
		e.Pos.Line += p.line - 1
	}
	return &e
}

// add adds the objects of a part. It returns why the file is left alone, if it is.
func (f *File) add(p *part) (why string) {
	v := p.value
	if !isObject(v) {
		return "it holds something that is no resource"
	}
	kind := v.Get("kind").Text()
	items := v.Get("items")
	switch {
	case kind == "List" || kind == "ResourceList":
		if items.Exists() && !items.IsNull() && items.Type() != yaml.Seq {
			return fmt.Sprintf("the items of its %s are no list", kind)
		}
		p.list = true
		for i, item := range items.Items() {
			if !isObject(item) || isList(item) {
				return fmt.Sprintf("its %s holds something that is no resource", kind)
			}
			f.object(item, p, i)
		}
		return ""
	case isList(v):
		return fmt.Sprintf("it holds a %s", kind)
	}
	f.object(v, p, -1)
	return ""
}

func isList(v yaml.Value) bool {
	return strings.HasSuffix(v.Get("kind").Text(), "List") && v.Get("items").Exists()
}

// isObject reports whether a value is a resource: functions get nothing else.
func isObject(v yaml.Value) bool {
	meta := v.Get("metadata")
	return v.Type() == yaml.Map && v.Get("apiVersion").Type() == yaml.String && v.Get("apiVersion").Text() != "" &&
		v.Get("kind").Type() == yaml.String && v.Get("kind").Text() != "" && (meta.IsNull() || meta.Type() == yaml.Map) &&
		(meta.Get("annotations").IsNull() || meta.Get("annotations").Type() == yaml.Map)
}

func (f *File) object(v yaml.Value, p *part, item int) {
	o := &Object{File: f, Index: len(f.Objects), Value: v, part: p, item: item, mark: &krm.Origin{Path: f.Path}}
	f.Objects, p.objects = append(f.Objects, o), append(p.objects, o)
}

// split cuts a text at the lines that separate documents. It returns why that is not possible, if it is not.
func split(text []byte) (parts []*part, why string) {
	p := &part{line: 1}
	parts = append(parts, p)
	start, at, line := 0, 0, 1
	for l := range strings.Lines(string(text)) {
		line++
		rest, separates := strings.CutPrefix(l, "---")
		switch trimmed := strings.TrimSpace(rest); {
		case strings.HasPrefix(l, "%"), strings.HasPrefix(l, "...") && strings.TrimSpace(l) == "...":
			return nil, "it has directives or ends of documents"
		case separates && rest != "" && rest[0] != '-' && trimmed != "" && trimmed[0] != '#':
			return nil, "it has text behind a document separator"
		case separates && (trimmed == "" || trimmed[0] == '#') && (rest == "" || rest[0] != '#'):
			p.text = text[start:at]
			p = &part{separator: text[at : at+len(l)], line: line}
			parts = append(parts, p)
			start = at + len(l)
		}
		at += len(l)
	}
	p.text = text[start:]
	return parts, ""
}

// Source returns a text that has the object of o as its object doc, at the lines of the file.
func (o *Object) Source() (src *yaml.Source, doc int) {
	text := strings.Repeat("\n", o.part.line-1) + string(o.part.text)
	return &yaml.Source{File: o.File.name, Data: []byte(text)}, max(0, o.item)
}

// Pos returns where the object begins.
func (o *Object) Pos() diag.Pos {
	src, doc := o.Source()
	if o.item >= 0 {
		return src.Locate(0, "items", doc)
	}
	return src.Locate(0)
}

// Locate returns where a field of the object stands.
func (o *Object) Locate(path ...any) diag.Pos {
	src, doc := o.Source()
	return src.Locate(doc, path...)
}

// Comments returns the comments of the object in its file.
func (o *Object) Comments() inplace.Comments {
	p := o.part
	if !p.surveyed {
		p.surveyed = true
		p.comments = inplace.ItemComments(p.text)
	}
	return p.comments[max(0, o.item)]
}

// Resources returns all objects as resources, with their places as annotations (RL-16).
func (t *Tree) Resources() []*krm.Resource {
	var rs []*krm.Resource
	for _, f := range t.Files {
		for _, o := range f.Objects {
			rs = append(rs, o.resource())
		}
	}
	return rs
}

func (o *Object) resource() *krm.Resource {
	r := krm.NewResource(Placed(o.Value, o.File.Path, o.Index), nil)
	r.Origin, r.Pos = o.mark, diag.Pos{File: o.File.name}
	return r
}

// Placed returns an object with the annotations that say where it stands.
func Placed(v yaml.Value, path string, index int) yaml.Value {
	a := v.At("metadata", "annotations")
	if a.Type() != yaml.Map {
		a = yaml.MapOf()
	}
	n := yaml.Str(strconv.Itoa(index))
	a = a.With(function.LegacyIndexAnnotation, n).With(function.LegacyPathAnnotation, yaml.Str(path))
	a = a.With(function.IndexAnnotation, n).With(function.PathAnnotation, yaml.Str(path))
	meta := v.Get("metadata")
	if meta.Type() != yaml.Map {
		meta = yaml.MapOf()
	}
	return v.With("metadata", meta.With("annotations", a))
}

// Of returns the object that a resource was, nil if it is new.
func (t *Tree) Of(r *krm.Resource) *Object { return t.objects[r.Origin] }

// Exists reports whether there is a file or folder at a path of the directory, whatever it holds.
func (t *Tree) Exists(p string) bool {
	_, err := os.Lstat(filepath.Join(t.Dir, filepath.FromSlash(p)))
	return err == nil
}
