package resourcelist_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/internal/command/fn/resourcelist"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

// A list is written as it was read, including comments.
func TestReadsWhatItWrites(t *testing.T) {
	const text = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  # above
  kind: ConfigMap # beside
  metadata:
    name: a
  data:
    a: "1"
    b: |
      x

      y
functionConfig:
  kind: X
results:
- message: hi
`
	list, err := resourcelist.Read("text", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := list.Write(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text, got.String()); d != "" {
		t.Error(d)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("kind: A\n---\n- a\n"))
	f.Add([]byte("kind: ResourceList\nitems: [{kind: A, metadata: &a {name: x}}, {kind: B, metadata: *a}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := resourcelist.Read("text", data)
		if err != nil {
			return
		}
		_ = resourcelist.Format(list.Items)
		for _, n := range list.Items {
			if resourcelist.SetPlace(n, "a.yaml", 1) != nil {
				return // its annotations are not a mapping
			}
			if file, index, err := resourcelist.Place(n); err != nil || file != "a.yaml" || index != 1 {
				t.Fatalf("%s %d %v", file, index, err)
			}
		}
		_ = list.Write(&bytes.Buffer{})
		_ = kio.ByteWriter{Writer: &bytes.Buffer{}}.Write(list.Items)
		_, _ = resourcelist.Merge(append(list.Items, list.Items...))
	})
}

// Errors have positions, and aliases have limits.
func TestRefusedLists(t *testing.T) {
	bomb := "kind: A\na: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 10) + "]\n"
	}
	for _, tt := range []struct{ text, want string }{
		{"kind: A\n---\n- a\n", "text:3: not a resource: expected a mapping"},
		{"kind: A\n---\n\n# x\na: b\n", "text:5: not a resource: apiVersion and kind are required"},
		{"kind: A\na: 1\na: 2\n", "text:3: "},
		{"kind: List\nitems:\n- kind: A\n- b: c\n", "text:4: not a resource: apiVersion and kind are required"},
		{"kind: List\nitems: x\n", "text:2: items: it must be a list"},
		{"kind: A\n---\nkind: ResourceList\nitems: []\n", "text:3: a ResourceList must be the only document"},
		{"kind: A\na: [\n", "text:3: "},
		{"kind: A\na: &a [*a]\n", "text:2: "},
		{bomb, "text"},
		{"a: " + strings.Repeat("[", 100000), "text:1: "},
	} {
		if _, err := resourcelist.Read("text", []byte(tt.text)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// Aliases are expanded, because an item must not depend on the anchor of a different item.
func TestAliasesAreWrittenOut(t *testing.T) {
	list, err := resourcelist.Read("text", []byte("kind: List\nitems:\n- kind: A\n  m: &m {a: b} # m\n- kind: B\n  m: *m\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (kio.ByteWriter{Writer: &b}).Write(list.Items); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("kind: A\nm: {a: b} # m\n---\nkind: B\nm: {a: b} # m\n", b.String()); d != "" {
		t.Error(d)
	}
}
