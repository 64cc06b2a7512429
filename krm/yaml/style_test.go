package yaml

import (
	"strings"
	"testing"
)

func TestQuotesDoNotAffectEquality(t *testing.T) {
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

// TestParsedStyle reads the same text with the fast parser and, by adding an anchor, with the slow
// parser.
func TestParsedStyle(t *testing.T) {
	const text = `kind: K
metadata: {name: n}
plain: a
double: "a"
single: 'a'
escaped: "a\n"
literal: |
  a
folded: >
  a
nothing:
tilde: ~
word: null
flow: {plain: a, quoted: "a", nothing: , word: null}
list:
-
- "a"
- a
`
	for _, start := range []string{"", "anchor: &a b\nalias: *a\n"} {
		docs, err := (&Source{Data: []byte(start + text)}).Documents()
		if err != nil {
			t.Fatal(err)
		}
		v := docs[0].Value
		for path, quoted := range map[string]bool{
			"plain": false, "double": true, "single": true, "escaped": true, "literal": true, "folded": true, "kind": false,
			"flow.plain": false, "flow.quoted": true,
		} {
			if got := v.At(strings.Split(path, ".")...); got.Quoted() != quoted {
				t.Errorf("%s: quoted: got %v, want %v", path, got.Quoted(), quoted)
			}
		}
		for path, omitted := range map[string]bool{"nothing": true, "tilde": false, "word": false, "flow.nothing": true,
			"flow.word": false} {
			if got := v.At(strings.Split(path, ".")...); got.IsOmitted() != omitted {
				t.Errorf("%s: omitted: got %v, want %v", path, got.IsOmitted(), omitted)
			}
		}
		if list := v.Get("list").Items(); !list[0].IsOmitted() || !list[1].Quoted() || list[2].Quoted() {
			t.Errorf("items: %v", list)
		}
	}
}

func TestListItemsAreQuoted(t *testing.T) {
	docs, err := (&Source{Data: []byte(
		"kind: List\nitems:\n- {kind: ConfigMapList, items: [{kind: A, metadata: {name: a}, x: , y: a}]}\n")}).Documents()
	if err != nil {
		t.Fatal(err)
	}
	if v := docs[0].Value; v.Get("x").IsOmitted() || !v.Get("y").Quoted() {
		t.Error("items of lists of a kind come through JSON: all strings are quoted, all nulls written out")
	}
}

func TestSetStr(t *testing.T) {
	for s, quoted := range map[string]bool{"": false, "a": false, "yes": true, "y": true, "5": true, "1.5": true, "true": true, "~": true,
		"2020-01-01": false, "a\nb": true, "{a: b}": true} {
		if got := SetStr(s); got.Quoted() != quoted || got.Text() != s {
			t.Errorf("%q: quoted: got %v, want %v", s, got.Quoted(), quoted)
		}
	}
}

func TestBooleanKeepsItsSpelling(t *testing.T) {
	docs, err := (&Source{Data: []byte("kind: K\nmetadata: {name: n}\na: True\nb: FALSE\n")}).Documents()
	if err != nil {
		t.Fatal(err)
	}
	v := docs[0].Value
	if v.Get("a").Text() != "True" || v.Get("b").Text() != "FALSE" {
		t.Errorf("got %q, %q", v.Get("a").Text(), v.Get("b").Text())
	}
	if got := string(AppendYAML(nil, v.Get("a"))) + string(AppendJSON(nil, v.Get("b"))); got != "true\nfalse" {
		t.Errorf("got %q", got)
	}
}
