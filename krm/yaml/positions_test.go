package yaml

import (
	"fmt"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/diag"
)

// TestTraceLine compares the lines of all fields with the slow parser's.
func TestTraceLine(t *testing.T) {
	for _, c := range []struct {
		text string
		slow bool // lineOfPath leaves the text to the slow path
	}{
		{text: "a: 1\nb: 2\n"},
		{text: "# c\n\n---\na:\n  b:\n    c: 1\n    d:\n    - 1\n    - x: 2\n      z: 3\n  # c\n  e: 1\nf: 2\n"},
		{text: "a:\n- b\n-\n  c: 1\n-\n- - d\n  - e\nf:\n  - |\n    g: 1\n    h\n  - 'i\n\n    j'\n  - k\n    l\nm: n\n"},
		{text: "'a':\n  \"b\": >-\n    c: d\n\n  e: []\n  f: {}\n  g:\n\n    h\ni:\nj: \"k\n\n  l\"\nm: 1\n"},
		{text: "- a: 1\n\n  b: 2\n- c\n"},
		{text: "a:\n\n  b: 1"},
		{text: "a: {b: 1}\nc: 2\n", slow: true},
		{text: "a: &x 1\nb: *x\n", slow: true},
		{text: "", slow: true},
	} {
		v, err := (&Source{Data: []byte(c.text)}).Value()
		root, nodeErr := parseNode(c.text)
		if err != nil || nodeErr != nil {
			t.Fatal(err, nodeErr)
		}
		if c.slow {
			if got := lineOfPath(c.text, nil); got != 0 {
				t.Errorf("%q: line %d, want 0", c.text, got)
			}
			continue
		}
		eachPath(v, nil, func(path []any) {
			for _, p := range [][]any{path, append(slices.Clip(path), "none", 7), append(slices.Clip(path), 99)} {
				if got, want := lineOfPath(c.text, p), lineAt(root.Content[0], p); got != want {
					t.Errorf("%q: %s is at line %d, want %d", c.text, fmt.Sprint(p...), got, want)
				}
			}
		})
	}
}

func eachPath(v Value, path []any, fn func([]any)) {
	fn(path)
	for _, f := range v.Fields() {
		eachPath(f.Value, append(slices.Clip(path), f.Key), fn)
	}
	for i, item := range v.Items() {
		eachPath(item, append(slices.Clip(path), i), fn)
	}
}

func TestLocateLineOfText(t *testing.T) {
	src := &Source{File: "k.yaml", Data: []byte("patches:\n- patch: |\n    a\n\n    b\n- patch: 'a\n    b'\n- {patch: a}\n")}
	for _, tc := range []struct {
		entry, line, want int
	}{{0, 1, 3}, {0, 3, 5}, {1, 2, 6}, {2, 1, 8}} {
		if got := src.Locate(0, "patches", tc.entry, "patch", diag.TextLine(tc.line)).Line; got != tc.want {
			t.Errorf("line %d of patch %d is on line %d, want %d", tc.line, tc.entry, got, tc.want)
		}
	}
}
