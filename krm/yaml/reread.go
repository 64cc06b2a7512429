package yaml

import "strings"

// kustomize writes a resource as YAML and reads it again before it prints it, and some values come back as others. The
// parser marks them, so that the emitters can write what kustomize would print; until then they are what the
// file says. Configuration does not go that way: nothing in a [Source.Value] is marked so.

// Nulls that are not written as null, which annotations show.
var (
	tildeNull = nullOf("~")
	titleNull = nullOf("Null")
	upperNull = nullOf("NULL")
)

// nullOf returns the null that is written as text. It has no length, so that it equals other nulls.
func nullOf(text string) Value {
	v := scalar(Null, text+"\x00")
	v.n, v.flags = 0, reread
	return v
}

// SourceText returns the text of a scalar, and of null what the file has: nothing, ~ or null.
func (v Value) SourceText() string {
	switch {
	case v.typ != Null:
		return v.Text()
	case v.is(marked):
		return ""
	case v.is(reread) && v.p == tildeNull.p:
		return "~"
	case v.is(reread) && v.p == titleNull.p:
		return "Null"
	case v.is(reread) && v.p == upperNull.p:
		return "NULL"
	}
	return "null"
}

// Reread returns a scalar as it comes back when kustomize has written and read it, which some of its steps do long before it
// prints. brackets says whether it stands in brackets.
func (v Value) Reread(brackets bool) Value {
	if brackets {
		v = v.comesBack()
	}
	switch {
	case v.typ == Null, v.becomesNull():
		return NullValue
	case v.IsFolded():
		return Str(refold(v.Text()))
	case v.IsUntyped():
		v.flags &^= marked | reread
	}
	return v
}

// IsFolded reports whether v is a string that was written as a folded block scalar.
func (v Value) IsFolded() bool { return v.typ == String && v.is(marked) && v.is(reread) }

// comesBack returns a scalar that stands in brackets as it comes back: kustomize puts what is nothing, what has a colon and
// folded text in quotes there.
func (v Value) comesBack() Value {
	switch {
	case v.IsOmitted() && !v.is(reread), v.becomesNull() && v.Text() == "": // the tag !!null keeps null
		return QuotedStr("")
	case v.typ == Time && strings.IndexByte(v.Text(), ':') >= 0, v.IsFolded():
		return QuotedStr(v.Text())
	}
	return v
}

func (e *emitter) null(v Value) string {
	if !e.straight && e.brackets > 0 && v.comesBack().typ == String {
		return `""`
	}
	return "null"
}

func (e *emitter) time(v Value) string {
	if !e.straight && e.brackets > 0 && v.comesBack().typ == String {
		return v.Text()
	}
	return timeText(v.Text())
}

func (e *emitter) output(v Value) string {
	if e.straight || e.brackets > 0 {
		return v.Text()
	}
	return v.outputText()
}

// outputText returns the text of a string as the output shows it.
func (v Value) outputText() string {
	if v.IsFolded() {
		return refold(v.Text())
	}
	return v.Text()
}

// refold returns what a folded block scalar comes back as: yaml/v3 looks at the start of the text, not at the next line,
// to decide whether a line end needs another one.
func refold(s string) string {
	if s == "" || s[0] != ' ' && strings.IndexByte(s[:len(s)-1], '\n') < 0 || !fitsBlock(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('>')
	if s[0] == ' ' || s[0] == '\n' {
		b.WriteByte('2')
	}
	switch {
	case !strings.HasSuffix(s, "\n"):
		b.WriteByte('-')
	case s == "\n" || strings.HasSuffix(s, "\n\n"):
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	first := strings.TrimLeft(s, "\n")
	double := first != "" && class[first[0]]&isBlank == 0
	text := false // whether the line has text that does not start with a blank
	for line := range strings.SplitAfterSeq(s, "\n") {
		if line != "\n" && line != "" {
			b.WriteString("  ")
			text = class[line[0]]&isBlank == 0
		}
		b.WriteString(line)
		if text && double && line != "\n" && strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	p := parser{s: b.String()}
	if v, ok := p.blockText(0); ok {
		return v
	}
	return s
}

// fitsBlock reports whether yaml/v3 writes s as a block scalar rather than in quotes.
func fitsBlock(s string) bool {
	if strings.HasSuffix(s, " ") || strings.Contains(s, " \n") {
		return false
	}
	for _, r := range s {
		if r < 0x80 && class[r]&isControl != 0 || r > 0xFFFF || r >= 0x80 && firstOdd(string(r)) == 0 {
			return false
		}
	}
	return true
}
