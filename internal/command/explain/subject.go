package explain

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
)

// A Subject is the resource or field to explain, as the user named it.
type Subject struct {
	text  string // as typed
	kind  string // with .GROUP if given
	space string // namespace, "" for any
	name  string
	field history.Field
}

// Parse parses KIND/NAME[:FIELD] or KIND/NAMESPACE/NAME[:FIELD]. A name may contain colons.
// Parse returns the longest interpretation for which is returns true, or else the shortest one.
func Parse(text string, is func(Subject) bool) (Subject, error) {
	for end := len(text); end >= 0; end = strings.LastIndex(text[:end], ":") {
		s, err := parse(text, text[:end], strings.TrimPrefix(text[end:], ":"))
		if err == nil && is(s) {
			return s, nil
		}
	}
	resource, field, _ := strings.Cut(text, ":")
	return parse(text, resource, field)
}

func parse(text, resource, field string) (s Subject, err error) {
	s.text = text
	parts := strings.Split(resource, "/")
	switch {
	case slices.Contains(parts, "") || len(parts) < 2 || len(parts) > 3:
		return s, fmt.Errorf("%q names no resource: write KIND/NAME or KIND/NAMESPACE/NAME, and :FIELD behind it for a field", text)
	case len(parts) == 3:
		s.space = parts[1]
	}
	s.kind, s.name = parts[0], parts[len(parts)-1]
	s.field, err = history.ParseField(field)
	return s, err
}

// Is reports whether a resource matches by its current identity or an earlier one.
func (s Subject) Is(r *krm.Resource) bool {
	if s.isID(r.ID()) {
		return true
	}
	for i := range r.Prev {
		if s.isID(r.PrevID(i)) {
			return true
		}
	}
	return false
}

func (s Subject) isID(id krm.ID) bool {
	kind, group, grouped := strings.Cut(s.kind, ".")
	return strings.EqualFold(id.Kind, kind) && (!grouped || id.Group == group) && id.Name == s.name &&
		(s.space == "" || s.space == id.EffectiveNamespace() || s.space == id.Namespace)
}

// find returns the index of the resource in the result, or -1. Current identities take
// precedence over earlier ones. Several matches are an error.
func (s Subject) find(list *krm.List) (int, error) {
	var now, before []int
	for i, r := range list.All() {
		if s.isID(r.ID()) {
			now = append(now, i)
		} else if s.Is(r) {
			before = append(before, i)
		}
	}
	if len(now) == 0 {
		now = before
	}
	switch len(now) {
	case 0:
		return -1, nil
	case 1:
		return now[0], nil
	}
	e := diag.Errorf(diag.Pos{}, "", "%s is %s", s.text, diag.Count(len(now), "resource")).With(diag.Arguments)
	for _, i := range now {
		e.Hint("%s", nameOf(list.At(i).ID()))
	}
	return -1, e
}

// nameOf returns an identity in the syntax of [Parse].
func nameOf(id krm.ID) string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	if id.Namespace != "" && !id.Cluster {
		return diag.OneLine(kind + "/" + id.Namespace + "/" + id.Name)
	}
	return diag.OneLine(kind + "/" + id.Name)
}

// ErrAbsent is wrapped by errors for a resource or field that a root does not contain.
var ErrAbsent = errors.New("not there")

// absent returns the error for a resource that no step made.
func (s Subject) absent(h *history.History, root string) error {
	var same, names []string // of the same kind, and all
	want := s.kind + "/" + s.name
	if s.space != "" {
		want = s.kind + "/" + s.space + "/" + s.name
	}
	kind, _, grouped := strings.Cut(s.kind, ".")
	for _, r := range h.Result().All() {
		short := func(id krm.ID) string { // in the form of the request
			if !grouped {
				id.Group = ""
			}
			if s.space == "" {
				id.Namespace = ""
			}
			return nameOf(id)
		}
		names = append(names, short(r.ID()))
		for i := range r.Prev {
			names = append(names, short(r.PrevID(i)))
		}
		if strings.EqualFold(r.ID().Kind, kind) {
			same = append(same, short(r.ID()))
		}
	}
	e := diag.Errorf(diag.Pos{}, "", "no step of %s makes %s", diag.Redact(filepath.ToSlash(root)), diag.OneLine(want)).With(diag.Arguments)
	e.Err = ErrAbsent
	slices.Sort(names)
	e.Hints = diag.DidYouMean(want, slices.Compact(names))
	if len(e.Hints) == 0 && len(same) > 0 {
		e.Hint("of this kind there are %s", diag.Some(same))
	}
	return e
}
