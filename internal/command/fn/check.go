package fn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/command/test"
	"github.com/krmflow/krmflow/internal/command/wrap"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	textdiff "github.com/rogpeppe/go-internal/diff"
)

// A checker compares the outcome of a case with the expected one.
type checker struct {
	*testCase
	*outcome
	result *test.Result
	update bool
}

// check compares the outcome of a call with the expected one. With update set it writes the
// actual outcome to the files of the case.
func (c *testCase) check(o *outcome, update bool) *test.Result {
	x := &checker{c, o, &test.Result{Name: c.name, Pos: diag.Pos{File: c.file}}, update}
	switch failed := len(o.errs) > 0 || o.list == nil; {
	case len(c.errors) > 0:
		x.mustFail(failed)
	case failed && c.expected == nil: // a new case: only with update
		x.write(errorsFile, []byte(x.asPatterns()))
	case failed:
		x.failures(o.errs)
	default:
		x.compare()
	}
	return x.result
}

// failf adds a failure. lines are printed below it.
func (x *checker) failf(pos diag.Pos, lines []string, format string, args ...any) {
	e := diag.Errorf(pos, "", format, args...).With(diag.TestFailed)
	if more := len(lines) - maxShown; more > 0 {
		lines = append(slices.Clip(lines[:maxShown]), fmt.Sprintf("... and %s more", diag.Count(more, "line")))
	}
	e.Hints = lines
	x.result.Failures = append(x.result.Failures, e)
}

// maxShown is the maximum number of lines of a diff or of function output in a failure.
const maxShown = 200

// failures adds the errors of a call and the output of the function.
func (x *checker) failures(errs []error) {
	for _, err := range errs {
		x.result.Failures = append(x.result.Failures, diag.AsError(err))
	}
	if said := x.said(); len(said) > 0 {
		x.failf(diag.Pos{}, said, "output of the function:")
	}
}

// said returns the results and the stderr output of the function as lines.
func (x *checker) said() (lines []string) {
	for _, r := range x.results {
		lines = append(lines, diag.OneLine(r.String()))
	}
	for line := range strings.Lines(x.stderr) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// mustFail checks a call that is expected to fail.
func (x *checker) mustFail(failed bool) {
	if !failed {
		x.failf(x.errors[0].pos, nil, "the function succeeded, but an error is expected")
		return
	}
	said := x.messages()
	missed := false
	for _, p := range x.errors {
		if p.re.MatchString(said) {
			continue
		}
		if !x.update {
			x.failf(p.pos, nil, "no message matches %q", diag.OneLine(p.text))
		}
		missed = true
	}
	switch {
	case missed && x.update:
		x.write(errorsFile, []byte(x.asPatterns()))
	case missed:
		x.failures(x.errs)
	}
}

// asPatterns returns the output of a failed call as patterns: the output of the function, or else
// krmflow's messages without hints. The patterns match in every run. Paths of temporary files match
// any path, and the notes and hints of a krmflow wrap within the function are left out.
func (x *checker) asPatterns() string {
	lines := withoutOwn(x.said())
	for _, err := range x.errs {
		if len(lines) == 0 {
			lines = append(lines, diag.AsError(err).Msg)
		}
	}
	var b strings.Builder
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			b.WriteString(patternOf(line) + "\n")
		}
	}
	return b.String()
}

// seePage matches the last hint of a krmflow message.
var seePage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^  see krmflow explain KF\d+$`) })

// withoutOwn returns lines without the notes of krmflow wrap and the hints of its messages: the
// indented lines that end with a reference to a page.
func withoutOwn(lines []string) (rest []string) {
	for _, line := range lines {
		if !seePage().MatchString(line) {
			if !strings.HasPrefix(line, wrap.NotePrefix) {
				rest = append(rest, line)
			}
			continue
		}
		for len(rest) > 0 && strings.HasPrefix(rest[len(rest)-1], "  ") {
			rest = rest[:len(rest)-1]
		}
	}
	return rest
}

// patternOf returns a regular expression that matches a line in every run: the path of a temporary
// file matches any path. Programs have their temporary files below those of krmflow, and programs
// in containers have them in /tmp.
func patternOf(line string) string {
	temporary := regexp.MustCompile(`(?:` + regexp.QuoteMeta(filepath.Clean(os.TempDir())) + `|/tmp)/[^\s"':,;)\]]+`)
	var b strings.Builder
	at := 0
	for _, m := range temporary.FindAllStringIndex(line, -1) {
		b.WriteString(regexp.QuoteMeta(line[at:m[0]]) + `\S+`)
		at = m[1]
	}
	return b.String() + regexp.QuoteMeta(line[at:])
}

