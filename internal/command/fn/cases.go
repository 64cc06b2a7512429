package fn

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// Files of a case. The test helpers in the functions framework for Go use the same names.
const (
	inputFile    = "input.yaml"
	inputPattern = "input*.yaml" // several inputs
	configFile   = "config.yaml"
	expectedFile = "expected.yaml"
	errorsFile   = "errors.txt"
)

// resourceList is the kind of the input and output of functions.
const resourceList = "ResourceList"

// A testCase is a directory with the input of a function and its expected result.
type testCase struct {
	dir, name string // name is relative to the searched directory
	in        string // the searched directory
	input     text
	config    *krm.Resource // nil without a configuration
	source    *yaml.Source  // file of which config is object 0
	file      string        // file of the configuration, or the first input
	expected  *text         // nil without expected.yaml
	errors    []pattern

	comments map[*krm.Origin]inplace.Comments // of the input resources
}

// A text is the content of a file: its resources, and the other fields of a ResourceList.
type text struct {
	file string
	data []byte
	// top is the ResourceList, or None if the file has only resources.
	top   yaml.Value
	items []yaml.Value
	// comments are the comments of the items.
	comments []inplace.Comments
}

// A pattern is a line of errors.txt. Each pattern must match a message.
type pattern struct {
	pos  diag.Pos
	text string
	re   *regexp.Regexp // multi-line
}

// findCases reads the cases in and below the given directories. It skips links and directories
// whose names begin with a dot. All errors are returned as one.
func findCases(ctx context.Context, dirs []string, update bool) (cases []*testCase, err error) {
	var errs []error
	seen := map[string]bool{}
	for _, root := range dirs {
		found := 0
		start := filepath.Clean(root) + string(filepath.Separator) // the separator makes WalkDir follow a link to a directory
		err := filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil && path == start:
				return diag.NoSuchFile.Errorf("%s: %w", root, errors.Unwrap(err))
			case err != nil:
				return err
			case !d.IsDir():
				return nil
			case path != start && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			}
			c, err := readCase(filepath.Clean(path), update)
			if errs = append(errs, err); c == nil {
				return nil
			}
			if found++; seen[c.dir] {
				return nil
			}
			seen[c.dir] = true
			c.in = root
			if c.name, err = filepath.Rel(filepath.Clean(root), c.dir); err != nil {
				return err
			}
			if c.name == "." {
				c.name = filepath.Base(c.dir)
			}
			cases = append(cases, c)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if found == 0 && errors.Join(errs...) == nil {
			e := diag.NoRoots.Errorf("no case in %s or below", diag.OneLine(root))
			errs = append(errs, diag.AsError(e).Hint("a case is a directory with %s, or %s, and %s or %s", inputFile, configFile,
				expectedFile, errorsFile))
		}
	}
	return cases, errors.Join(errs...)
}

