// Package tree reads the files of a directory as resources with their locations, and converts
// modified resources into minimal changes of the files. It does not write files.
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

// Kptfile is the name of the file that makes a folder a kpt package. It also contains a
// resource.
const Kptfile = "Kptfile"

// A Tree is the content of a directory, as read by [Read]. [Tree.Changes] does not modify it.
type Tree struct {
	// Dir is the directory as the user named it.
	Dir string
	// Files are the files with resources, in path order.
	Files []*File
	// Left lists the files that could contain resources but are not read, with the reasons.
	// Missed is the subset that seems to contain resources.
	Left, Missed []*diag.Error

	objects map[*krm.Origin]*Object
}

// A File is a file with resources.
type File struct {
	// Path is relative to the directory and slash-separated.
	Path string
	// Data is the content of the file, and Mode its permissions.
	Data    []byte
	Mode    fs.FileMode
	Objects []*Object

	name  string // for messages
	head  []byte // byte order mark
	parts []*part
}

// A part is the text of one document and the separator line before it.
type part struct {
	separator, text []byte
	line            int        // first line of the text
	value           yaml.Value // None for an empty document
	list            bool       // the objects are the items of a list
	objects         []*Object

	surveyed bool                     // comments is initialized
	comments map[int]inplace.Comments // of the objects, by item
}

// An Object is a resource of a file.
type Object struct {
	File *File
	// Index is its position in the file, from 0.
	Index int
	Value yaml.Value

	part *part
	item int // index in the list of the part, or -1
	mark *krm.Origin
}

// A ReadFile reads a local file.
type ReadFile func(path string) ([]byte, error)

// Read reads the files below dir that can contain resources: *.yaml, *.yml and Kptfile. It
// skips hidden files and folders, symbolic links below dir, and paths that a .krmflowignore in
// dir or below it ignores. Files with other content, such as the values or templates of a
// chart, are listed in [Tree.Left]. The error joins the errors of files that look like
// resources but are not valid YAML.
func Read(ctx context.Context, dir string, read ReadFile) (*Tree, error) {
	t := &Tree{Dir: dir, objects: map[*krm.Origin]*Object{}}
	w := walk{Tree: t, read: read, rules: map[string]*ignore.Rules{}}
	// the separator makes WalkDir follow a link to a directory
	top := strings.TrimRight(dir, string(filepath.Separator)) + string(filepath.Separator)
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

// visit handles one file or folder. rel is its path relative to the directory.
func (w *walk) visit(file, rel string, d fs.DirEntry) error {
	rules := w.rules[path.Dir(rel)]
	switch {
	case d.IsDir() && rel != "." && strings.HasPrefix(d.Name(), "."):
		return fs.SkipDir
	case d.IsDir() && rules.Ignores(rel, true):
		w.leave(file, 0, "%s ignores it", ignore.File)
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
		w.leave(file, 0, "%s ignores it", ignore.File)
		return nil
	}
	return w.file(file, rel, d)
}

// enter reads the ignore file of a folder, if there is one.
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
	return "not a regular file"
}

// CanHold reports whether a file with this name can contain resources.
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
	case why != "" && d.Name() == Kptfile: // otherwise its pipeline would silently not run
		w.mistakes.Add(diag.Errorf(diag.Pos{File: file}, "", "cannot be read as a package file: %s", why).With(diag.NoResource))
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

// head matches the text of a file that is meant to be a resource. Like all patterns here it is
// compiled on first use, because few commands read directories.
var head = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^apiVersion:[^\n]*\n(?:.*\n)*?kind:`) })

// oddBreak matches a line break other than LF and CR LF where it may affect the end of a
// document.
var oddBreak = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\r[^\n]|\r$|(\x{85}|\x{2028}|\x{2029})(---|\.\.\.|%)`)
})

// isMeant reports whether a file that cannot be read looks like a resource.
func (f *File) isMeant() bool { return head().Match(f.Data) && !bytes.Contains(f.Data, []byte("{{")) }

