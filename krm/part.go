package krm

// A part is a place that a [Source] made by [Source.Part] stands for.
type part struct {
	src   *Source
	doc   int
	path  []any
	value Value // what stands there
}

// Part returns the value v, which stands at path in document doc of s, as a file of its own: [Source.Value] returns v, and
// [Source.Locate] and [Source.Field] lead to the place in s. It has no other content.
func (s *Source) Part(v Value, doc int, path ...any) *Source {
	p := &Source{File: s.File, parts: []part{{s, doc, path, v}}}
	p.valueOnce.Do(func() { p.value = v })
	return p
}

// Over returns the part s after by, another part, has changed it to v. Fields that by has are located there.
func (s *Source) Over(v Value, by *Source) *Source {
	p := &Source{File: s.File, parts: append(s.parts[:len(s.parts):len(s.parts)], by.parts...)}
	p.valueOnce.Do(func() { p.value = v })
	return p
}

// Field returns the path of a field as messages show it: in the whole file, if s is a part of one.
func (s *Source) Field(path []any) string {
	if len(s.parts) == 0 {
		return FieldPath(path)
	}
	p := s.partOf(path)
	return p.src.Field(append(p.path[:len(p.path):len(p.path)], path...))
}

// FieldOf returns what [Source.Field] does for a path that is printed already.
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

// locatePart returns where a field of a part is.
func (s *Source) locatePart(path []any) Pos {
	p := s.partOf(path)
	return p.src.Locate(p.doc, append(p.path[:len(p.path):len(p.path)], path...)...)
}

// partOf returns the last part that has a value at path, the first one if none has.
func (s *Source) partOf(path []any) part {
	for i := len(s.parts) - 1; i > 0; i-- {
		if len(path) > 0 && s.parts[i].value.has(path) {
			return s.parts[i]
		}
	}
	return s.parts[0]
}

// has reports whether path leads from v to a value.
func (v Value) has(path []any) bool {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
		case int:
			if step < 0 || step >= len(v.Items()) {
				return false
			}
			v = v.Items()[step]
		}
	}
	return v.Exists()
}
