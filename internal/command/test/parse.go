// Package test implements the test command, which compares rendered resources with the
// expectations in krmflow-test.yaml files next to Kustomizations and Compositions.
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
	// Name is the name of test files.
	Name = "krmflow-test.yaml"
	// Version and Kind are the apiVersion and kind of documents in test files.
	Version = "krmflow.dev/v1alpha1"
	Kind    = "Test"
)

// A Suite is a document of a test file: the expectations for one root.
type Suite struct {
	// File is the path of the file, and Pos the start of the document.
	File string
	Pos  diag.Pos
	// Root is the directory to render.
	Root string
	// Cases are the expectations for its resources.
	Cases []Case
	// Fails matches the errors of a root that must fail. It is nil for a root that must render.
	Fails *regexp.Regexp
	// Warnings match the expected warnings, each at least one. If it is nil, warnings are not
	// checked. Otherwise, even if it is empty, any other warning is a failure.
	Warnings []*regexp.Regexp
}

// A Case is a named expectation.
type Case struct {
	Name string
	Pos  diag.Pos
	// Select selects the resources. Nil selects all.
	Select *builtins.Selector
	// Count is the expected number of selected resources, or -1 for at least one.
	Count int
	// Fields are the expectations for each selected resource.
	Fields []Expectation
	// Golden is the path of a file with the expected resources, or "".
	Golden string
}

// An Expectation is an expectation for one field.
type Expectation struct {
	Pos  diag.Pos
	Text string // the field as written
	// Field is the field. It can stand for all items of a list.
	Field history.Field
	// At most one of these is set: an exact value, an excluded value, a part of the value, a
	// pattern, or absence. With none of them the field must exist.
	Equals, Not, Contains yaml.Value
	Matches               *regexp.Regexp
	Absent                bool
}

// Find returns the test files in and below the given directories, in lexical order. It skips
// directories whose names begin with a dot.
func Find(dirs []string) (files []string, err error) {
	for _, dir := range dirs {
		switch info, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, diag.NoSuchFile.Errorf("%q does not exist", diag.Redact(dir))
		case err == nil && info.IsDir():
			dir += string(filepath.Separator) // the separator makes WalkDir follow a link to a directory
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

// Read reads the given files. The error joins all errors, with positions.
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

// Parse parses a test file.
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
			item.Field("name").Errorf("duplicate test name %q", c.Name).With(diag.BadTest)
		}
		names[c.Name] = true
		s.Cases = append(s.Cases, c)
	}
	switch {
	case s.Fails != nil && len(s.Cases) > 0:
		top.Field("fails").Errorf("a root that fails has no result: remove the tests").With(diag.BadTest)
	case s.Fails == nil && len(s.Cases) == 0 && s.Warnings == nil:
		top.Errorf("nothing is expected: write tests, warnings or fails").With(diag.BadTest)
	}
}

func readCase(item yaml.Cursor, dir string) Case {
	c := Case{Name: item.Field("name").Line(), Pos: item.Pos(), Count: -1}
	if sel := item.Field("select"); sel.Exists() &&
		sel.Known("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector") {
		c.Select = &builtins.Selector{Group: sel.Field("group").Text(), Version: sel.Field("version").Text(),
			Kind: sel.Field("kind").Text(),
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
		item.Field("count").Errorf("fields are expected, but no resource").With(diag.BadTest)
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
			e.Field("absent").Errorf("it must be true or omitted").With(diag.BadTest)
		}
	}
	if n > 1 {
		e.Errorf("an expectation has one of equals, not, matches, contains and absent").With(diag.BadTest)
	}
	return x
}

// expression returns the regular expression of a field, or nil if the field does not exist.
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