var bom = []byte("\xef\xbb\xbf")

// parse finds the objects of a file. why is the reason for not reading a file that has no
// error.
func (f *File) parse() (why string, err error) {
	text := f.Data
	if len(text) > len(bom) && string(text[:len(bom)]) == string(bom) {
		f.head, text = text[:len(bom)], text[len(bom):]
	}
	if strings.HasPrefix(string(text[:min(2, len(text))]), "\xff\xfe") || strings.HasPrefix(string(text[:min(2, len(text))]), "\xfe\xff") {
		return "it is UTF-16", nil
	}
	if oddBreak().Match(text) {
		return "it has line breaks that only some YAML parsers accept", nil
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
		return "it contains no resource", nil
	}
	return "", nil
}

// move translates the position of an error in a part to the file.
func (p *part) move(err error) error {
	e := *diag.AsError(err)
	if e.Pos.Line > 0 {
		e.Pos.Line += p.line - 1
	}
	return &e
}

// add adds the objects of a part. why is the reason for not reading the file, or "".
func (f *File) add(p *part) (why string) {
	v := p.value
	if !isObject(v) {
		return "it contains something that is not a resource"
	}
	kind := v.Get("kind").Text()
	items := v.Get("items")
	switch {
	case kind == "List" || kind == "ResourceList":
		if items.Exists() && !items.IsNull() && items.Type() != yaml.Seq {
			return fmt.Sprintf("the items of its %s are not a list", kind)
		}
		p.list = true
		for i, item := range items.Items() {
			if !isObject(item) || isList(item) {
				return fmt.Sprintf("its %s contains something that is not a resource", kind)
			}
			f.object(item, p, i)
		}
		return ""
	case isList(v):
		return fmt.Sprintf("it contains a %s", kind)
	}
	f.object(v, p, -1)
	return ""
}

func isList(v yaml.Value) bool {
	return strings.HasSuffix(v.Get("kind").Text(), "List") && v.Get("items").Exists()
}

// isObject reports whether a value is a resource. Functions receive nothing else.
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

// split splits text at document separators. why is the reason if that is impossible, or "".
func split(text []byte) (parts []*part, why string) {
	p := &part{line: 1}
	parts = append(parts, p)
	start, at, line := 0, 0, 1
	for l := range strings.Lines(string(text)) {
		line++
		rest, separates := strings.CutPrefix(l, "---")
		switch trimmed := strings.TrimSpace(rest); {
		case strings.HasPrefix(l, "%"), strings.HasPrefix(l, "...") && strings.TrimSpace(l) == "...":
			return nil, "it has YAML directives or document end markers"
		case separates && rest != "" && rest[0] != '-' && trimmed != "" && trimmed[0] != '#':
			return nil, "it has text after a document separator"
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

// Source returns a source in which o is object doc. Its line numbers are those of the file.
func (o *Object) Source() (src *yaml.Source, doc int) {
	text := strings.Repeat("\n", o.part.line-1) + string(o.part.text)
	return &yaml.Source{File: o.File.name, Data: []byte(text)}, max(0, o.item)
}

// Pos returns the position of the object.
func (o *Object) Pos() diag.Pos {
	src, doc := o.Source()
	if o.item >= 0 {
		return src.Locate(0, "items", doc)
	}
	return src.Locate(0)
}

// Locate returns the position of a field of the object.
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

// Resources returns all objects as resources, with location annotations (RL-16).
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

// Placed returns an object with location annotations.
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

// Of returns the object from which a resource was read, or nil for a new one.
func (t *Tree) Of(r *krm.Resource) *Object { return t.objects[r.Origin] }

// Exists reports whether a file or folder exists at a path in the directory, whatever its
// content.
func (t *Tree) Exists(p string) bool {
	_, err := os.Lstat(filepath.Join(t.Dir, filepath.FromSlash(p)))
	return err == nil
}
