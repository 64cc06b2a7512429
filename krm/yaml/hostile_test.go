package yaml

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileDocumentsFailQuickly parses malicious documents. Parsing each must end quickly,
// usually with an error that names a line.
func TestHostileDocumentsFailQuickly(t *testing.T) {
	bomb := "a0: &a0 [x]\n"
	for _, c := range "123456789" {
		prev := "*a" + string(c-1)
		bomb += "a" + string(c) + ": &a" + string(c) + " [" + strings.Repeat(prev+",", 8) + prev + "]\n"
	}
	chain := "a0: &a0 [x]\n"
	for i := range 3000 {
		chain += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases of aliases": {header + bomb, "aliases of the document expand to more than"},
		"aliases of a long text": {header + "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n",
			"aliases of the document expand to more than"},
		"aliases in a chain":  {header + chain, "nested more than 1000 levels"},
		"anchor in itself":    {header + "a: &a [*a]\n", "f.yaml:5: the anchor a contains itself"},
		"anchor below itself": {header + "a: &a {b: {c: *a}}\n", "f.yaml:5: the anchor a contains itself"},
		"merge of itself":     {header + "a: &a {<<: *a}\n", "f.yaml:5: the anchor a contains itself"},
		"many brackets":       {header + "a: " + strings.Repeat("[", 100_000), "nested more than 1000 levels"},
		"closed brackets": {header + "a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n",
			"nested more than 1000 levels"},
		"many dashes":          {header + "a:\n" + strings.Repeat("- ", 1<<20) + "\n", "nested more than 1000 levels"},
		"tagged brackets":      {header + "b: !x y\na: " + strings.Repeat("[", 100_000), "nested more than 1000 levels"},
		"a long key":           {header + "? [a,b]\n: c\n", "f.yaml:5: the key of a mapping is itself a list"},
		"a longer key":         {header + strings.Repeat("k", 5000) + ": c\n", "f.yaml:5: the key is longer than 1024 characters"},
		"a long line":          {header + "a: " + strings.Repeat("x", 2<<20) + "\n", ""},
		"many keys":            {header + "a:\n" + manyLines(50_000, "  k%d: v\n"), ""},
		"many keys backwards":  {header + "a:\n" + manyLines(-50_000, "  k%d: v\n"), ""},
		"many tagged keys":     {header + "t: !x y\na:\n" + manyLines(50_000, "  k%d: v\n"), ""},
		"many documents":       {strings.Repeat(header+"---\n", 20_000), ""},
		"many comments":        {header + strings.Repeat("# c\n", 1<<20), ""},
		"many blank lines":     {header + "a: b" + strings.Repeat("\n", 1<<20) + "  c\n", ""},
		"many blank blocks":    {header + "a: >\n" + strings.Repeat("\n", 1<<20) + "  c\n", ""},
		"many quotes":          {header + "a: '" + strings.Repeat("''", 1<<20) + "'\n", ""},
		"tagged comments":      {header + "t: !x y\n" + strings.Repeat("# c\n", 1<<18), ""},
		"tagged items":         {header + "t: !x y\na:\n" + strings.Repeat("- a # b\n# c\n\n", 1<<16), ""},
		"tagged brackets open": {header + "t: !x y\na: [" + strings.Repeat("{a: b}, # c\n", 1<<16) + "]\n", ""},
		"a tagged long line":   {header + "a: !x " + strings.Repeat("x", 2<<20) + "\n", ""},
		"tagged deep mappings": {header + "t: !x y\na:" + deepMappings(900) + "\n", ""},
		"a tab":                {header + "a:\n\tb: c\n", "f.yaml:6: found a tab where indentation is expected"},
		"a zero byte":          {header + "a: b\x00c\n", "f.yaml:5: found the control character U+0000"},
		"a lost byte":          {header + "a: b\xffc\n", "f.yaml:5: found the byte 0xFF, which is not UTF-8"},
		"an open quote":        {header + "a: 'b\nc: d\n", "f.yaml:5: the closing quote of this text is missing"},
		"an infinity":          {header + "a: .inf\n", "f.yaml:5: a: the number .inf cannot be written as JSON"},
		"a duplicate": {header + "a:\n  b: 1\n  c: 2\n  b: 3\n",
			`f.yaml:8: the key "b" occurs twice in one mapping; the first is on line 6`},
		"a duplicate in JSON": {`{"kind":"K","metadata":{"name":"a"},"kind":"L"}`,
			`f.yaml:1: the key "kind" occurs twice in one mapping; the first is on line 1`},
		"no kind": {"a: b\n", "f.yaml:1: the object has no kind"},
		"no name": {"# c\nkind: K\n", "f.yaml:2: the K has no metadata.name"},
		"a list":  {"- a\n", "f.yaml:1: the document is a list, not a Kubernetes object"},
	} {
		start := time.Now()
		s := &Source{File: "f.yaml", Data: []byte(c.text)}
		rs, err := s.Documents()
		if err == nil {
			appendAll(rs)
		}
		if d := time.Since(start); d > 60*time.Second {
			t.Errorf("%s: took %s", name, d)
		} else if testing.Verbose() {
			t.Logf("%s: %s: %.100v", name, d, err)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// manyLines returns n lines, in descending order if n is negative.
func manyLines(n int, format string) string {
	var b strings.Builder
	for i := range max(n, -n) {
		if n < 0 {
			i = -n - i
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func deepMappings(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\n" + strings.Repeat(" ", i+1) + "k:")
	}
	return b.String()
}
