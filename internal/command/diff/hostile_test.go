package diff_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	diffcmd "github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/command/diff/cause"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/krm/diff"
)

// hostileText contains text that controls a terminal, disguises text, or ends a block in one of the
// output forms.
const hostileText = "\x1b[31mred\x1b]0;t\x07 \u202eabc\u202c \u2028 ```\n```` </details></pre><script>alert(1)</script>\n@@ -1 +1 @@\r--- a/x\n+++ b/x\n"

// Hostile names, fields and values are harmless in every output form: they cannot control a
// terminal, reorder text, end a block or run as a script. The forms for people have no overlong
// lines, and no form takes long for such a text.
func TestHostileNamesAreHarmless(t *testing.T) {
	side := func(n string) string {
		long := strings.Repeat("`", 300_000) + n
		text := hostileText + n
		one := func(v map[string]any) string {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		return strings.Join([]string{
			one(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "x", "annotations": map[string]any{text[:40]: text, "one": "\u202e</summary>```" + n}},
				"data":     map[string]any{"text": text + "\n" + long + "\nend\n", "inside.json": one(map[string]any{"a": text})}}),
			one(map[string]any{"apiVersion": "v1", "kind": "K\n\x1b[31m<i>",
				"metadata": map[string]any{"name": "n\n\u202e</b>`" + n, "namespace": "a\u2028b"},
				"spec":     map[string]any{"a": text, "b": long}}),
			one(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": text[:40]}, "spec": map[string]any{
				"containers": []any{map[string]any{"name": text, "image": "x/" + n + strings.ReplaceAll(text+long, " ", "")}},
				"volumes":    []any{map[string]any{"name": text, "hostPath": map[string]any{"path": text + long}}}}}),
		}, "\n---\n")
	}
	changes := diff.Lists(list(t, side("1")), list(t, side("2")), nil)
	var found [][]findings.Finding
	for i := range changes.Resources {
		found = append(found, findings.Of(&changes.Resources[i], nil, &cause.Finder{}, nil))
	}
	if n := len(slices.Concat(found...)); n < 2 {
		t.Errorf("%d findings", n)
	}
	name := "dir\n\x1b[31m</b>`\u202e[a](b)"
	r := &diffcmd.Result{Against: "git:x`\u202e", Commit: strings.Repeat("a", 40), Roots: []diffcmd.Root{{Name: name, Changes: changes, Findings: found}},
		Failed: []string{name}}
	forms := map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return r.WriteText(w, diffcmd.Style{}) },
		"unified":  r.WriteUnified,
		"markdown": func(w io.Writer) error { return r.WriteMarkdown(w, 10_000_000) },
		"json":     r.WriteJSON,
		"html":     r.WriteHTML,
		"sarif":    r.WriteSARIF,
	}
	for form, write := range forms {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(form, err)
		}
		for i, c := range b.String() {
			if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.In(c, unicode.Zl, unicode.Zp) || c >= 0x202a && c <= 0x202e) {
				t.Errorf("%s has %q at %d", form, c, i)
				break
			}
		}
		for line := range strings.Lines(b.String()) {
			if len(line) > 5000 && (form == "text" || form == "markdown") {
				t.Errorf("%s has a line of %d bytes", form, len(line))
			}
		}
		switch form {
		case "json":
			var doc struct {
				Failed []string
			}
			if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Failed) != 1 || doc.Failed[0] != name {
				t.Errorf("%v, %q", err, doc.Failed)
			}
		case "html":
			if strings.Contains(b.String(), "<script>alert") {
				t.Error("a value is a script")
			}
		case "markdown":
			checkBlocks(t, b.String())
		}
	}
}

// checkBlocks reports lines of values that are outside of the fences of a Markdown text.
func checkBlocks(t *testing.T, text string) {
	t.Helper()
	open, fence := 0, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence != "" && line == fence:
			fence = ""
		case fence != "":
			if strings.HasPrefix(strings.TrimLeft(line, " "), fence) {
				t.Errorf("%q ends a block", line)
			}
		case strings.HasPrefix(line, "```"):
			fence = strings.TrimSuffix(line, "diff")
		case strings.HasPrefix(line, "<details>"):
			open++
		case line == "</details>":
			open--
		}
		if fence == "" && strings.Contains(line, "<script") {
			t.Errorf("%q is outside of a block", line)
		}
	}
	if open != 0 || fence != "" {
		t.Errorf("%d blocks are open, and %q", open, fence)
	}
}

// However many roots could not be compared, the Markdown form keeps to its size limit and then
// prints their number.
func TestMarkdownSize(t *testing.T) {
	r := &diffcmd.Result{Against: "git:HEAD"}
	for i := range 20 {
		r.Failed = append(r.Failed, strings.Repeat("x", 10*i))
		r.Roots = append(r.Roots, diffcmd.Root{Name: strings.Repeat("y", i+1),
			Changes: diff.Lists(nil, list(t, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c`+strings.Repeat("z", i)+
				`"}}`), nil)})
	}
	for _, c := range []struct {
		max  int
		want string
	}{{1000, "\nNot compared: 20 roots\n"}, {6000, "xxx`\n"}, {60_000, "xxx`\n"}} {
		var b bytes.Buffer
		if err := r.WriteMarkdown(&b, c.max); err != nil || b.Len() > c.max || !strings.Contains(b.String(), c.want) {
			t.Errorf("%d: %v, %d bytes: %s", c.max, err, b.Len(), b.String())
		}
	}
}
