package diag

import "testing"

func TestParseLevel(t *testing.T) {
	for _, l := range []Level{LevelOff, LevelInfo, LevelWarning, LevelError} {
		if got, err := ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("ParseLevel(%q) = %v, %v", l, got, err)
		}
	}
	for _, name := range []string{"", "Error", "note", "4"} {
		if l, err := ParseLevel(name); err == nil || l != LevelOff {
			t.Errorf("ParseLevel(%q) = %v, %v", name, l, err)
		}
	}
	if got := Level(9).String(); got != "Level(9)" {
		t.Errorf("Level(9) is %q", got)
	}
}
