package loaders

import "testing"

func TestIsRemote(t *testing.T) {
	for text, want := range map[string]bool{
		"https://example.com/x.yaml":              true,
		"http://example.com/org/repo":             true,
		"HTTPS://example.com/x.yaml":              true,
		"https://github.com/org/repo//base?ref=1": true,
		"github.com/org/repo":                     true,
		"GitHub.com/org/repo/base":                true,
		"github.com/org":                          false,
		"git@github.com:org/repo.git":             true,
		"git@host.example:org/repo":               true,
		"git::https://example.com/org/repo":       true,
		"ssh://git@host/org/repo":                 true,
		"file:///srv/repo":                        true,
		"gitlab.com/org/repo":                     false,
		"../base":                                 false,
		"base":                                    false,
		"a@b":                                     false,
		"/abs/github.com/org/repo":                false,
		"web.yaml":                                false,
	} {
		if got := IsRemote(text); got != want {
			t.Errorf("IsRemote(%q) = %v", text, got)
		}
	}
}
