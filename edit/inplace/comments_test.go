package inplace

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/krm/yaml"
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

func TestCommentsAreAssignedToFields(t *testing.T) {
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

// TestWithComments removes each comment of a text and then adds a comment at the same place.
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
		if text == "# after a" { // a comma follows the value, so a new comment has no line
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

// TestUnusableComment checks that a comment that cannot be written does not affect the other
// comments.
func TestUnusableComment(t *testing.T) {
	d, err := ParseObject("", []byte("a: 1\nb: 2\nc: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"# x\u2028y", "# x\u2029y", "# x\u0085y", "# x\ry", "# \x01", "# \xff", "# \ufeff"} {
		b := Place{"\x00.b", beside}
		next, left := d.WithComments(Comments{{"\x00.a", beside}: "# a", b: bad, {"\x00.c", above}: "# c"})
		if got, want := string(next.Text()), "a: 1 # a\nb: 2\n# c\nc: 3\n"; got != want || !slices.Equal(left, []Place{b}) {
			t.Errorf("%q: %v\n%s", bad, left, got)
		}
	}
}

// TestPlaceIsOneLine checks that a place fits on one line of a message.
func TestPlaceIsOneLine(t *testing.T) {
	if got := (Place{"\x00.a\nb\x00=x\ny", beside}).String(); got != `beside a\nb[x\ny]` {
		t.Error(got)
	}
}

// TestLongComment checks that a comment of many lines is read in linear time.
func TestLongComment(t *testing.T) {
	begin := time.Now()
	d, err := ParseObject("", []byte(strings.Repeat("# a long line of a comment\n", 200_000)+"a: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.Comments()); n != 1 || time.Since(begin) > 20*time.Second {
		t.Errorf("%d comments after %v", n, time.Since(begin))
	}
}

// TestItemComments checks that comments are assigned to the same objects that the parser for
// functions returns.
func TestItemComments(t *testing.T) {
	for _, tt := range []struct {
		text string
		want map[int]string // the comments of each object
	}{
		{"kind: A # a\n---\n---\nkind: B # b\n", map[int]string{0: "# a", 1: "# b"}},
		{"kind: ResourceList # l\nitems:\n- kind: A\n- kind: B # b\n", map[int]string{1: "# b"}},
		{"kind: RoleBindingList # l\nitems:\n- kind: RoleBinding # a\n", map[int]string{0: "# a"}},
		{"kind: RoleBindingList # l\nitems:\n- kind: RoleBinding # a\n---\nkind: B # b\n", map[int]string{0: "# b", 1: "# a"}},
		{"kind: List\nitems:\n- kind: AList # l\n  items:\n  - kind: A # a\n- kind: B # b\n", map[int]string{0: "# b", 1: "# a"}},
		{"kind: PriceList # p\n", map[int]string{0: "# p"}},
	} {
		got := map[int]string{}
		for i, c := range ItemComments([]byte(tt.text)) {
			for _, text := range c {
				got[i] += text
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.text, diff)
		}
	}
}

// TestCommentsFollowTheirItems checks that comments move with their items to a different value.
func TestCommentsFollowTheirItems(t *testing.T) {
	for _, tt := range []struct{ was, is, want string }{
		{"l: [a, b]", "l: [a, b]", "0 1"},
		{"l: [a, b]", "l: [new, a, b]", "1 2"},
		{"l: [a, b]", "l: [b]", "- 0"},
		{"l: [a, b]", "l: [b, a]", "1 0"},
		{"l: [a, b]", "l: [a, c]", "0 1"},
		{"l: [a, b]", "l: [new, c, b]", "- 2"},
		{"l: [a, b]", "l: [a, b, a]", "0 1"},
		{"l: [a, a, b]", "l: [a, b]", "0 - 1"},
		{"l: [a]", "l: []", "-"},
		{"l: [a]", "l: b", "-"},
		{"l: [a]", "m: [a]", "-"},
		{"l: [{name: x}, {name: y}]", "l: [{name: y}, {name: z}, {name: x, a: b}]", "x y"},
		{"l: [{name: x}, {name: y}]", "l: [{name: y}]", "- y"},
		{"l: [{name: x}, {name: y}]", "l: [{name: x}, {}, {name: y, a: b}]", "0 2"},
		{"l: [{name: x}, {}, {name: y}]", "l: [{name: x}, {name: y}]", "x - y"},
		{"l: [{name: x}, {name: x}]", "l: [{a: b}, {name: x}, {name: x}]", "1 2"},
	} {
		was, is := parsed(t, tt.was).value, parsed(t, tt.is).value
		names := itemNames(was.Get("l").Items())
		comments := Comments{}
		for i := range was.Get("l").Len() {
			comments[Place{"\x00.l\x00" + itemPart(names, i), beside}] = strconv.Itoa(i)
		}
		got := strings.Fields(strings.Repeat("- ", len(comments)))
		for p, text := range comments.Moved(was, is) {
			i, _ := strconv.Atoi(text)
			got[i] = p.path[len("\x00.l\x00")+1:]
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s to %s: %q, want %s", tt.was, tt.is, got, tt.want)
		}
	}
	was, is := parsed(t, "a: {b: [[x], [y]], c: 1}").value, parsed(t, "a: {b: [[n], [x], [y]]}").value
	got := Comments{{"", above}: "1", {"\x00.a\x00.c", beside}: "2", {"\x00.a\x00.b\x00[1\x00[0", above}: "3"}.Moved(was, is)
	if want := (Comments{{"", above}: "1", {"\x00.a\x00.b\x00[2\x00[0", above}: "3"}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func parsed(t *testing.T, text string) *Document {
	t.Helper()
	d, err := ParseObject("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestItemNames checks that items have the same names in values and in nodes.
func TestItemNames(t *testing.T) {
	for _, text := range []string{
		"l: [{name: a}, {name: b}]", "l: [{name: a}, {name: a}]", "l: [{name: a}, {kind: b, name: b}]", "l: [{name: }]",
		"l: [{name: 1}, {name: true}]", "l: [{name: null}]", "l: [{name: [a]}]", "l: [a]", "l: [{name: a}, {}]", "l: [[]]",
	} {
		d := parsed(t, text)
		if got, want := itemNames(d.value.Get("l").Items()), namesOf(d.root.Content[1]); !slices.Equal(got, want) {
			t.Errorf("%s: %q and %q", text, got, want)
		}
	}
}

// TestForFunction checks that a function does not receive comments of private fields.
func TestForFunction(t *testing.T) {
	text := `# top
kind: X
apiVersion: example.com/v1
data: # x
  a: b # a
list:
- kind: Secret # s
  apiVersion: v1
  # above data
  data: # data
    # old: hunter2
    a: YQ== # hunter2
  stringData:
    b: c # hunter3
  metadata:
    name: s # name
`
	d := parsed(t, text)
	got, sent := ForFunction(d.value, d.Comments(), func(v yaml.Value) []string {
		if v.Get("kind").Text() == "Secret" {
			return []string{"data", "stringData"}
		}
		return nil
	})
	if strings.Contains(string(got), "hunter") || len(sent) != 5 {
		t.Errorf("%v\n%s", sent, got)
	}
}

// FuzzComments checks that changes of comments never change the values of a text, and that the text
// stays the same if no comment changes.
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
