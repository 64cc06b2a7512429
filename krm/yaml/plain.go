package yaml

// Plain returns what text is in a YAML file that has it without quotes: null, boolean, number, timestamp or string. For
// infinities and NaN, which no output can hold, it returns a string.
func Plain(text string) Value {
	if v := resolve(text, false); v.Exists() {
		return v
	}
	return Str(text)
}
