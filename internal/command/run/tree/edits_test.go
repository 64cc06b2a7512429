package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

const three = `# head
apiVersion: v1
kind: ConfigMap
metadata: {name: a} # of a
---
# above b
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
--- # third
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
`

const items = `apiVersion: v1
kind: List
items:
- apiVersion: v1 # of a
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: v1
  kind: ConfigMap # of b
  metadata: {name: b}
`

// TestRemovalKeepsOtherText removes resources. Their text and one separator are removed, and the
// text of other resources stays.
func TestRemovalKeepsOtherText(t *testing.T) {
	b := "# above b\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	c := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	a := three[:strings.Index(three, "---")]
	for _, tt := range []struct{ file, gone, want string }{
		{three, "a", b + "--- # third\n" + c},
		{three, "b", a + "--- # third\n" + c},
		{three, "c", a + "---\n" + b},
		{three, "ab", c},
		{three, "bc", a},
		{three, "abc", ""},
		{"---\n" + three, "a", "---\n" + b + "--- # third\n" + c},
		{strings.ReplaceAll(three, "\n", "\r\n"), "b", strings.ReplaceAll(a+"--- # third\n"+c, "\n", "\r\n")},
		{strings.TrimSuffix(three, "\n"), "c", a + "---\n" + b},
		{items, "a", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap # of b\n  metadata: {name: b}\n"},
		{items, "b", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1 # of a\n  kind: ConfigMap\n  metadata: {name: a}\n"},
		{items, "ab", ""},
	} {
		tr := treeOf([]byte(tt.file))
		list := krm.NewList(tr.Resources()...)
		list.Filter(func(r *krm.Resource) bool { return !strings.Contains(tt.gone, r.ID().Name) })
		c, err := tr.Changes(list, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Files) != 1 || string(c.Files[0].New) != tt.want || (c.Files[0].New == nil) != (tt.want == "") ||
			len(c.Removed) != len(tt.gone) {
			t.Errorf("without %s: %q, want %q, removed %v", tt.gone, c.Files[0].New, tt.want, c.Removed)
		}
	}
}

// TestMoveKeepsText moves a resource to another file and changes it. Its text moves with it.
func TestMoveKeepsText(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		tr := treeOf([]byte(strings.ReplaceAll(three, "\n", eol)))
		tr.Dir = t.TempDir()
		list := krm.NewList(tr.Resources()...)
		r := list.At(1)
		r.SetValue(r.Value().WithAt(yaml.Str("sub/b.yaml"), "metadata", "annotations", function.LegacyPathAnnotation).WithAt(yaml.Str("x"),
			"data", "k"))
		c, err := tr.Changes(list, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := "# above b\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  k: x\n"
		if len(c.Files) != 2 || c.Files[1].Path != "sub/b.yaml" || string(c.Files[1].New) != want || len(c.Removed) > 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestAddedResourcesAreAppended(t *testing.T) {
	made := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")}, yaml.Field{Key: "kind", Value: yaml.Str("Secret")},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("s")})})
	text := "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
	for _, tt := range []struct{ file, want string }{
		{three, three + text},
		{strings.TrimSuffix(three, "\n"), three + text},
		{strings.ReplaceAll(three, "\n", "\r\n"), strings.ReplaceAll(three+text, "\n", "\r\n")},
		{"\ufeff" + three, "\ufeff" + three + text},
	} {
		tr := treeOf([]byte(tt.file))
		list := krm.NewList(append(tr.Resources(), krm.NewResource(Placed(made, "f.yaml", 3), nil))...)
		c, err := tr.Changes(list, nil)
		if err != nil || len(c.Files) != 1 || string(c.Files[0].New) != tt.want {
			t.Errorf("%v, %q, want %q", err, c.Files[0].New, tt.want)
		}
	}
	tr := treeOf([]byte(three))
	tr.Dir = t.TempDir()
	c, err := tr.Changes(krm.NewList(append(tr.Resources(), krm.NewResource(Placed(made, "s.yaml", 0), nil))...), nil)
	if err != nil || len(c.Files) != 1 || c.Files[0].Mode != 0o600 {
		t.Errorf("a new file with a Secret: %v, %+v", err, c.Files)
	}
}

// TestNewText writes a new object. Its fields are in the order of the function, and every value is
// read back unchanged (RL-15).
func TestNewText(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {}\ndata:\n  z: |\n    two\n    lines\n  a: \"1\"\n  list:\n  - name: x\n    image: i:1\n  - []\n"
	odd := yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str("A")}, yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")},
		yaml.Field{Key: "data", Value: yaml.MapOf(
			yaml.Field{Key: "a\nb: #", Value: yaml.Str("\x01\u2028")}, yaml.Field{Key: "", Value: yaml.Str(" x\n\n")},
			yaml.Field{Key: "~", Value: yaml.SeqOf(yaml.SeqOf(yaml.Str("")), yaml.SeqOf(), yaml.MapOf())})})
	v, err := (&yaml.Source{Data: []byte(text)}).Content()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(new(Changes).encoded(diag.Pos{}, v, nil, false)); got != text {
		t.Errorf("%s\nwant\n%s", got, text)
	}
	again, err := (&yaml.Source{Data: new(Changes).encoded(diag.Pos{}, odd, nil, false)}).Content()
	if err != nil || !again.Equal(odd) {
		t.Errorf("%v: %s", err, new(Changes).encoded(diag.Pos{}, odd, nil, false))
	}
}

// TestUnwrittenComments has functions add comments that have no line to go to. Each is reported,
// including comments of new resources and of rewritten documents.
func TestUnwrittenComments(t *testing.T) {
	commented := "apiVersion: v1\nkind: A # kept\nmetadata:\n  name: a\ndata:\n  x: b # one\u2028# line\n"
	comments := inplace.ItemComments([]byte(commented))[0]
	v, err := (&yaml.Source{Data: []byte(commented)}).Content()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file, want string
		fresh            bool
	}{
		{"in place", "apiVersion: v1\nkind: A\nmetadata: {name: a}\n",
			"f.yaml:1: the comment beside data.x is not written: there is no line for it", false},
		{"anew", "apiVersion: v1\nkind: &a A\nmetadata: &m {name: *a, labels: {x: *a}}\n<<: *m\n",
			"f.yaml:1: the comment beside data.x is not written: there is no line for it", false},
		{"new", three, filepath.Join(os.DevNull, "new.yaml") + ": the comment beside data.x is not written: there is no line for it", true},
	} {
		tr := treeOf([]byte(tt.file))
		rs := tr.Resources()
		r := krm.NewResource(Placed(v, "new.yaml", 0), nil)
		r.Origin = &krm.Origin{}
		if tt.fresh {
			rs = append(rs, r)
		} else {
			r = rs[0]
			r.SetValue(Placed(v, "f.yaml", 0))
		}
		c, err := tr.Changes(krm.NewList(rs...), map[*krm.Origin]Comments{r.Origin: {All: comments, Changed: comments}})
		if err != nil || len(c.Files) != 1 {
			t.Fatalf("%s: %v %v", tt.name, err, c)
		}
		var notes []string
		for _, n := range c.Notes {
			notes = append(notes, n.Error())
		}
		if text := string(c.Files[0].New); !slices.Contains(notes, tt.want) || !strings.Contains(text, "kind: A # kept\n") {
			t.Errorf("%s: %q\n%s", tt.name, notes, text)
		}
	}
}

// TestLeftAlone has files that are not lists of resources, each with a reason that is reported.
func TestLeftAlone(t *testing.T) {
	for text, want := range map[string]string{
		"a: b\n":   "it contains something that is not a resource",
		"- a\n":    "it contains something that is not a resource",
		"# only\n": "it contains no resource",
		"apiVersion: v1\nkind: ConfigMapList\nitems: []\n":           "it contains a ConfigMapList",
		"apiVersion: v1\nkind: List\nitems: [1]\n":                   "its List contains something that is not a resource",
		"apiVersion: v1\nkind: List\nitems: {}\n":                    "the items of its List are not a list",
		"%YAML 1.1\n---\napiVersion: v1\nkind: A\n":                  "it has YAML directives or document end markers",
		"apiVersion: v1\nkind: A\n--- b\n":                           "it has text after a document separator",
		"apiVersion: v1\rkind: A\r":                                  "it has line breaks that only some YAML parsers accept",
		"\xff\xfea\x00":                                              "it is UTF-16",
		"apiVersion: v1\nkind: A\nmetadata: {annotations: [a]}\n---": "it contains something that is not a resource",
	} {
		f := &File{Path: "f.yaml", Data: []byte(text), name: "f.yaml"}
		if why, err := f.parse(); why != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, why, err, want)
		}
	}
}
