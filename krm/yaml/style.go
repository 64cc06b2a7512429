package yaml

import "strings"

// Values keep a few details of how a scalar was written, because kustomize's strategic merge and
// vars depend on them: whether a null was omitted, whether a string was quoted, and whether a
// scalar has its type only from its text ([Untyped]).

// OmittedNull is the null that is written as nothing, as in "key:".
var OmittedNull = Value{typ: Null, flags: marked}

// IsOmitted reports whether v is the null that is written as nothing. A merge drops such fields
// from mappings that it visits, and keeps those that are written as null or ~.
func (v Value) IsOmitted() bool { return v.typ == Null && v.is(marked) }

// QuotedStr returns a string that is marked as written in quotes or as a block scalar.
func QuotedStr(s string) Value { return Str(s).WithQuotes(true) }

// SetStr returns a string in the style that kyaml uses for strings set by a program: as a block
// scalar if it has several lines, and in quotes only if YAML 1.1 would not read it as a string.
func SetStr(s string) Value {
	v := Str(s)
	if s == "" {
		return v
	}
	return v.WithQuotes(s[0] == '{' || s[0] == '[' || strings.Contains(s, "\n") || resolve(s, true).typ != String)
}

// SetAgain returns a scalar as it is after kyaml sets a field to the value that it already has: it
// puts strings that YAML 1.1 would not read as strings in quotes, and untyped text as well.
func (v Value) SetAgain() Value {
	switch {
	case v.typ == String && !v.is(marked) && v.n > 0 && !v.is(linked) && hint[*(*byte)(v.p)] != 0:
		if SetStr(v.Text()).is(marked) {
			return QuotedStr(v.Text())
		}
	case v.typ > Null && v.typ < String && v.is(marked):
		return QuotedStr(v.Text())
	}
	return v
}

// Quoted reports whether v is a string that was written in quotes or as a block scalar. A number
// or boolean with which a merge replaces it becomes a string.
func (v Value) Quoted() bool { return v.typ == String && v.is(marked) }

// WithQuotes returns the string v as written with or without quotes. Other values are returned
// unchanged.
func (v Value) WithQuotes(quoted bool) Value {
	if v.typ == String {
		v = v.flagged(reread, v.IsFolded() && quoted).flagged(marked, quoted)
	}
	return v
}

// WithStyleOf returns the string, list or mapping v in the style of old: plain, in quotes or as a
// block scalar; in brackets or not. Other values are returned unchanged.
func (v Value) WithStyleOf(old Value) Value {
	switch v.typ {
	case String:
		untyped := v.IsUntyped() && !old.Quoted()
		v = v.flagged(marked, old.Quoted()).flagged(reread, old.IsFolded() || untyped)
	case Seq, Map:
		v = v.flagged(marked, old.InBrackets())
	}
	return v
}

// InBrackets reports whether v is a list or mapping that was written in brackets. Values that
// kustomize adds to it are also written in brackets, where some scalars change: see
// [Value.Reread].
func (v Value) InBrackets() bool { return v.typ >= Seq && v.is(marked) }

// AsBlock returns the list or mapping v as a program writes it: in brackets only if it is empty.
func (v Value) AsBlock() Value {
	v = v.flagged(marked, v.n == 0)
	return v
}

// WithFields returns a mapping of fields, in brackets if v is. It takes ownership of the slice.
// Keys must be unique.
func (v Value) WithFields(fields ...Field) Value {
	w := MapOf(fields...)
	w = w.flagged(marked, v.InBrackets())
	return w
}

// WithItems returns a list of items, in brackets if v is. It takes ownership of the slice.
func (v Value) WithItems(items ...Value) Value {
	w := SeqOf(items...)
	w = w.flagged(marked, v.InBrackets())
	return w
}

// Untyped returns the same value as [Plain], for text that a step writes without a type. As long
// as no step assigns it a type, it is also treated as a string, and text that replaces it may have
// a different type. A text that means null stays a string for merges, replacements and all other
// steps, and becomes null when it is written.
func Untyped(text string) Value {
	v := Plain(text)
	switch {
	case v.typ == Null:
		v = Str(text).flagged(reread, true)
	case v.typ == String:
		v.flags |= reread
	case v.typ > Null:
		v.flags |= marked
	}
	return v
}

// IsUntyped reports whether v was made by [Untyped].
func (v Value) IsUntyped() bool {
	return v.typ == String && v.is(reread) && !v.is(marked) || v.is(marked) && v.typ > Null && v.typ < String
}

// Settled returns null if [Untyped] made v from a text that means null, because v becomes null
// when it is written. Otherwise it returns v.
func (v Value) Settled() Value {
	switch {
	case !v.becomesNull():
		return v
	case v.Text() == "":
		return OmittedNull
	}
	return NullValue
}

// becomesNull reports whether v is a string that [Untyped] made from a text that means null.
func (v Value) becomesNull() bool {
	return v.typ == String && v.is(reread) && !v.is(marked) && Plain(v.Text()).typ == Null
}
