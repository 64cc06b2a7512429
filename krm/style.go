package krm

// Two traces of how a scalar was written survive parsing, because kustomize's strategic merge depends on them.

// OmittedNull is the null that is written as nothing, as in "key:".
var OmittedNull = Value{typ: Null, marked: true}

// IsOmitted reports whether v is the null that is written as nothing. A merge drops such fields from mappings on its way
// and keeps those that are written as null or ~.
func (v Value) IsOmitted() bool { return v.typ == Null && v.marked }

// QuotedStr returns a string as quotes or a block scalar write it.
func QuotedStr(s string) Value { return Str(s).WithQuotes(true) }

// Quoted reports whether v is a string that was written in quotes or as a block scalar. A number or boolean that a merge
// puts into its place becomes a string.
func (v Value) Quoted() bool { return v.typ == String && v.marked }

// WithQuotes returns the string v as written with or without quotes. Other values are returned unchanged.
func (v Value) WithQuotes(quoted bool) Value {
	if v.typ == String {
		v.marked = quoted
	}
	return v
}
