package yaml

import (
	"fmt"
	"strings"
	"testing"
)

// TestLocateManyPlaces checks both ways to find a position: the first positions of a file are
// searched one by one, later positions in a tree. Both must return the same result.
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

// TestLocateManyItems checks the same for the items of a List and for documents in turn.
func TestLocateManyItems(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range 20 {
		fmt.Fprintf(&b, "- apiVersion: v1\n  kind: A\n  metadata:\n    name: a%d\n", i)
	}
	list := &Source{File: "l.yaml", Data: []byte(b.String())}
	docs := &Source{File: "d.yaml", Data: []byte(strings.Repeat("apiVersion: v1\nkind: A\nmetadata:\n  name: a\n---\n", 20))}
	for _, s := range []*Source{list, docs} {
		if _, err := s.Documents(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		if got := list.Locate(i, "metadata", "name"); got.Line != 4*i+7 {
			t.Errorf("the name of item %d is at line %d, want %d", i, got.Line, 4*i+7)
		}
		if got := docs.Locate(i, "metadata", "name"); got.Line != 5*i+4 {
			t.Errorf("the name of document %d is at line %d, want %d", i, got.Line, 5*i+4)
		}
	}
}
