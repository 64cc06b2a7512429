package yaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseCases returns bodies of documents, each for one rule of YAML.
func parseCases() []string {
	return []string{
		"", "a: b\n", "a: b", "a:\n- b\n- c\n", "a:\n  - b\n  -   c\n  - - d\n    - e\n", "a:\n- b: c\n  d: e\n-\n  f: g\n- \n",
		"a:\n\n  # c\n  b: c # d\n#e\n  f: g#h\n", "a: b\n  c\n\n  d\ne: f\n", "a:\n  b\n  c\n", "a: 'b''c'\n", "a: 'b\n  c\n\n  d'\n",
		"a: \"b\\tc\\x41\\u00e9\\U0001F600\\\"\\\\ \\N\\_\\L\\P\\0\\a\\b\\e\\f\\v\\r\\n\"\n", "a: \"b \\\n  c\n  d \n\n e\"\n",
		"a: |\n  b\n   c\n\n  d\ne: f\n", "a: |-\n  b\n\n", "a: |+\n  b\n\n", "a: |2\n    b\n   c\n", "a: |1-\n b\n", "a: |\n\n\n", "a: |",
		"a: |\n  b", "a: | # c\n  b\n",
		"a: >\n  b\n  c\n\n  d\n    e\n  f\n\n\n  g\n", "a: >-\n  b\n  c\n", "a: >+\n\n  b\n\n", "a: >2\n   b\n  c\n",
		"a: >-\n  b\n   c\n  d\n",
		"a: [b, 'c', \"d\", 1, true, null, ~, {e: f}, [g]]\n", "a: {b: c, \"d\":1, 'e': [f,\n g, # h\n  i ],\n}\n", "a: []\nb: {}\n",
		"a: [\n]\n", "{\"a\": {\"b\": [1, 2.5, -3, \"c\\n\"]}}\n",
		"a: {b, c: d}\n", "a: {b: , c: d}\n", "a: [b: c]\n", "a: [b c, d\n e]\n", "a: [,]\n", "a: [b\n", "a: {b: c\n", "a: [b]c\n",
		"a: {b: c}: d\n",
		"a: yes\nb: on\nc: y\nd: n\ne: True\nf: FALSE\ng: Null\nh: ~\n",
		"a: 1\nb: -1\nc: +1\nd: 012\ne: 0x1F\nf: 0b11\ng: 0o17\nh: 1_000\ni: 1.10\nj: 1e3\nk: -0\nl: -0.0\nm: .5\nn: 5.\no: 1e400\np: 1.5e-7\nq: 1e21\nr: 123456789.123\n",
		"a: 2001-01-01\nb: 2001-12-14t21:59:43.10-05:00\nc: 2001-12-14 21:59:43.10\nd: 2001-1-1T1:1:1Z\ne: 1:30\nf: 12:30:45\ng: 2001-13-01\n", "a: .inf\n", "a: -.INF\n", "a: .nan\n",
		"a: 10Gi\nb: 1.2.3\nc: 100m\nd: 0.5\ne: 1e\nf: 0x\ng: -\nh: --\ni: +\nj: .\nk: ..\nl: 1-2\nm: 1,2\n", "a: -b\nb: ?c\nc: :d\nd: a:b\ne: http://x/y?z#w\nf: %g\n",
		"a: @b\n", "a: `b\n", "a: \tb\n", "a:\tb\n", "\ta: b\n", "a:\n\tb: c\n", "a: b\t\n", "a: b\t# c\n", "a:\n  - b\n \t- c\n",
		"a: |\n\tb\n", "a: 'b\n\tc'\n",
		"a: b: c\n", "a: b\n c: d\n", "a:\n  b: c\n d: e\n", "- a\nb: c\n", "a: b\n- c\n", "a\n", "a\nb: c\n", "a: 'b\n", "a: \"b\n",
		"a: \"\\q\"\n", "a: \"\\ud83d\"\n",
		"a: &x b\nc: *x\n", "a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", "a: *x\n", "a: &x [*x]\n", "<<: {a: b}\n",
		"a: {<<: [{b: c}, {b: d, e: f}], b: g}\n", "a: {<<: {b: c}, <<: {d: e}}\n", "a: {<<: b}\n",
		"a: !!str 1\nb: !!int \"1\"\nc: !!float 1\nd: !x y\ne: !!binary aGk=\nf: !!set {g, h}\ni: ! 3\n", "a: !!int b\n", "a: !!binary ?\n",
		"a: !<tag:yaml.org,2002:str> 1\n",
		"? a\n: b\n", "? [a]\n: b\n", "? a\n", "a: {? b : c}\n", "1: a\n", "a: {1: b}\n", "a:\n  true: b\n", "null: a\n",
		"\"a\": b\n'c' : d\n", "a: b\na: c\n", "a: {b: c, b: d}\n", "'a': 1\n\"a\": 2\n",
		"---\na: b\n", "a: b\n---\n" + header, "a: b\n---\n", "a: b\n--- # c\n" + header, "a: b\n--- c\n", "a: b\n...\n",
		"a: b\n...\nc: [\n", "a: b\n---", "---\n---\na: b\n", "%YAML 1.1\n---\na: b\n", "--- a\n", "...\na: b\n",
		"a: b\r\nc: |\r\n  d\r\n", "a: b\rc: d\r", "\ufeffa: b\n", "a: \ufeffb\n", "a: b\x00\n", "a: \x07\n", "a: \xff\n", "a: \u0085b\n",
		"a: 'b\u2028c'\n", "é: ü\nа: 日本\n", "a: 😀\n", "a: \"\u00a0\"\n",
		"a: # b\n  c\n", "a: b #c\n  d\n", "a: b\n# c\n  d\n", "- # a\n  b\n", "-   # a\n", "a: 'b' #c\n", "a: 'b'#c\n", "a: [b] # c\n",
		"a: | \n  b\n", "a: >\n\n\n  b\n    \n  c\n", "a: |\n    b\n  c\n", "a: |\n   \n  b\n",
		"  a: b\n  c: d\n", "  a: b\n c: d\n", " - a\n - b\n", "a:\n    - b\n    - c:\n        d\n      e: f\n",
		"a:\n- - - b\n    - c\n  - d\n", "a:\n-\n  - b\n-\n- c\n", "a:\n- b\n  c\n- d:\n  e\n", "a:\n- |\n  b\n- >\n  c\n",
		"a:\n- b: |\n    c\n  d: e\n", "a: [\"b\" : c]\n", "a: {\"b\"\n: c}\n", "a: {b\n: c}\n", "a: [- b]\n", "a: [-]\n", "a: [-1]\n",
		"a: {b: -}\n", "a: [#b\nc]\n", "a: [b#c]\n", "a: {b:c}\n", "a: {b:}\n", "a: {x: a?b}\n", "kind: List\nitems: []\n",
		"a: ---\n", "a:\n  ---\n", "a:\n---\n", "a: |\n---\n", "a: 'b\n---\nc'\n", "a: [b,\n--- \nc]\n", "a: \"b\n...\nc\"\n",
		"a: b\n  --- c\n", "x: " + strings.Repeat("long words ", 20) + "\n", "x: '" + strings.Repeat("it''s ", 30) + "'\n",
		"x: \"" + strings.Repeat("a\\tb  ", 30) + "\"\n", "x: |\n  a \n  b\n", "x: \"a\\n b\\n\"\n", "x: \" a\\n\"\n", "x: \"\\n\"\n",
		"x: \"\\n\\n\"\n", "x: \"a\\n\\n\"\n", "x: \"a\\nb\"\n", "x: ' a'\ny: 'a '\nz: ''\n", "x: '*a'\ny: 'a: b'\nz: 'a #b'\n",
		"x: '- a'\ny: '-'\nz: '?'\n",
		"\"a\\nb\": c\n", strings.Repeat("k", 129) + ": v\n", strings.Repeat("k", 129) + ":\n  a: b\n  c: [d]\n",
		"a2: 1\na10: 2\na1: 3\nA: 4\n_: 5\n\"01\": 6\n\"1\": 7\na-b: 8\na.b: 9\naé: 10\n",
	}
}

