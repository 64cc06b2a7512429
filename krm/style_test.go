package krm

import "testing"

func TestQuotes(t *testing.T) {
	plain, quoted := Str("8080"), QuotedStr("8080")
	if plain.Quoted() || !quoted.Quoted() || !plain.WithQuotes(true).Quoted() || quoted.WithQuotes(false).Quoted() {
		t.Error("quotes are not what was asked for")
	}
	if !plain.Equal(quoted) || !OmittedNull.Equal(NullValue) {
		t.Error("how a value is written must not count for equality")
	}
	if NullValue.IsOmitted() || !OmittedNull.IsOmitted() || OmittedNull.Quoted() || Number(Int, "1").WithQuotes(true).Quoted() {
		t.Error("a mark on the wrong type")
	}
}
