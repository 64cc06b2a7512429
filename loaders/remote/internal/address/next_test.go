package address

import "testing"

func TestNextPage(t *testing.T) {
	for header, want := range map[string]string{
		``: "",
		`</v2/a/tags/list?n=2&last=b>; rel="next"`:                      "n=2&last=b",
		`<https://elsewhere.example/x?last=b>; title="a, b"; REL=Next`:  "last=b",
		`<?last=p>; rel=prev, </v2/a/tags/list?last=1%2C2>; rel="next"`: "last=1%2C2",
		`</v2/a/tags/list?last=b>; rel="last"`:                          "",
		`</v2/a/tags/list>; rel="next"`:                                 "",
		`<%zz?last=b>; rel="next"`:                                      "",
		`</v2/a/tags/list?last=b; rel="next"`:                           "",
	} {
		if got := NextPage([]string{header}); got != want {
			t.Errorf("NextPage(%q) = %q, want %q", header, got, want)
		}
	}
}
