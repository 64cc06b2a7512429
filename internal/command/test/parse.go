// Package test holds what is rendered to what a team expects of it: the files called krmflow-test.yaml beside Kustomizations and Compositions.
package test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

const (
	// Name is what files with tests are called.
	Name = "krmflow-test.yaml"
	// Version and Kind are those of the documents in them.
	Version = "krmflow.dev/v1alpha1"
	Kind    = "Test"
)

// A Suite is what is expected of a root: a document of a file.
type Suite struct {
	// File is the path of the file, and Pos where the document begins.
	File string
	Pos  diag.Pos
	// Root is the directory that is rendered.
	Root string
	// Cases are the expectations about its result.
	Cases []Case
	// Fails matches the errors of a root that must not render, nil if it must.
	Fails *regexp.Regexp
	// Warnings match the warnings that are expected, each at least one; nil if nothing is said about them. If there are some, or the list is
	// empty, no others must be given.
	Warnings []*regexp.Regexp
}

// A Case is an expectation with a name.
type Case struct {
	Name string
	Pos  diag.Pos
	// Select says which resources are meant; nil stands for all.
	Select *builtins.Selector
	// Count is how many they must be, -1 for at least one.
	Count int
	// Fields are what each of them must have.
	Fields []Expectation
	// Golden is the path of a file that has them, "" for none.
	Golden string
}

// An Expectation is about a field.
type Expectation struct {
	Pos  diag.Pos
	Text string // the field as it is written
	// Field is which, and its items may be all of a list.
	Field history.Field
	// One of these says what it must be: a value, not a value, a text, a list or text that has something in it, there or not there.
	Equals, Not, Contains yaml.Value
	Matches               *regexp.Regexp
	Absent                bool
}

