package inplace

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const commented = `# head

# of the file
apiVersion: v1 # beside apiVersion
kind: X
metadata: {name: a, labels: {b: c}} # beside metadata

# above spec
spec: # beside spec
  # above text
  text: | # beside text
    # no comment
    x # none either
  'quoted # no': "# no" # beside quoted
  plain#1: a#b
  nothing: # beside nothing
  list: # beside list
  # above the first
  - name: x # beside x
    # below x, in spec.list
    # and more
  # above the second
  - name: "y"
    port: 1
  # last of spec?
  inline: [a, # after a
    b]
  # below inline
data: &anchor
    # above k, wide
    k: v # é beside k
copy: *anchor # beside copy
# the end
`

func TestComments(t *testing.T) {
	d, err := ParseObject("", []byte(commented))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for p, text := range d.Comments() {
		got[p.String()] = text
	}
	want := map[string]string{
		"above the document":       "# head\n# of the file",
		"beside apiVersion":        "# beside apiVersion",
		"beside metadata":          "# beside metadata",
		"above spec":               "# above spec",
		"beside spec":              "# beside spec",
		"above spec.text":          "# above text",
		"beside spec.text":         "# beside text",
		"beside spec.quoted # no":  "# beside quoted",
		"beside spec.nothing":      "# beside nothing",
		"beside spec.list":         "# beside list",
		"above spec.list[x]":       "# above the first",
		"beside spec.list[x].name": "# beside x",
		"below spec.list[x]":       "# below x, in spec.list\n# and more",
		"above spec.list[y]":       "# above the second",
		"above spec.inline":        "# last of spec?",
		"beside spec.inline[0]":    "# after a",
		"below spec":               "# below inline",
		"above data.k":             "# above k, wide",
		"beside data.k":            "# é beside k",
		"beside copy":              "# beside copy",
		"below the document":       "# the end",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every comment of a text can be removed, and then added at the same place.
func TestWithComments(t *testing.T) {
	d, err := ParseObject("", []byte(commented))
	if err != nil {
		t.Fatal(err)
	}
	all := d.Comments()
	if same, left := d.WithComments(all); same != d || left != nil {
		t.Errorf("the comments that there are: %v\n%s", left, same.Text())
	}
	for p, text := range all {
		without, left := d.WithComments(Comments{p: ""})
		if left != nil || strings.Contains(string(without.Text()), text) {
			t.Errorf("%s stays: %v", p, left)
		}
		if text == "# after a" { // a comma follows the value: there is no line for a new comment
			continue
		}
		again, left := without.WithComments(Comments{p: "# new"})
		want := maps.Clone(all)
		want[p] = "# new"
		if diff := cmp.Diff(want, again.Comments(), cmp.Comparer(func(a, b Place) bool { return a == b })); diff != "" || left != nil {
			t.Errorf("%s: %v %s", p, left, diff)
		}
		more, left := d.WithComments(Comments{p: text + "\n# more"})
		if p.side != beside && (left != nil || more.Comments()[p] != text+"\n# more") {
			t.Errorf("more %s: %v\n%s", p, left, more.Text())
		}
	}
	nowhere := Place{"\x00.spec\x00.missing", beside}
	if same, left := d.WithComments(Comments{nowhere: "# x"}); same != d || len(left) != 1 {
		t.Errorf("a place that is not there: %v", left)
	}
}

// Whatever a text is, its values stay, and so do its comments if none is to change.
func FuzzComments(f *testing.F) {
	f.Add([]byte(commented), "# x")
	f.Add([]byte("a: [b, {c: d}] # x\n#y\n"), "# x\n# z")
	f.Add([]byte("- a\n-\n  # x\n  b: c\n"), "#")
	f.Add([]byte("? a # x\n: b\n\"#\": |2-\n   # x\n"), "# \u2028")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		d, err := ParseObject("", data)
		if err != nil {
			return
		}
		all := d.Comments()
		if len(all) > 0 && !HasComments(data) {
			t.Fatal("HasComments knows of none")
		}
		if same, left := d.WithComments(all); string(same.Text()) != string(data) || left != nil {
			t.Fatalf("comments that stay change the text: %v\n%s", left, same.Text())
		}
		want := Comments{}
		for p := range all {
			want[p] = "# " + text
			want[Place{p.path, above}] = "# " + text
			want[Place{p.path, beside}] = ""
		}
		next, _ := d.WithComments(want)
		if !next.Value().Equal(d.Value()) {
			t.Fatalf("the value changes: %s", next.Text())
		}
		ItemComments(data)
	})
}
