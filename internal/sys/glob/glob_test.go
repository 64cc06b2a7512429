package glob

import (
	"strings"
	"testing"
	"time"
)

func TestPatternsMatchPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, yes, no string // paths separated by spaces
	}{
		{"a", "a", "b a/b b/a ."},
		{"*", "a .", "a/b"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c"},
		{"**", "a a/b .", ""},
		{"a/**", "a a/b a/b/c", "b b/a ab"},
		{"**/a", "a b/a c/b/a", "a/b ba"},
		{"**/a/**", "a b/a a/b c/a/b", "b ab"},
		{"a/**/**/b", "a/b a/c/b a/c/d/b", "a b"},
		{"**/a/**/b", "a/b x/a/b a/a/x/b", "b/a"},
		{"env-[0-9]", "env-1", "env-a"},
		{"[!a]", "b", "a"},
		{"v?", "v1", "v v10"},
		{`\*`, "*", "a"},
	} {
		p, err := Parse(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		for _, name := range strings.Fields(c.yes) {
			if !p.Match(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for _, name := range strings.Fields(c.no) {
			if p.Match(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
	for _, bad := range []string{"[", "a/[b", `a\`} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s is a pattern", bad)
		}
	}
}

// A pattern that names a folder matches everything below it.
func TestMatchBelow(t *testing.T) {
	p, _ := Parse("a/*")
	for name, want := range map[string]bool{"a": false, "a/b": true, "a/b/c/d": true, "b/a/c": false, "/a": false} {
		if p.MatchBelow(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// The cost of many ** is at most their number times the number of folders.
func TestMatchManyFolders(t *testing.T) {
	p, err := Parse(strings.Repeat("**/a/", 200) + "b")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if p.Match(strings.Repeat("a/", 2000) + "c") {
		t.Error("matches")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Error(took)
	}
}
