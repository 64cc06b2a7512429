package test

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// An Outcome is the result of rendering a root.
type Outcome struct {
	// List is the rendered list, or nil if rendering failed.
	List *krm.List
	// Errs are the errors if it failed.
	Errs []error
	// Warnings are the warnings of the root.
	Warnings []*diag.Error
	// Cause returns the position at which a field of resource i in List was set, or the zero
	// Pos if it is unknown. It may be nil.
	Cause func(i int, path []any) diag.Pos
	// Secrets adds the values in List that must be hidden, and Hide contains them. Both may be
	// nil.
	Secrets func(*secret.Set)
	Hide    *secret.Set
}

// shown returns an actual or expected value without Secret values.
func (o *Outcome) shown(v yaml.Value) yaml.Value { return o.Hide.Show(v) }

// A Result is the result of a test.
type Result struct {
	// Name is the name of the test, and Pos its position. The expectations of a suite for the
	// root as a whole are the test [OfRoot].
	Name string
	Pos  diag.Pos
	// Failures are the unmet expectations.
	Failures []*diag.Error
	// Updated is the golden file that was updated, if any.
	Updated string
}

// OfRoot is the name of the test for whether a root renders or fails, and gives the expected
// warnings.
const OfRoot = "render"

// Passed reports whether all expectations are met.
func (r *Result) Passed() bool { return len(r.Failures) == 0 }

// failf adds a failure at a position.
func (r *Result) failf(pos diag.Pos, format string, args ...any) *diag.Error {
	e := diag.Errorf(pos, "", format, args...).With(diag.TestFailed)
	r.Failures = append(r.Failures, e)
	return e
}

// Check compares the outcome of a root with the expectations. It runs only tests whose name
// matches run, or all if run is nil. With update set, it updates golden files instead of
// comparing them.
func (s *Suite) Check(o *Outcome, run *regexp.Regexp, update func(file string, data []byte) error) (results []*Result) {
	root := &Result{Name: OfRoot, Pos: s.Pos}
	s.checkRoot(root, o)
	if run == nil || run.MatchString(OfRoot) || !root.Passed() {
		results = append(results, root)
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		if o.List == nil || run != nil && !run.MatchString(c.Name) {
			continue
		}
		r := &Result{Name: c.Name, Pos: c.Pos}
		c.check(r, o, update)
		results = append(results, r)
	}
	return results
}

// checkRoot checks errors and warnings.
func (s *Suite) checkRoot(r *Result, o *Outcome) {
	switch {
	case s.Fails == nil:
		for _, err := range o.Errs {
			r.Failures = append(r.Failures, diag.AsError(err))
		}
	case len(o.Errs) == 0:
		r.failf(s.Pos, "%s renders, but an error that matches %q is expected", diag.Redact(s.Root), s.Fails)
	case !slices.ContainsFunc(o.Errs, func(err error) bool { return s.Fails.MatchString(err.Error()) }):
		r.failf(s.Pos, "no error matches %q", s.Fails)
		for _, err := range o.Errs {
			r.Failures = append(r.Failures, diag.AsError(err))
		}
	}
	if s.Warnings == nil {
		return
	}
	seen := make([]bool, len(s.Warnings))
	for _, w := range o.Warnings {
		expected := false
		for i, re := range s.Warnings {
			if re.MatchString(w.Error()) {
				seen[i], expected = true, true
			}
		}
		if !expected {
			at := *w
			at.Msg = "unexpected warning: " + at.Msg
			r.Failures = append(r.Failures, at.With(diag.TestFailed))
		}
	}
	for i, ok := range seen {
		if !ok {
			r.failf(s.Pos, "no warning matches %q", s.Warnings[i])
		}
	}
}

