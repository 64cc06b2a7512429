package reference

import "testing"

func TestCorrected(t *testing.T) {
	for text, want := range map[string]string{
		"bitbucket.org/x/y?ref=v1":                      "https://bitbucket.org/x/y?ref=v1",
		"git.example.com:8443/x/y.git//b":               "https://git.example.com:8443/x/y.git//b",
		"ghcr.io/x/y:v1":                                "oci://ghcr.io/x/y:v1",
		"https:/github.com/x/y":                         "https://github.com/x/y",
		"http//example.com/x/y":                         "http://example.com/x/y",
		"http/route.yaml":                               "",
		"git@bitbucket.org/x/y":                         "git@bitbucket.org:x/y",
		"https://github.com/x/y/tree/main/base":         "https://github.com/x/y//base?ref=main",
		"github.com/x/y/tree/main":                      "https://github.com/x/y?ref=main",
		"https://github.com/x/y/blob/v1/base/web.yaml":  "https://github.com/x/y//base?ref=v1",
		"https://gitlab.com/g/x/y/-/tree/main/base":     "https://gitlab.com/g/x/y//base?ref=main",
		"https://bitbucket.org/x/y/src/main/base":       "https://bitbucket.org/x/y//base?ref=main",
		"https://codeberg.org/x/y/src/branch/main/base": "https://codeberg.org/x/y//base?ref=main",
		"https://github.com/x/y?ref=v1":                 "",
		"https://github.com/x/y//tree/main":             "",
		"ssh://git@github.com/x/y":                      "",
		"web.yaml":                                      "",
		"base.d/web.yaml":                               "",
		"../base":                                       "",
		"my.app/base":                                   "https://my.app/base",
		"git@github.com:x/y":                            "",
	} {
		if got := Corrected(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
