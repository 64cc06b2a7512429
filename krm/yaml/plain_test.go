package yaml

import "testing"

func TestPlainInfersType(t *testing.T) {
	for text, want := range map[string]Type{
		"": Null, "~": Null, "true": Bool, "yes": String, "12": Int, "0x1f": Int, "1.5": Float, "1e3": Float, ".5": Float,
		"2020-01-02": Time, "a": String, ".inf": String, "-.INF": String, ".nan": String, "1.2.3": String, "-": String,
	} {
		if got := Plain(text); got.Type() != want {
			t.Errorf("Plain(%q) is a %s, want a %s", text, got.Type(), want)
		}
	}
}
