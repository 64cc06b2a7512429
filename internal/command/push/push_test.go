package push

import "testing"

func TestCredentialsAreRemoved(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/org/app.git":          "https://github.com/org/app.git",
		"https://token@github.com/org/app.git":    "https://github.com/org/app.git",
		"https://me:token@github.com/org/app.git": "https://github.com/org/app.git",
		"ssh://git@github.com:22/org/app.git":     "ssh://git@github.com:22/org/app.git",
		"ssh://git:canary@github.com/org/app.git": "ssh://github.com/org/app.git",
		"git@github.com:org/app.git":              "git@github.com:org/app.git",
		"/srv/app.git":                            "/srv/app.git",
		"":                                        "",
	} {
		if got := withoutCredentials(address); got != want {
			t.Errorf("withoutCredentials(%q) = %q, want %q", address, got, want)
		}
	}
}
