package yaml

import "github.com/krmflow/krmflow/diag"

// A sub is the place in a file of a [Source] made by [Source.Sub].
type sub struct {
	src   *Source
	doc   int
	path  []any
	value Value // the value at path
}

// Sub returns the value v, which is at path in document doc of s, as a separate Source:
// [Source.Value] returns v, and [Source.Locate] and [Source.Field] return places in s. It has no
// other content.
func (s *Source) Sub(v Value, doc int, path ...any) *Source {
	p := &Source{File: s.File, subs: []sub{{s, doc, path, v}}}
	p.valueOnce.Do(func() { p.value = v })
	return p
}

// Over returns the part s after a different part, by, has changed it to v. Fields that by has are
// located there.
func (s *Source) Over(v Value, by *Source) *Source {
	p := &Source{File: s.File, subs: append(s.subs[:len(s.subs):len(s.subs)], by.subs...)}
	p.valueOnce.Do(func() { p.value = v })
	return p
}

// Field returns the path of a field for messages: in the whole file, if s is a part of one.
func (s *Source) Field(path []any) string {
	if len(s.places) > 0 {
		p, at := s.placeOf(path)
		return p.Source.Field(at)
	}
	if len(s.subs) == 0 {
		return diag.FieldPath(path)
	}
	p := s.subOf(path)
	return p.src.Field(append(p.path[:len(p.path):len(p.path)], path...))
}

// FieldOf is [Source.Field] for a path that is already formatted.
func (s *Source) FieldOf(field string) string {
	switch at := s.Field(nil); {
	case at == "":
		return field
	case field == "":
		return at
	default:
		return at + "." + field
	}
}

// locateSub returns the position of a field of a part.
func (s *Source) locateSub(path []any) diag.Pos {
	p := s.subOf(path)
	return p.src.Locate(p.doc, append(p.path[:len(p.path):len(p.path)], path...)...)
}

// subOf returns the last part with a value at path, or the first part if none has one.
func (s *Source) subOf(path []any) sub {
	for i := len(s.subs) - 1; i > 0; i-- {
		if len(path) > 0 && s.subs[i].value.Follow(path...).Exists() {
			return s.subs[i]
		}
	}
	return s.subs[0]
}

// Follow returns the value at path (mapping keys and list indexes) in v, None if there is none.
func (v Value) Follow(path ...any) Value {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
		case int:
			if step < 0 || step >= len(v.Items()) {
				return Value{}
			}
			v = v.Items()[step]
		}
	}
	return v
}