// Find returns the files with tests in directories and below them, in lexical order. Directories whose names begin with a dot are left out.
func Find(dirs []string) (files []string, err error) {
	for _, dir := range dirs {
		switch info, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, diag.NoSuchFile.Errorf("%q does not exist", diag.Redact(dir))
		case err == nil && info.IsDir():
			dir += string(filepath.Separator) // a link to a directory is one
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			case !d.IsDir() && (d.Name() == Name || path == dir):
				files = append(files, filepath.ToSlash(path))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// Read reads the files. All mistakes are returned, with their places, as one error.
func Read(files []string) (suites []*Suite, err error) {
	var errs []error
	for _, file := range files {
		data, err := loaders.ReadFile(file, yaml.MaxFile)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		in, err := Parse(&yaml.Source{File: file, Data: data})
		suites, errs = append(suites, in...), append(errs, err)
	}
	return suites, errors.Join(errs...)
}

// Parse reads a file.
func Parse(src *yaml.Source) (suites []*Suite, err error) {
	docs, err := src.Configs()
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, doc := range docs {
		top := yaml.NewCursor(doc.Value, func(path ...any) diag.Pos { return src.Locate(i, path...) })
		s := &Suite{File: src.File, Pos: top.Pos(), Root: filepath.Dir(src.File)}
		s.read(top)
		errs, suites = append(errs, top.Err()), append(suites, s)
	}
	if len(docs) == 0 {
		errs = append(errs, diag.Errorf(diag.Pos{File: src.File}, "", "it is empty").With(diag.BadTest))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return suites, nil
}

func (s *Suite) read(top yaml.Cursor) {
	if !top.Known("apiVersion", "kind", "root", "tests", "fails", "warnings") {
		return
	}
	if kind := top.Field("kind"); kind.Required() != Kind {
		kind.Errorf("it must be %s", Kind).With(diag.BadTest)
	}
	if v := top.Field("apiVersion"); v.Required() != Version {
		v.Errorf("it must be %s", Version).With(diag.BadTest)
	}
	if root := top.Field("root"); root.Exists() {
		s.Root = filepath.Join(s.Root, filepath.FromSlash(root.Line()))
	}
	s.Fails = expression(top.Field("fails"))
	if w := top.Field("warnings"); w.Exists() {
		s.Warnings = []*regexp.Regexp{}
		for _, item := range w.Items() {
			s.Warnings = append(s.Warnings, expression(item))
		}
	}
	names := map[string]bool{}
	for _, item := range top.Field("tests").Items() {
		if !item.Known("name", "select", "count", "expect", "golden") {
			continue
		}
		c := readCase(item, filepath.Dir(s.File))
		if names[c.Name] {
			item.Field("name").Errorf("there is another test called %q", c.Name).With(diag.BadTest)
		}
		names[c.Name] = true
		s.Cases = append(s.Cases, c)
	}
	switch {
	case s.Fails != nil && len(s.Cases) > 0:
		top.Field("fails").Errorf("a root that fails has no result: there must be no tests").With(diag.BadTest)
	case s.Fails == nil && len(s.Cases) == 0 && s.Warnings == nil:
		top.Errorf("nothing is expected: write tests, warnings or fails").With(diag.BadTest)
	}
}

func readCase(item yaml.Cursor, dir string) Case {
	c := Case{Name: item.Field("name").Line(), Pos: item.Pos(), Count: -1}
	if sel := item.Field("select"); sel.Exists() && sel.Known("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector") {
		c.Select = &builtins.Selector{Group: sel.Field("group").Text(), Version: sel.Field("version").Text(), Kind: sel.Field("kind").Text(),
			Name: sel.Field("name").Text(), Namespace: sel.Field("namespace").Text(),
			LabelSelector: sel.Field("labelSelector").Text(), AnnotationSelector: sel.Field("annotationSelector").Text()}
		if err := c.Select.Compile(); err != nil {
			sel.Errorf("%w", err).With(diag.BadTest)
		}
	}
	if n := item.Field("count"); n.Exists() {
		count, ok := n.Value().AsInt()
		if !ok || count < 0 || n.Value().Type() != yaml.Int {
			n.Errorf("it must be a whole number, 0 or more").With(diag.BadTest)
		}
		c.Count = int(count)
	}
	for _, e := range item.Field("expect").Items() {
		if e.Known("field", "equals", "not", "matches", "contains", "absent") {
			c.Fields = append(c.Fields, expectation(e))
		}
	}
	if golden := item.Field("golden"); golden.Exists() {
		c.Golden = filepath.Join(dir, filepath.FromSlash(golden.Line()))
	}
	if len(c.Fields) > 0 && c.Count == 0 {
		item.Field("count").Errorf("there are fields to expect, and of no resource").With(diag.BadTest)
	}
	if len(c.Fields) == 0 && c.Golden == "" && c.Select == nil && c.Count < 0 {
		item.Errorf("nothing is expected: write select, count, expect or golden").With(diag.BadTest)
	}
	return c
}

func expectation(e yaml.Cursor) (x Expectation) {
	x.Pos, x.Text = e.Pos(), e.Field("field").Line()
	field, err := history.ParseField(x.Text)
	if err != nil {
		e.Field("field").Errorf("%w", err).With(diag.BadTest)
	}
	x.Field = field
	n := 0
	for key, into := range map[string]*yaml.Value{"equals": &x.Equals, "not": &x.Not, "contains": &x.Contains} {
		if v := e.Value().Get(key); v.Exists() {
			*into = v
			n++
		}
	}
	if e.Field("matches").Exists() {
		x.Matches = expression(e.Field("matches"))
		n++
	}
	if absent := e.Field("absent").Bool(); absent != nil {
		x.Absent = *absent
		if n++; !*absent {
			e.Field("absent").Errorf("it must be true, or left out").With(diag.BadTest)
		}
	}
	if n > 1 {
		e.Errorf("an expectation has one of equals, not, matches, contains and absent").With(diag.BadTest)
	}
	return x
}

// expression reads a regular expression, nil if there is none.
func expression(c yaml.Cursor) *regexp.Regexp {
	if !c.Exists() {
		return nil
	}
	re, err := regexp.Compile(c.Required())
	if err != nil {
		c.Errorf("%w", err).With(diag.BadTest)
		return nil
	}
	return re
}
