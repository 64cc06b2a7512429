package fn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FuzzCase reads any text as each file of a case. The result is a case, or an error in one of its
// files.
func FuzzCase(f *testing.F) {
	for _, text := range []string{
		"", "a: b", "apiVersion: v1\nkind: ConfigMap\n",
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{apiVersion: v1, kind: A}]\nfunctionConfig: {kind: A}\n",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: AList\n  items: [{}]\n",
		"kind: ResourceList\nitems: {}\n---\nkind: ResourceList\n", "(", "a\n\n[", "\xff\xfe", "&a [*a]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{inputFile, configFile, expectedFile, errorsFile} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := readCase(dir, true)
			if err == nil && (c == nil || c.input.items == nil && c.config == nil && c.input.file == "") {
				t.Errorf("%s: %+v", name, c)
			}
			if err != nil && !strings.Contains(err.Error(), filepath.Base(dir)) {
				t.Errorf("%s: %v says not where", name, err)
			}
		}
	})
}

// FuzzPage makes a page from any description and any schema. The page keeps its own lines.
func FuzzPage(f *testing.F) {
	f.Add("a\n# b", "{type: object, required: [a], properties: {a: {type: string, description: 'x | y', enum: [a]}}}")
	f.Add("```\n<b>", "{items: {items: {default: [1]}}, additionalProperties: {example: {a: '```'}}}")
	f.Add("|", "&a {properties: {b: {minimum: 99999999999999999999}, c: {type: array, items: {type: boolean}}}}")
	f.Fuzz(func(t *testing.T, description, schema string) {
		v, err := (&yaml.Source{File: "schema", Data: []byte(schema)}).Value()
		if err != nil {
			return
		}
		e := &catalog.Entry{GVK: krm.ParseGVK("example.com/v1", "A"), Description: description, Schema: v}
		p := &page{Kind: e.Kind, Description: description, Versions: []pageVersion{versionOf(e)}}
		var b strings.Builder
		p.markdown(&b)
		text, _, _ := strings.Cut(b.String(), "yaml\napiVersion")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "#") && line != "# A\n" && line != "## example.com/v1\n" && line != "### Configuration\n" {
				t.Errorf("%q is a heading", line)
			}
			cells := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
			if strings.HasPrefix(line, "|") && cells != 5 && cells != 7 {
				t.Errorf("%q has %d bars", line, cells)
			}
		}
	})
}
