package yaml

import "strings"

// Before kustomize prints a resource, it writes it as YAML and reads it again, which changes some
// values. The parser marks those values, and the emitters write the changed form. Until then,
// values are as in the file. Configuration does not take this round trip, so no part of a
// [Source.Value] is marked in this way.

// Nulls that are not written as null. Annotations show the difference.
var (
	tildeNull = nullOf("~")
	titleNull = nullOf("Null")
	upperNull = nullOf("NULL")
)

// nullOf returns the null that is written as text. Its length is 0, so that it equals other nulls.
func nullOf(text string) Value {
	v := scalar(Null, text+"\x00")
	v.n, v.flags = 0, reread
	return v
}

// SourceText returns the source text of a scalar. For a null, it is "", "~", "null", "Null" or
// "NULL".
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

// Reread returns a scalar as it is after kustomize has written and read it. Some steps of
// kustomize do so long before it prints. brackets is true if the scalar is in brackets.
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

// comesBack returns a scalar in brackets as it is after writing and reading it: kustomize puts
// omitted nulls, timestamps with a colon and folded text in quotes.
func (v Value) comesBack() Value {
	switch {
	// A null with the tag !!null stays null.
	case v.IsOmitted() && !v.is(reread), v.becomesNull() && v.Text() == "":
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

// outputText returns the text of a string in the output.
func (v Value) outputText() string {
	if v.IsFolded() {
		return refold(v.Text())
	}
	return v.Text()
}

// refold returns the text of a folded block scalar after writing and reading it. It may differ
// because yaml/v3 looks at the start of the text, rather than at the next line, to decide whether
// a line end must be doubled.
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
	text := false // the line has text that does not start with a blank
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