// compare compares the output of the function with expected.yaml.
func (x *checker) compare() {
	var had []yaml.Value
	if x.expected != nil {
		had = x.expected.items
	}
	now := make([]yaml.Value, x.list.Len())
	for i, r := range x.list.All() {
		now[i] = open(r.Value(), had)
	}
	want, got := listText(had), listText(now)
	same := x.expected != nil && bytes.Equal(want, got)
	withResults := x.expected == nil && len(x.results) > 0 || x.expected != nil && x.expected.top.Get("results").Exists()
	wantResults := []byte(nil)
	if x.expected != nil {
		wantResults = resultsText(function.ParseResults(yaml.Chunks{x.expected.data}, function.SeverityInfo))
	}
	gotResults := resultsText(x.outcome.results)
	sameResults := !withResults || bytes.Equal(wantResults, gotResults)
	switch {
	case same && sameResults:
		return
	case x.update:
		for i, v := range now {
			if !slices.ContainsFunc(had, v.Equal) {
				now[i] = secret.Hide(v)
			}
		}
		text, err := x.rewritten(now, withResults)
		if err != nil {
			x.result.Failures = append(x.result.Failures, diag.AsError(err))
			return
		}
		x.write(expectedFile, text)
		return
	case !same:
		hide := secret.NewSet(func(s *secret.Set) {
			for _, v := range slices.Concat(x.input.items, had, now) {
				s.Add(v)
			}
		})
		lines := difference(x.expected.file, listText(shown(had, hide)), listText(shown(now, hide)))
		if len(lines) == 0 {
			lines = []string{"values of Secrets differ; they are not shown"}
		}
		x.failf(diag.Pos{File: x.expected.file}, lines, "the output of the function differs")
	}
	if !sameResults {
		x.failf(diag.Pos{File: x.expected.file}, difference("results", wantResults, gotResults), "the results of the function differ")
	}
}

// open returns a resource for the comparison. Secret values are hidden unless expected.yaml
// contains values for the same resource.
func open(v yaml.Value, expected []yaml.Value) yaml.Value {
	safe := secret.Hide(v)
	id := krm.NewResource(v, nil).ID()
	hasValues := func(e yaml.Value) bool { return krm.NewResource(e, nil).ID() == id && !secret.Hide(e).Equal(e) }
	if safe.Equal(v) || slices.ContainsFunc(expected, hasValues) {
		return v
	}
	return safe
}

func shown(items []yaml.Value, hide *secret.Set) []yaml.Value {
	list := make([]yaml.Value, len(items))
	for i, v := range items {
		list[i] = hide.Show(v)
	}
	return list
}

// listText returns resources in a canonical form.
func listText(items []yaml.Value) []byte {
	rs := make([]*krm.Resource, len(items))
	for i, v := range items {
		rs[i] = krm.NewResource(v, nil)
	}
	return krm.NewList(rs...).AppendYAML(nil)
}

func resultsText(results []function.Result) []byte {
	if len(results) == 0 {
		return nil
	}
	v, err := resultsValue(results)
	if err != nil {
		return []byte(err.Error())
	}
	return yaml.AppendYAML(nil, v)
}

func resultsValue(results []function.Result) (v yaml.Value, err error) {
	text, err := json.Marshal(results)
	if err != nil {
		return v, err
	}
	return (&yaml.Source{File: "results", Data: text}).Content()
}

// difference returns a unified diff as lines.
func difference(name string, want, got []byte) (lines []string) {
	text := string(textdiff.Diff(name, want, "the function", got))
	_, text, _ = strings.Cut(text, "\n") // header line: diff OLD NEW
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// rewritten returns the new text of expected.yaml. An existing ResourceList keeps its comments.
// The file becomes a ResourceList if the input is one or if results are included.
func (x *checker) rewritten(items []yaml.Value, withResults bool) ([]byte, error) {
	top := x.input.top
	if x.expected != nil {
		top = x.expected.top
	}
	if !top.Exists() && !withResults {
		return listText(items), nil
	}
	list := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str(function.ResourceListV1)},
		yaml.Field{Key: "kind", Value: yaml.Str(resourceList)})
	for _, f := range top.Fields() {
		if f.Key != "results" {
			list = list.With(f.Key, f.Value)
		}
	}
	list = list.With("items", yaml.SeqOf(items...))
	if withResults {
		v, err := resultsValue(x.outcome.results)
		if err != nil {
			return nil, err
		}
		list = list.With("results", v)
	}
	if x.expected != nil {
		if doc, err := inplace.Parse(x.expected.file, x.expected.data, nil); err == nil {
			if next, err := doc.With(list); err == nil {
				return next.Text(), nil
			}
		}
	}
	return yaml.AppendYAML(nil, list), nil
}

// write writes a file of the case and records it in the result. An empty errors.txt is not
// written; the errors are reported instead.
func (x *checker) write(name string, data []byte) {
	file := filepath.Join(x.dir, name)
	if len(data) == 0 && name == errorsFile {
		x.failures(x.errs)
		return
	}
	err := checkRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = output.WriteFileAtomic(file, data, 0o666)
	}
	if err != nil {
		x.result.Failures = append(x.result.Failures, diag.AsError(err))
		return
	}
	x.result.Updated = file
}
