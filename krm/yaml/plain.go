package yaml

// Plain returns the value of text as a plain scalar in YAML: null, boolean, number, timestamp or
// string. For infinities and NaN, which the output cannot represent, it returns a string.
func Plain(text string) Value {
	if v := resolve(text, false); v.Exists() {
		return v
	}
	return Str(text)
}
