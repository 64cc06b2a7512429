package terminal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// Names that are cut stay different, as far as the width allows it, and show their difference.
func TestShortenKeepsNamesDifferent(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, tt := range []struct {
		names, want []string
		width       int
	}{
		{[]string{"a", "b"}, []string{"a", "b"}, 10},
		{[]string{"overlays/production/europe/web"}, []string{"overla…/europe/web"}, 18},
		// The difference is at the end, at the beginning, and in the middle.
		{[]string{long + "1", long + "2"}, []string{"xxxxxx…xxxxxxxxxxxx1", "xxxxxx…xxxxxxxxxxxx2"}, 20},
		{[]string{"1" + long, "2" + long}, []string{"1xxxxx…xxxxxxxxxxxxx", "2xxxxx…xxxxxxxxxxxxx"}, 20},
		{[]string{"clusters/eu-1/apps/monitoring", "clusters/eu-2/apps/monitoring"}, []string{"…/eu-1/…/monitoring", "…/eu-2/…/monitoring"},
			19},
		{[]string{"clusters/eu-1/apps/monitoring/default", "clusters/eu-1/apps/database/default", "clusters/eu-2/apps/monitoring/default"},
			[]string{"…/eu-1/…/monitoring/default", "…/eu-1/apps/database/default", "clusters/eu-2/apps/…/default"}, 28},
		{[]string{"a/very-long-directory-1/with/names", "a/very-long-directory-2/with/names"},
			[]string{"a/very-…y-1/with/names", "a/very-…y-2/with/names"}, 22},
		{[]string{long + "1" + long, long + "2" + long}, []string{"xxxxx…xx1xxxxx…xxxxx", "xxxxx…xx2xxxxx…xxxxx"}, 20},
		// The same name stays the same.
		{[]string{long, long}, []string{"xxx…xxxxxx", "xxx…xxxxxx"}, 10},
	} {
		got := Shorten(tt.names, tt.width)
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("width %d:\n%s\nwant\n%s", tt.width, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

func TestShortenRandomNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"overlays", "prod", "eu-west-1", "eu-west-2", "team-a", "team-b", "web", "ä", strings.Repeat("long", 20)}
	for range 300 {
		width := 8 + random.IntN(60)
		seen := map[string]bool{}
		var names []string
		for len(names) < 1+random.IntN(60) {
			var dirs []string
			for range 1 + random.IntN(9) {
				dirs = append(dirs, parts[random.IntN(len(parts))])
			}
			name := strings.Join(dirs, "/")
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		short := map[string]string{}
		for i, s := range Shorten(names, width) {
			if utf8.RuneCountInString(s) > width {
				t.Fatalf("%q is longer than %d", s, width)
			}
			if utf8.RuneCountInString(names[i]) <= width && s != names[i] {
				t.Fatalf("%q became %q in width %d", names[i], s, width)
			}
			if other, ok := short[s]; ok {
				t.Fatalf("%q and %q are both %q", other, names[i], s)
			}
			short[s] = names[i]
		}
	}
}

// A thousand clusters differ in one number in the middle of long names.
func TestShortenManyNames(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("environments/production/clusters/cluster-%04d/applications/monitoring/overlays/default", i))
	}
	for i, s := range Shorten(names, 30) {
		if !strings.Contains(s, fmt.Sprintf("%04d", i)) {
			t.Fatalf("%s is %s", names[i], s)
		}
	}
}
