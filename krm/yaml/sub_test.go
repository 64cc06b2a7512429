package yaml

import (
	"testing"

	"github.com/krmflow/krmflow/diag"
)

func TestPartsKeepPositions(t *testing.T) {
	file := &Source{File: "a.yaml", Data: []byte("x: 1\nlist:\n- a: 1\n  b:\n    c: 2\n")}
	other := &Source{File: "b.yaml", Data: []byte("patch:\n  b:\n    c: 3\n    d: 4\n")}
	v, err := file.Value()
	if err != nil {
		t.Fatal(err)
	}
	w, err := other.Value()
	if err != nil {
		t.Fatal(err)
	}
	part := file.Sub(v.Get("list").Items()[0], 0, "list", 0)
	changed := part.Over(w.Get("patch"), other.Sub(w.Get("patch"), 0, "patch"))
	for _, tt := range []struct {
		src         *Source
		path        []any
		file, field string
		line        int
	}{
		{part, nil, "a.yaml", "list[0]", 3},
		{part, []any{"b", "c"}, "a.yaml", "list[0].b.c", 5},
		{part, []any{"missing"}, "a.yaml", "list[0].missing", 3},
		{changed, nil, "a.yaml", "list[0]", 3},
		{changed, []any{"a"}, "a.yaml", "list[0].a", 3},
		{changed, []any{"b", "d"}, "b.yaml", "patch.b.d", 4},
		{changed, []any{"b", 0}, "a.yaml", "list[0].b[0]", 4},
		{file, []any{"x"}, "a.yaml", "x", 1},
	} {
		if pos, field := tt.src.Locate(0, tt.path...), tt.src.Field(tt.path); pos != (diag.Pos{File: tt.file, Line: tt.line}) ||
			field != tt.field {
			t.Errorf("%v: %s %s, want %s:%d %s", tt.path, pos, field, tt.file, tt.line, tt.field)
		}
	}
	if got, err := part.Value(); err != nil || got.At("b", "c").Text() != "2" {
		t.Errorf("value %s, %v", AppendYAML(nil, got), err)
	}
	for field, want := range map[string]string{"": "list[0]", "a.b": "list[0].a.b"} {
		if got := part.FieldOf(field); got != want {
			t.Errorf("FieldOf(%q) = %q, want %q", field, got, want)
		}
	}
	if got := file.FieldOf("a"); got != "a" {
		t.Errorf("FieldOf of a whole file = %q", got)
	}
}

func TestTextOrMap(t *testing.T) {
	v := MapOf(Field{"list", SeqOf(Str("a"), MapOf(Field{"k", Str("v")}), Number(Int, "3"))})
	var into struct {
		List []TextOrMap `json:"list"`
	}
	errs := Decode(v, &into)
	if len(errs) != 1 || errs[0].Field() != "list[2]" || errs[0].Msg != "must be a string, not an integer" {
		t.Errorf("errors %v", errs)
	}
	if l := into.List; len(l) != 3 || l[0].Text != "a" || l[0].Map.Exists() || l[1].Map.Get("k").Text() != "v" {
		t.Errorf("%v", l)
	}
}