// readCase reads the case in a directory. It returns nil if the directory is not a case.
func readCase(dir string, update bool) (*testCase, error) {
	files := map[string]string{}
	var inputs []string
	entries, err := filepath.Glob(filepath.Join(escaped(dir), "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range entries {
		name := filepath.Base(file)
		isInput, _ := filepath.Match(inputPattern, name)
		if isInput {
			inputs = append(inputs, file)
		} else if slices.Contains([]string{configFile, expectedFile, errorsFile}, name) {
			files[name] = file
		}
	}
	if len(files) == 0 && !slices.Contains(inputs, filepath.Join(dir, inputFile)) {
		return nil, nil
	}
	c := &testCase{dir: dir, comments: map[*krm.Origin]inplace.Comments{}}
	var errs []error
	for _, file := range inputs {
		t, err := readText(file)
		if errs = append(errs, err); err != nil {
			continue
		}
		if t.top.Exists() && len(inputs) > 1 {
			errs = append(errs, diag.BadTest.Errorf("%s is a ResourceList: it must be the only input of its case", file))
		}
		c.input.file, c.input.data, c.input.top = t.file, t.data, t.top
		c.input.items, c.input.comments = append(c.input.items, t.items...), append(c.input.comments, t.comments...)
	}
	errs = append(errs, c.readConfig(files[configFile]))
	if file := files[expectedFile]; file != "" {
		t, err := readText(file)
		c.expected, errs = t, append(errs, err)
	}
	if file := files[errorsFile]; file != "" {
		list, err := readPatterns(file)
		c.errors, errs = list, append(errs, err)
	}
	switch err := errors.Join(errs...); {
	case err != nil:
		return nil, err
	case len(inputs) == 0 && c.config == nil:
		return nil, diag.BadTest.Errorf("%s has neither %s nor %s: a case needs the input of the function", dir, inputFile, configFile)
	case c.expected == nil && len(c.errors) == 0 && !update:
		e := diag.BadTest.Errorf("%s has neither %s nor patterns in %s", dir, expectedFile, errorsFile)
		return nil, diag.AsError(e).Hint("write the current output of the function with krmflow fn test --update")
	}
	return c, nil
}

// escaped returns a pattern that matches only path.
func escaped(path string) string {
	if filepath.Separator != '/' {
		return path // Windows patterns have no escapes
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// readRegular reads a file of a case. Links are refused because they could point anywhere.
func readRegular(file string, most int64) ([]byte, error) {
	if err := checkRegular(file); err != nil {
		return nil, err
	}
	return loaders.ReadFile(file, most)
}

// readText reads a file with a ResourceList or with resources.
func readText(file string) (*text, error) {
	data, err := readRegular(file, yaml.MaxFile)
	if err != nil {
		return nil, err
	}
	t := &text{file: file, data: data}
	stream := yaml.Stream{Name: file, MaxItems: krm.MaxResources, Room: maxRoom}
	docs, err := stream.Read(yaml.Chunks{data})
	if err != nil {
		return nil, err
	}
	src := located(file, data)
	if len(docs) == 1 && docs[0].Value.Get("kind").Text() == resourceList {
		t.top = docs[0].Value
		list := t.top.Get("items")
		if !list.IsNull() && list.Type() != yaml.Seq {
			return nil, diag.Errorf(src.Locate(0, "items"), "items", "it must be a list, not %s", list.Type().Article()).With(diag.BadTest)
		}
		docs = nil
		for i, v := range list.Items() {
			docs = append(docs, yaml.Item{Value: v, Path: []any{"items", i}})
		}
	}
	check := func() error {
		for i, it := range docs {
			pos := src.Locate(0, it.Path...)
			if !t.top.Exists() {
				pos = src.Locate(i)
			}
			switch {
			case it.Value.Get("kind").Text() == resourceList:
				return diag.Errorf(pos, "", "a %s must be the only document", resourceList).With(diag.BadTest)
			case it.Value.Get("kind").Text() == "" || it.Value.Get("apiVersion").Text() == "":
				return diag.Errorf(pos, "", "not a resource: apiVersion and kind are required").With(diag.BadTest)
			}
		}
		return nil
	}
	if err := check(); err != nil {
		return nil, err
	}
	if docs, _, err = stream.Inline(docs); err != nil {
		return nil, err
	}
	if err := check(); err != nil {
		return nil, err
	}
	comments := inplace.ItemComments(data)
	for i, it := range docs {
		t.items, t.comments = append(t.items, it.Value), append(t.comments, comments[i])
	}
	return t, nil
}

// located parses a file, so that the positions of its values are known.
func located(file string, data []byte) *yaml.Source {
	src := &yaml.Source{File: file, Data: data}
	src.Value() // readText has reported its errors
	return src
}

// maxRoom is the memory limit in bytes for reading a file of a case. The limits of input files
// apply, not those of function output.
const maxRoom = 64 << 20

// readConfig reads the configuration of the function from file or, if file is empty, from the
// input.
func (c *testCase) readConfig(file string) error {
	inList := c.input.top.Get("functionConfig")
	c.file = c.input.file
	switch {
	case file != "" && inList.Len() > 0:
		return diag.BadTest.Errorf("%s: %s also has a functionConfig: a case must have one configuration", file,
			filepath.Base(c.input.file))
	case file != "":
		data, err := readRegular(file, yaml.MaxFile)
		if err != nil {
			return err
		}
		src := &yaml.Source{File: file, Data: data}
		found, err := krm.Configs(src, nil)
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return diag.BadTest.Errorf("%s: it must contain one object, the configuration, but has %d", file, len(found))
		}
		c.config, c.source, c.file = found[0], src, file
	case inList.Len() > 0:
		src := located(c.input.file, c.input.data)
		c.config = krm.NewResource(inList, nil)
		c.config.Pos = src.Locate(0, "functionConfig")
	}
	return nil
}

// readPatterns reads a file with one regular expression per line. It skips blank lines.
func readPatterns(file string) (list []pattern, err error) {
	data, err := readRegular(file, maxPatterns)
	if err != nil {
		return nil, err
	}
	var errs []error
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		pos := diag.Pos{File: file, Line: n}
		if _, err := regexp.Compile(line); err != nil {
			errs = append(errs, diag.Errorf(pos, "", "%w", err).With(diag.BadTest))
			continue
		}
		list = append(list, pattern{pos, line, regexp.MustCompile("(?m:" + line + ")")})
	}
	return list, errors.Join(errs...)
}

// maxPatterns is the maximum size of a file of patterns in bytes.
const maxPatterns = 1 << 20
