package krm

import (
	"fmt"
	"strings"
	"testing"
)

// The first places of a file are looked for one by one and later ones in a tree: both must say the same.
func TestLocateManyPlaces(t *testing.T) {
	var b strings.Builder
	b.WriteString("# a comment\nresources:\n")
	for i := range 50 {
		fmt.Fprintf(&b, "- r%d.yaml\n", i)
	}
	b.WriteString("images:\n- name: a\n  newTag: \"1\"\n")
	s := &Source{File: "k.yaml", Data: []byte(b.String())}
	for i := range 50 {
		if got := s.Locate(0, "resources", i); got.Line != i+3 {
			t.Errorf("resources[%d] is at line %d, want %d", i, got.Line, i+3)
		}
	}
	for _, c := range []struct {
		path []any
		line int
	}{{[]any{"images", 0, "newTag"}, 55}, {[]any{"images", 0, "missing"}, 54}, {[]any{"missing"}, 2}, {nil, 2}} {
		fresh := &Source{File: "k.yaml", Data: s.Data}
		if one, many := fresh.Locate(0, c.path...), s.Locate(0, c.path...); one != many || many.Line != c.line {
			t.Errorf("%v: lines %d and %d, want %d", c.path, one.Line, many.Line, c.line)
		}
	}
}
