package builtins

import "testing"

func TestSplitImage(t *testing.T) {
	for image, want := range map[string][3]string{
		"":                      {},
		"nginx":                 {"nginx"},
		"nginx:1":               {"nginx", "1"},
		"nginx@sha256:ab":       {"nginx", "", "sha256:ab"},
		"nginx:1@sha256:ab":     {"nginx", "1", "sha256:ab"},
		"host:5/a/b":            {"host:5/a/b"},
		"host:5/a/b:2":          {"host:5/a/b", "2"},
		"host:5/a/b@sha256:ab":  {"host:5/a/b", "", "sha256:ab"},
		"/a:1":                  {"/a", "1"},
		"a:1:2":                 {"a", "1:2"},
		"a@b@c":                 {"a", "", "b@c"},
		"host:5/a/b:2@sha256:c": {"host:5/a/b", "2", "sha256:c"},
	} {
		name, tag, digest := SplitImage(image)
		if got := [3]string{name, tag, digest}; got != want {
			t.Errorf("SplitImage(%q) = %q, want %q", image, got, want)
		}
	}
}

func FuzzImagePattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"nginx", "nginx:1.7"}, {"gcr.io/a", "gcrXio/a@sha256:ab"}, {"h:5/a", "h:5/a:{x}@sha+b:_"}, {"a", "a@:x"},
		{"a", "a@b..c:x"}, {"a", "a@b-:x"}, {"a", "a:x:y"}, {"(a|b)", "b:1"}, {"[", "["}, {"a", "a:1@"}, {"a.", "a\n"},
		{"", ":1"}, {".", "é"}, {"a", "a:1@b+c:"}, {"a", "ab"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, name, image string) {
		re, err := imageRegexp(name)
		want := err == nil && re.MatchString(image)
		p := compileImage(name)
		if got := p.match(image); got != want {
			t.Errorf("image %q matches name %q: %v, want %v", image, name, got, want)
		}
	})
}
