// Follows api/types/selector.go, api/resmap/reswrangler.go.

package builtins

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Selector describes the set of resources that meet all of its conditions. Empty conditions
// match every resource.
//
// Group, version, kind, name and namespace are regular expressions that must match the entire
// text. Name and namespace are compared with both the original and the current identity of a
// resource. The label and annotation selectors have the syntax of Kubernetes' label selectors.
//
// Call [Selector.Compile] once. After that a Selector may be used concurrently.
type Selector struct {
	Group              string `json:"group,omitempty" decode:"text"`
	Version            string `json:"version,omitempty" decode:"text"`
	Kind               string `json:"kind,omitempty" decode:"text"`
	Name               string `json:"name,omitempty" decode:"text"`
	Namespace          string `json:"namespace,omitempty" decode:"text"`
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`

	group, version, kind, name, namespace pattern
	labels, annotations                   labelSelector
	labelErr, annotationErr               error
}

// Compile prepares s for matching. The error names the fields with invalid regular expressions.
//
// Compile does not report an invalid label or annotation selector. That is an error only when a
// resource meets all other conditions, because kustomize builds trees that never evaluate the
// selector.
func (s *Selector) Compile() error {
	var errs []error
	for _, f := range []struct {
		name, text string
		into       *pattern
	}{
		{"group", s.Group, &s.group},
		{"version", s.Version, &s.version},
		{"kind", s.Kind, &s.kind},
		{"name", s.Name, &s.name},
		{"namespace", s.Namespace, &s.namespace},
	} {
		var err error
		if *f.into, err = compilePattern(f.text); err != nil {
			errs = append(errs, inField(err, f.name))
		}
	}
	if s.labels, s.labelErr = parseLabelSelector(s.LabelSelector); s.labelErr != nil {
		s.labelErr = diag.In(advised(diag.BadSelector.Errorf("labelSelector %q: %w", s.LabelSelector, s.labelErr), selectorForm),
			"labelSelector")
	}
	if s.annotations, s.annotationErr = parseLabelSelector(s.AnnotationSelector); s.annotationErr != nil {
		s.annotationErr = diag.In(advised(diag.BadSelector.Errorf("annotationSelector %q: %w", s.AnnotationSelector, s.annotationErr),
			selectorForm), "annotationSelector")
	}
	return errors.Join(errs...)
}

// compileAt compiles s, which is at path in a configuration, unless it is nil. Its error has the
// paths of the invalid fields.
func (s *Selector) compileAt(path ...any) error {
	if s == nil {
		return nil
	}
	return eachError(s.Compile(), func(err error) error { return diag.In(fmt.Errorf("%s.%w", diag.FieldPath(path), err), path...) })
}

// Match reports whether r meets all conditions. It fails if it reaches an invalid label or
// annotation selector.
func (s *Selector) Match(r *krm.Resource) (bool, error) {
	id := r.ID()
	if !s.kind.match(id.Kind) || !s.group.match(id.Group) || !s.version.match(id.Version) || !s.matchNames(r) {
		return false, nil
	}
	if s.labelErr != nil {
		return false, s.labelErr
	}
	if !s.labels.match(r.Labels()) {
		return false, nil
	}
	if s.annotationErr != nil {
		return false, s.annotationErr
	}
	return s.annotations.match(r.Annotations()), nil
}

func (s *Selector) matchNames(r *krm.Resource) bool {
	if s.name.any && s.namespace.any {
		return true
	}
	cur, orig := r.ID(), r.OrigID()
	return (s.name.match(cur.Name) || s.name.match(orig.Name)) &&
		(s.namespace.match(cur.EffectiveNamespace()) || s.namespace.match(orig.EffectiveNamespace()))
}

// Select returns the positions of the matching resources, in order. It looks up a literal name
// without scanning the list, and labels or annotations if many selectors search the same list.
func (s *Selector) Select(list *krm.List) ([]int, error) {
	var found []int
	if candidates, ok := s.candidates(list); ok {
		for _, i := range candidates {
			ok, err := s.Match(list.At(i))
			if err != nil {
				return nil, err
			}
			if ok {
				found = append(found, i)
			}
		}
		return found, nil
	}
	for i, r := range list.All() {
		ok, err := s.Match(r)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, i)
		}
	}
	return found, nil
}

// candidates returns the positions of the resources that an index of list finds for one condition,
// and false if no index applies.
func (s *Selector) candidates(list *krm.List) ([]int, bool) {
	if s.name.literal != "" {
		return list.Named(s.name.literal), true
	}
	if s.labelErr != nil || s.annotationErr != nil {
		return nil, false // a scan may reach the error at any resource
	}
	for _, in := range [...]struct {
		field string
		sel   labelSelector
	}{{"labels", s.labels}, {"annotations", s.annotations}} {
		for _, r := range in.sel {
			if r.op == "=" || r.op == "in" {
				return list.Labelled(in.field, r.key, r.values)
			}
		}
	}
	return nil, false
}

const selectorForm = "write key=value, key!=value, key in (a,b) or key, separated by commas"

// near returns hints for a selector that selects nothing, which suggest possible intentions.
func (s *Selector) near(list *krm.List) diag.Next {
	return func() []string { return s.otherNames(list) }
}

func (s *Selector) otherNames(list *krm.List) []string {
	var kinds, names, namespaces, groups []string
	noName, noNamespace, noGroup := *s, *s, *s
	noName.name, noNamespace.namespace = pattern{any: true}, pattern{any: true}
	noGroup.group, noGroup.version, noGroup.name = pattern{any: true}, pattern{any: true}, pattern{any: true}
	matches := func(s *Selector, r *krm.Resource) bool {
		ok, err := s.Match(r)
		return ok && err == nil
	}
	for _, r := range list.All() {
		id := r.ID()
		if !s.kind.match(id.Kind) {
			kinds = append(kinds, id.Kind)
			continue
		}
		if matches(&noName, r) {
			names = append(names, id.Name)
		}
		if matches(&noNamespace, r) {
			namespaces = append(namespaces, id.Namespace)
		}
		if matches(&noGroup, r) {
			groups = append(groups, fmt.Sprintf("%s %s has apiVersion %s", id.Kind, id.Name, id.GVK.APIVersion()))
		}
	}
	kinds, groups = sorted(kinds), sorted(groups)
	var near []string
	switch {
	case list.Len() == 0:
		return []string{"no resources exist at this step"}
	case names != nil:
		near = s.name.advice("name", s.Name, names)
	case namespaces != nil:
		near = s.namespace.advice("namespace", s.Namespace, namespaces)
	case groups == nil:
		near = s.kind.advice("kind", s.Kind, kinds)
	}
	switch {
	case near != nil:
		return near
	case names != nil && s.Name != "":
		return []string{"the name at this step, before name prefixes and suffixes, is " + diag.Some(names)}
	case namespaces != nil:
		if slices.ContainsFunc(namespaces, func(ns string) bool { return ns != "" }) {
			return []string{"the namespace at this step is " + diag.Some(sorted(namespaces))}
		}
		return []string{"it has no namespace at this step: remove namespace from the target"}
	case groups != nil:
		return []string{diag.Some(groups)}
	case s.Kind != "" && len(kinds) == len(sorted(kindsOf(list))):
		return []string{"the kinds are: " + diag.Some(kinds)}
	}
	return []string{"remove it, or change the selector"}
}

// sorted returns the distinct strings of list in order.
func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// advice returns hints for a pattern that matches none of the names of a field: a similar name, or
// an expression for the names that the text was probably meant to match.
func (p *pattern) advice(field, text string, names []string) []string {
	if p.literal != "" {
		if near := diag.DidYouMean(p.literal, names); near != nil {
			return near
		}
	}
	if text == "" {
		return nil
	}
	for _, other := range []string{fromGlob(text), text + ".*", ".*" + text + ".*"} {
		wider, err := compilePattern(other)
		if err != nil || len(text) < 2 {
			continue
		}
		matched := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !wider.match(name) })
		if slices.Sort(matched); len(matched) > 0 {
			return []string{fmt.Sprintf("%s is a regular expression for the whole text: %s matches %s", field,
				other, diag.Some(slices.Compact(matched)))}
		}
	}
	return nil
}

// fromGlob returns the regular expression for a text with the wildcards of a shell.
func fromGlob(text string) string {
	return strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text))
}

// String formats the conditions for messages.
func (s *Selector) String() string {
	text := ""
	for _, f := range [...][2]string{
		{"group", s.Group}, {"version", s.Version}, {"kind", s.Kind}, {"name", s.Name}, {"namespace", s.Namespace},
		{"labelSelector", s.LabelSelector}, {"annotationSelector", s.AnnotationSelector},
	} {
		if f[1] == "" {
			continue
		}
		if text != "" {
			text += " "
		}
		text += f[0] + "=" + f[1]
	}
	if text == "" {
		return "all resources"
	}
	return text
}

// A pattern is an anchored regular expression. Nearly all patterns in practice are literal text
// and are compared without a regexp.
type pattern struct {
	any     bool
	literal string
	re      *regexp.Regexp
}

func compilePattern(text string) (pattern, error) {
	switch {
	case text == "":
		return pattern{any: true}, nil
	case regexp.QuoteMeta(text) == text:
		return pattern{literal: text}, nil
	}
	// Compile the pattern without anchors first, so that errors quote the user's text.
	if _, err := regexp.Compile(text); err != nil {
		return pattern{}, patternError(text, err)
	}
	re, err := regexp.Compile("^(?:" + text + ")$")
	return pattern{re: re}, err
}

// patternError formats the error of an invalid regular expression.
func patternError(text string, err error) error {
	e := diag.Errorf(diag.Pos{}, "", "no regular expression: %s",
		strings.TrimPrefix(err.Error(), "error parsing regexp: ")).With(diag.BadSelector)
	if meant := fromGlob(text); strings.ContainsAny(text, "*?") {
		e.Hint("did you mean %q? any text is .*, and a single character is a dot", meant)
	} else {
		e.Hint("any text is .*, and a backslash makes a sign mean itself")
	}
	return e
}

func (p *pattern) match(text string) bool {
	switch {
	case p.any:
		return true
	case p.re != nil:
		return p.re.MatchString(text)
	}
	return p.literal == text
}