func TestParseLikeKustomize(t *testing.T) {
	for _, c := range parseCases() {
		compareFastSlow(t, c)
		compareKustomize(t, c)
		compareKustomize(t, header+c)
		compareKustomize(t, header+"v:\n  "+strings.ReplaceAll(c, "\n", "\n  "))
	}
}

// TestOrdinaryFilesTakeFastPath checks that ordinary files do not need the slow path.
func TestOrdinaryFilesTakeFastPath(t *testing.T) {
	for _, c := range []string{
		"a:\n- b: c\n  d: |\n    e\n  f: >-\n    g\n    h\n", "a: 'b''c\n  d'\n", "a: \"b\\n\\\n  c\"\n", "a: [b, {c: d}] # e\n",
		"{\"a\":\n [1,\n2]}", "---\n# a\n\na: 1.5\nb: 2001-01-01\nc: 0x10\n", "a: é\r\nb: c\r\n", "a: b\n  c\n", "a: b\n---",
		"a: {b: , c: d}\n",
	} {
		if !fast([]byte(c)) {
			t.Errorf("%q takes the slow path", c)
		}
	}
}

func TestDocumentsExpandLists(t *testing.T) {
	s := &Source{File: "f.yaml", Data: []byte("# head\n\n---\n# c\n" + header +
		"---\n---\nkind: FooList\nitems:\n- kind: I\n  metadata: {name: i}\n  n: 012\n- null\n---\nkind: Last\nmetadata:\n  name: l\n")}
	docs, err := s.Documents()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		got = append(got, fmt.Sprint(d.Line, " ", d.Value.Get("kind").Text(), " ", d.Value.At("metadata", "name").Text()))
	}
	want := []string{"5 K a", "18 Last l", "11 I i"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := s.Locate(2, "metadata", "name").Line; got != 14 {
		t.Errorf("the name of item i is on line %d, want 14", got)
	}
}

