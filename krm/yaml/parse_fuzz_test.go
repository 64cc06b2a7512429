package yaml

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

const header = "apiVersion: v1\nkind: K\nmetadata:\n  name: a\n"

// FuzzParse compares the parser with yaml/v3, and the processing of a whole file with kustomize's.
func FuzzParse(f *testing.F) {
	for _, c := range parseCases() {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			t.Skip()
		}
		compareFastSlow(t, text)
		compareKustomize(t, text)
		compareKustomize(t, header+text)
		compareKustomize(t, header+"v:\n  "+strings.ReplaceAll(text, "\n", "\n  "))
	})
}

// compareFastSlow checks that a document accepted by the fast path has the same value in both
// paths.
func compareFastSlow(t *testing.T, text string) {
	for _, yaml11 := range []bool{false, true} {
		p := parser{yaml11: yaml11}
		if !simpleText(text) {
			return
		}
		v, ok := p.parse(text)
		if !ok {
			return
		}
		root, err := parseNode(text)
		if err != nil {
			t.Fatalf("%q: the fast path returns %s, yaml/v3 says %v", text, dump(v), err)
		}
		want := converted{value: OmittedNull}
		if root != nil && len(root.Content) > 0 {
			c := converter{source: &Source{}, parser: &parser{yaml11: yaml11}, known: map[*yaml.Node]converted{}}
			if want, err = c.convert(root.Content[0], 0); err != nil {
				t.Fatalf("%q: the fast path returns %s, the slow path says %v", text, dump(v), err)
			}
		}
		if dump(v) != dump(want.value) {
			t.Fatalf("%q:\nfast %s\nslow %s", text, dump(v), dump(want.value))
		}
	}
}

// dump prints the complete state of v.
func dump(v Value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(%q", v.Type(), v.Text())
	for _, x := range v.Items() {
		b.WriteString(dump(x))
	}
	for _, f := range v.Fields() {
		fmt.Fprintf(&b, "%q:%s", f.Key, dump(f.Value))
	}
	if v.is(marked) {
		b.WriteString(" marked")
	}
	if v.is(reread) {
		b.WriteString(" warped")
	}
	return b.String() + ")"
}

func compareKustomize(t *testing.T, text string) {
	s := &Source{File: "f.yaml", Data: []byte(text)}
	rs, gerr := s.Documents()
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") || deliberate(gerr) {
		return
	}
	for _, r := range rs {
		if hasDeliberate(r.Value) {
			return
		}
	}
	if endless(text) {
		return // kustomize follows it until the stack overflows; krmflow may have found an earlier error
	}
	want, werr, ok := safeOracle(text)
	if !ok {
		return
	}
	if strings.Contains(text, ">+") && strings.Contains(text, "#") {
		return // with a comment after a folded text that keeps its line ends, kustomize adds one more line end
	}
	if gerr != nil && strings.Contains(gerr.Error(), "occurs twice") && strings.Contains(text, "<<") {
		return // kustomize does not check a mapping for this if a merge key takes no fields from it
	}
	if (gerr == nil) != (werr == nil) {
		t.Fatalf("%q:\nwe say %v\nkustomize says %v", text, gerr, werr)
	}
	if gerr != nil {
		checkMessage(t, text, gerr)
		return
	}
	if got := string(appendAll(rs)); got != want && !varies(text, want) {
		t.Fatalf("%q:\nwe print %q\nkustomize prints %q", text, got, want)
	}
}

// endless reports whether an anchor of text contains itself.
func endless(text string) bool {
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var root yaml.Node
		if d.Decode(&root) != nil {
			return false
		}
		if containsItself(&root, map[*yaml.Node]bool{}) {
			return true
		}
	}
}

func containsItself(n *yaml.Node, above map[*yaml.Node]bool) bool {
	if n.Kind == yaml.AliasNode {
		return above[n.Alias]
	}
	above[n] = true
	defer delete(above, n)
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return containsItself(c, above) })
}

// varies reports whether kustomize's output varies between runs. Keys such as 1, "01" and 0A have
// no order, so it sorts them in the order of a Go map.
func varies(text, want string) bool {
	for range 100 {
		if again, _, _ := safeOracle(text); again != want {
			return true
		}
	}
	return false
}

// deliberate reports whether krmflow rejects a document that kustomize may accept.
func deliberate(err error) bool {
	if err == nil {
		return false
	}
	for _, s := range []string{"control character", "not UTF-8", "1024", "1000 levels", "contains itself", "is null"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// hasDeliberate reports whether v contains data that kustomize loses and krmflow keeps.
func hasDeliberate(v Value) bool {
	for _, x := range v.Items() {
		if hasDeliberate(x) {
			return true
		}
	}
	for _, f := range v.Fields() {
		if hasDeliberate(Str(f.Key)) || hasDeliberate(f.Value) {
			return true
		}
	}
	s := v.Text()
	if v.Type() == Float && len(s) > 15 {
		return true
	}
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x7f && r < 0xA0 || r == 0xFFFE || r == 0xFFFF || r == 0xFFFD })
}

func safeOracle(text string) (out string, err error, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	out, err = oracle([]byte(text))
	return out, err, true
}

// checkMessage checks that an error names the file and a line that exists.
func checkMessage(t *testing.T, text string, err error) {
	e, ok := err.(*diag.Error)
	lines := 2
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} { // the line breaks of YAML 1.1
		lines += strings.Count(text, end)
	}
	if !ok || e.Pos.File == "" || e.Pos.Line < 1 || e.Pos.Line > lines {
		t.Errorf("%q: the error %q names no line", text, err)
	}
}

// FuzzEmit compares the emitters with kustomize's libraries.
func FuzzEmit(f *testing.F) {
	for _, c := range parseCases() {
		f.Add(c, c)
	}
	f.Add("  leading", strings.Repeat("word ", 40))
	f.Add("\u2028x", "a\n\u2029b\nc")
	f.Add("k\nl", strings.Repeat("a", 90)+" b")
	f.Fuzz(func(t *testing.T, key, text string) {
		if len(key)+len(text) > 1<<12 || hasDeliberate(Str(key)) || hasDeliberate(Str(text)) || len(key) > 1000 {
			t.Skip()
		}
		v := MapOf(Field{key, Str(text)}, Field{"0" + key, SeqOf(Str(text), MapOf(Field{text[:min(len(text), 300)], SeqOf(Str(key))}))})
		compareEmit(t, v)
	})
}

func compareEmit(t *testing.T, v Value) {
	j := AppendJSON(nil, v)
	want, err := sigsyaml.JSONToYAML(j)
	if err != nil {
		t.Skip()
	}
	if got := string(AppendYAML(nil, v)); got != string(want) {
		t.Fatalf("%s:\nwe print %q\nkustomize prints %q", j, got, want)
	}
}