func (c *Case) check(r *Result, o *Outcome, update func(file string, data []byte) error) {
	var chosen []int
	for i, x := range o.List.All() {
		ok, err := true, error(nil)
		if c.Select != nil {
			ok, err = c.Select.Match(x)
		}
		if err != nil {
			r.failf(c.Pos, "%w", err)
			return
		}
		if ok {
			chosen = append(chosen, i)
		}
	}
	switch {
	case c.Count >= 0 && len(chosen) != c.Count:
		e := r.failf(c.Pos, "%s, want %d", diag.Count(len(chosen), "resource"), c.Count)
		c.listed(e, o.List, chosen)
	case c.Count < 0 && len(chosen) == 0:
		e := r.failf(c.Pos, "no resource is selected")
		if c.Select != nil {
			e.Hint("%s", c.Select)
		}
	}
	for _, i := range chosen {
		for k := range c.Fields {
			c.Fields[k].check(r, o, i)
		}
	}
	if c.Golden != "" {
		c.compare(r, o, chosen, update)
	}
}

// listed adds a hint with the names of the resources.
func (c *Case) listed(e *diag.Error, list *krm.List, chosen []int) {
	var names []string
	for _, i := range chosen {
		names = append(names, list.At(i).ID().String())
	}
	if len(names) > 0 {
		e.Hint("selected: %s", diag.Some(names))
	}
}

// check compares a field of resource i with the expected value.
func (x *Expectation) check(r *Result, o *Outcome, i int) {
	res := o.List.At(i)
	paths, missing := x.Field.All(res.Value())
	who := res.ID().Kind + " " + diag.OneLine(res.ID().Name)
	if x.Absent {
		for _, path := range paths {
			x.cause(r.failf(x.Pos, "%s: %s is %s, want none", who, diag.FieldPath(path), text(history.At(o.shown(res.Value()), path))),
				o, i, path)
		}
		return
	}
	for _, path := range missing {
		if x.Not.Exists() {
			continue
		}
		where := x.Text
		if len(path) > 0 {
			where = diag.FieldPath(path) + " has no " + x.Text
			r.failf(x.Pos, "%s: %s", who, where)
			continue
		}
		r.failf(x.Pos, "%s has no %s", who, where)
	}
	for _, path := range paths {
		v := history.At(res.Value(), path)
		want := ""
		switch {
		case x.Equals.Exists() && !equal(v, x.Equals):
			want = text(o.shown(x.Equals))
		case x.Not.Exists() && equal(v, x.Not):
			want = "anything else"
		case x.Matches != nil && (!v.IsScalar() || !x.Matches.MatchString(v.Text())):
			want = "a match for " + diag.Redact(o.Hide.Hide(x.Matches.String()))
		case x.Contains.Exists() && !contains(v, x.Contains):
			want = "something with " + text(o.shown(x.Contains))
		default:
			continue
		}
		have := history.At(o.shown(res.Value()), path)
		if !have.Equal(v) || holdsValues(res, path) {
			want = "a different value" // of a Secret: hide the expected value as well
		}
		x.cause(r.failf(x.Pos, "%s: %s is %s, want %s", who, diag.FieldPath(path), text(have), want), o, i, path)
	}
}

// holdsValues reports whether a path leads to Secret values, or to a place that can contain
// some.
func holdsValues(r *krm.Resource, path []any) bool {
	v := r.Value()
	for i, step := range path {
		if key, ok := step.(string); ok && slices.Contains(secret.Fields(v), key) {
			return true
		}
		v = history.At(r.Value(), path[:i+1])
	}
	return false
}

// cause adds a hint with the position at which the value was set.
func (x *Expectation) cause(e *diag.Error, o *Outcome, i int, path []any) {
	if o.Cause == nil {
		return
	}
	if pos := o.Cause(i, path); pos.File != "" {
		e.Hint("set at %s", pos)
	}
}

// equal compares values by their JSON form.
func equal(a, b yaml.Value) bool { return len(diff.Values(a, b, schema.Node{}, nil)) == 0 }

// contains reports whether a list contains an item, a text a substring, or a mapping the given
// fields.
func contains(v, part yaml.Value) bool {
	switch v.Type() {
	case yaml.Seq:
		return slices.ContainsFunc(v.Items(), func(x yaml.Value) bool {
			return equal(x, part) || x.Type() == yaml.Map && part.Type() == yaml.Map && contains(x, part)
		})
	case yaml.Map:
		for _, f := range part.Fields() {
			if x := v.Get(f.Key); !x.Exists() ||
				!equal(x, f.Value) && !(x.Type() == yaml.Map && f.Value.Type() == yaml.Map && contains(x, f.Value)) {
				return false
			}
		}
		return part.Type() == yaml.Map
	}
	return v.IsScalar() && part.IsScalar() && strings.Contains(v.Text(), part.Text())
}