func TestValueMatchesJSON(t *testing.T) {
	for in, want := range map[string]string{
		"a: yes\nb: 2001-01-01\nc: 012\nd: !foo x\n": `{"a":true,"b":"2001-01-01","c":10,"d":"x"}`,
		"a: 1\na: 2\n":                    `{"a":2}`,
		"a: 1\n---\nb: 2\n":               `{"a":1}`,
		"1: a\ntrue: b\n1.5: c\n07: d\n":  `{"1":"a","1.5":"c","7":"d","true":"b"}`,
		"":                                `null`,
		"- a\n- {b: c}\n":                 `["a",{"b":"c"}]`,
		"a: >\n  b\n    c\nd: {e: , f}\n": `{"a":"b\n  c\n","d":{"e":null,"f":null}}`,
		"a: 1\n...\nb: [\n":               `{"a":1}`,
	} {
		v, err := (&Source{Data: []byte(in)}).Value()
		if got := string(AppendJSON(nil, v)); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestWarningsNameTheLine(t *testing.T) {
	for in, want := range map[string][]string{
		"a: 1\nb: 2\na: 3\n": {`f.yaml:3: the key "a" occurs twice in one mapping; this value replaces the one on line 1` +
			"\n  remove one of them"},
		"a: 1\n---\n# c\nb: 2\n": {"f.yaml:4: the file has a second document, which is ignored"},
		"a: 1\nb: 010\n":         {"f.yaml:2: 010 is an integer and is rewritten as 8\n  put it in quotes if it is a string"},
	} {
		s := &Source{File: "f.yaml", Data: []byte(in)}
		if _, err := s.Value(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range s.Warnings() {
			got = append(got, w.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, s := range []string{"", "a<b>&\"\\\b\f\n\r\t\x00\x1f\x7f", "é\u2028\u2029😀", "\xff\xc3x"} {
		want, _ := json.Marshal(map[string]any{"k": s})
		if got := AppendJSON(nil, MapOf(Field{"k", Str(s)})); string(got) != string(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
