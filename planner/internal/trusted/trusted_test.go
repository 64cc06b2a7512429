package trusted

import (
	"testing"

	"github.com/krmflow/krmflow/catalog"
)

// TestFetchedAs checks addresses that are fetched in a different way than their reference suggests.
// They do not match a trusted place: the rules of the place are for files, and the parameters would
// select a commit of a repository.
func TestFetchedAs(t *testing.T) {
	const pin = "#sha256=ae77000000000000000000000000000000000000000000000000000000000000"
	for text, want := range map[string]bool{
		"https://h/team/c.yaml":                      true,
		"https://h/team/c.yaml" + pin:                true,
		"https://h/team/c.yaml?ref=main":             true, // a parameter of a file
		"https://h/team/c":                           true,
		"https://h/org/_git/repo/c.yaml?ref=x":       false,
		"https://github.com/org/repo/c?ref=x":        false,
		"https://github.com/org/repo/raw/main/c":     true,
		"https://h/team/c.tgz" + pin:                 false,
		"git+https://h/team/r.git//c.yaml":           true,
		"git+https://h/team/r.git//c.yaml?ref=main":  true,
		"https://h/team/r.git/a/c.yaml@v1":           true,
		"git+ssh://git@github.com/org/r.git//c.yaml": true,
		"git+https://h/a.git//_git/b/c.yaml":         false,
		"oci://r.example/team/c:v1":                  true,
		"oci://r.example/team/c@sha256:" + pin[8:]:   true,
		"/srv/team/c.yaml":                           true,
	} {
		ref, err := catalog.ParseRef(text)
		if got := isFetchedAs(ref); got != want || err != nil {
			t.Errorf("%s: %t, %v", text, got, err)
		}
	}
}