// maxText is the maximum length in bytes of a displayed value.
const maxText = 200

func text(v yaml.Value) string {
	s := diag.OneLine(string(yaml.AppendJSON(nil, v)))
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// maxListed is the maximum number of listed differences from a golden file.
const maxListed = 10

// compare compares resources with a golden file. It compares values as an API server would,
// regardless of formatting.
func (c *Case) compare(r *Result, o *Outcome, chosen []int, update func(string, []byte) error) {
	data, err := loaders.ReadFile(c.Golden, yaml.MaxFile)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || update == nil) {
		r.failf(c.Pos, "golden: %w", err).Hint("write it with krmflow test --update")
		return
	}
	want := krm.NewList()
	if err == nil {
		rs, err := krm.Resources(&yaml.Source{File: c.Golden, Data: data}, nil)
		if err != nil && update == nil {
			r.failf(c.Pos, "golden: %w", err)
			return
		}
		want = krm.NewList(rs...)
	}
	part := krm.NewList()
	for _, i := range chosen {
		if err := part.Append(o.open(o.List.At(i), want, update != nil)); err != nil {
			r.failf(c.Pos, "%w", err)
			return
		}
	}
	changes := diff.Lists(want, part, secret.NewSet(func(s *secret.Set) {
		want.AddSecrets(s)
		if o.Secrets != nil {
			o.Secrets(s)
		}
	}))
	if err == nil && !changes.Any() && len(changes.Reordered) == 0 {
		return
	}
	if update != nil {
		if err := update(c.Golden, part.AppendYAML(nil)); err != nil {
			r.failf(c.Pos, "golden: %w", err)
		}
		r.Updated = c.Golden
		return
	}
	e := r.failf(c.Pos, "the rendered resources differ from %s", c.Golden)
	lines := described(changes)
	for _, line := range lines[:min(len(lines), maxListed)] {
		e.Hint("%s", line)
	}
	if len(lines) > maxListed {
		e.Hint("and %s more", diag.Count(len(lines)-maxListed, "difference"))
	}
	e.Hint("to accept the rendered output, run krmflow test --update")
}

// open returns a resource for the comparison with a golden file. Secret values are hidden if
// the golden file hides them or is being written. If someone has put the actual values into the
// golden file, they are compared.
func (o *Outcome) open(r *krm.Resource, golden *krm.List, write bool) *krm.Resource {
	shown := o.shown(r.Value())
	if shown.Equal(r.Value()) {
		return r
	}
	found := golden.Find(r.ID())
	has := func(v yaml.Value) bool { return len(found) == 1 && equal(golden.At(found[0]).Value(), v) }
	if has(shown) || write && !has(r.Value()) {
		return krm.NewResource(shown, r.Schema())
	}
	return r
}

// described returns one line per change.
func described(c *diff.Changes) (lines []string) {
	for _, r := range c.Resources {
		switch r.What {
		case diff.Added:
			lines = append(lines, fmt.Sprintf("%s is rendered, but not expected", r.ID()))
		case diff.Removed:
			lines = append(lines, fmt.Sprintf("%s is expected, but not rendered", r.ID()))
		default:
			for _, e := range r.Edits {
				if e.Op == diff.Replace && e.Hidden && !e.New.Exists() && !e.Old.Exists() {
					lines = append(lines, fmt.Sprintf("%s: %s has a different value %s", r.ID(), e.Path, secret.Hidden))
					continue
				}
				lines = append(lines, fmt.Sprintf("%s: %s is %s, want %s", r.ID(), e.Path, edited(e.New, e.Hidden && e.Op != diff.Remove),
					edited(e.Old, e.Hidden && e.Op != diff.Add)))
			}
		}
	}
	if len(lines) == 0 && len(c.Reordered) > 0 {
		lines = append(lines, "the resources are in a different order")
	}
	return lines
}

func edited(v yaml.Value, hidden bool) string {
	switch {
	case v.Exists():
		return text(v)
	case hidden:
		return secret.Hidden
	}
	return "none"
}
