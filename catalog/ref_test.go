package catalog

import (
	"errors"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

func TestParseRef(t *testing.T) {
	tests := []struct{ text, scheme, location, pin string }{
		{"catalog.yaml", "file", "catalog.yaml", ""},
		{"./app/../catalog.yaml", "file", "catalog.yaml", ""},
		{"/a/b.yaml#sha256=" + hexA, "file", "/a/b.yaml", hexA},
		{"b.yaml@sha256:" + hexA, "file", "b.yaml", hexA},
		{"dir#1/fns@shared/catalog.yaml", "file", "dir#1/fns@shared/catalog.yaml", ""},
		{"v1.2/catalog.yaml", "file", "v1.2/catalog.yaml", ""},
		{"../example.com/c.yaml", "file", "../example.com/c.yaml", ""},
		{"https://H.example.com:443/a/c.yaml", "https", "https://h.example.com/a/c.yaml", ""},
		{"https://h/c.yaml?publisher=a#sha256=" + hexA, "https", "https://h/c.yaml?publisher=a", hexA},
		{"https://h/c.yaml@sha256:" + hexA, "https", "https://h/c.yaml", hexA},
		{"http://h/c.yaml", "http", "http://h/c.yaml", ""},
		{"https://h/te%61m/%7e/a%2fb%20c.yaml", "https", "https://h/team/~/a%2Fb%20c.yaml", ""},
		{"https://h/%25%61.yaml", "https", "https://h/%25a.yaml", ""},
		{"./company.com/foo.json", "file", "company.com/foo.json", ""},
		{"oci://ghcr.io/e/catalog:v1", "oci", "oci://ghcr.io/e/catalog:v1", ""},
		{"oci://ghcr.io/e/catalog@sha256:" + hexA, "oci", "oci://ghcr.io/e/catalog:latest", hexA},
		{"oci://ghcr.io/e/catalog:v1@sha256:" + hexA, "oci", "oci://ghcr.io/e/catalog:v1", hexA},
		{"git+https://h/r.git//p.yaml?ref=0123456789012345678901234567890123456789#sha256=" + hexA, "git", "git+https://h/r.git//p.yaml?ref=0123456789012345678901234567890123456789", hexA},
		{"git::https://h/r.git//p.yaml?ref=v1", "git", "git+https://h/r.git//p.yaml?ref=v1", ""},
		{"https://h/r.git/providers/starlark@sidecar/v1.0", "git", "git+https://h/r.git//providers/starlark?ref=sidecar/v1.0", ""},
		{"https://h/org/r//p.yaml?ref=main", "git", "git+https://h/org/r//p.yaml?ref=main", ""},
		{"git@h:org/r.git//p.yaml", "git", "git+ssh://git@h/org/r.git//p.yaml", ""},
		{"git::file:///srv/r.git//p.yaml?ref=v1", "git", "git+file:///srv/r.git//p.yaml?ref=v1", ""},
		{"company.com/foo.json#sha256=" + hexA, "https", "https://company.com/foo.json", hexA},
		{"Company.com:8443/c.yaml", "https", "https://company.com:8443/c.yaml", ""},
		{"h.co/r.git//p.yaml", "git", "git+https://h.co/r.git//p.yaml", ""},
	}
	for _, tt := range tests {
		r, err := ParseRef(tt.text)
		pin := ""
		if !r.Pin.IsZero() {
			pin = strings.TrimPrefix(r.Pin.String(), "sha256:")
		}
		if err != nil || string(r.Scheme) != tt.scheme || r.Location != tt.location || pin != tt.pin {
			t.Errorf("%s: got %s %s %s, %v", tt.text, r.Scheme, r.Location, pin, err)
		}
	}
}

func TestParseRefMistakes(t *testing.T) {
	for _, text := range []string{"", "s3::https://b/c", "gcs::x", "hg::x", "file:///etc/x", "smb://h/x", "ftp://h/c", "https://", "https://h", "https://h/",
		"https://h/../c.yaml", "https://h/c.yaml?archive=zip", "https://h/c.yaml?checksum=md5:x", "https://h/c.yaml#frag", "https://u:secret@h/c.yaml",
		"git+file://h/r.git//p", "git+file://r//p", "git::ext::sh -c x//p", "https://h/r.git//../p", "https://h/r.git//p?ref=--upload-pack=x", "https://h/r.git//p?ref=a..b",
		"https://h/r.git//p?depth=1", "https://h/r.git", "git@h/#//p", "git@h:r.git//p#x", "https://h/c.yaml#", "oci://x", "oci://-r/x", "a\nb", "#sha256=" + hexA} {
		r, err := ParseRef(text)
		if err == nil {
			t.Errorf("%q is accepted as %+v", text, r)
			continue
		}
		refErr := (*RefError)(nil)
		if !errors.As(err, &refErr) || refErr.Pin {
			t.Errorf("%q: %#v", text, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: credentials in %v", text, err)
		}
	}
	for _, text := range []string{"c#sha256=", "c#sha256=" + hexA[1:], "c#sha256=" + strings.ToUpper(hexA), "c#md5=" + hexA,
		"c@sha256=" + hexA, "c@md5:abc",
		"c#sha1=abc", "c#SHA256=" + hexA, "c#sha256:" + hexA, "c#sha256=sha256:" + hexA, "c@sha256:" + hexB + "#sha256=" + hexA, "https://h/c#sha512=" + hexA} {
		_, err := ParseRef(text)
		refErr := (*RefError)(nil)
		if !errors.As(err, &refErr) || !refErr.Pin {
			t.Errorf("%q: the pin is not refused: %v", text, err)
		}
	}
}

// TestParseRefAmbiguous checks text that could be a path or an address. It is an address if no such
// path exists, and rejected if one exists.
func TestParseRefAmbiguous(t *testing.T) {
	for _, text := range []string{"my.dir/catalog.yaml", "company.com/foo.json", "example.co:8443/c.yaml", "h.co/r.git//p.yaml",
		"a.io/c@sha256:" + hexA} {
		path, _, _ := strings.Cut(text, "@")
		host, _, _ := strings.Cut(text, "/")
		r, err := ParseRefIn("/w", text, func(path string) bool { return path != "/w/"+host })
		if err != nil || !r.Remote() {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
		_, err = ParseRefIn("/w", text, func(path string) bool { return path == "/w/"+host })
		want := "is ambiguous, because " + host + " exists here: write ./" + path + " for the file or https://" + path + " for the address"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if got := PathText(path); got != "./"+path {
			t.Errorf("the path %s is written %s", path, got)
		}
	}
	for _, path := range []string{"catalog.yaml", "dir/c.yaml", "../my.dir/c.yaml", "./my.dir/c.yaml", "/my.dir/c.yaml", "company.com",
		"v1.2/c.yaml"} {
		r, err := ParseRefIn("/w", path, func(string) bool { return true })
		if err != nil || r.Scheme != Local || PathText(path) != path {
			t.Errorf("%s: %+v, %v, written %s", path, r, err, PathText(path))
		}
	}
}

func TestBelowRespectsPathBoundaries(t *testing.T) {
	const commit = "0123456789012345678901234567890123456789"
	for _, tt := range []struct {
		place, text string
		want        bool
	}{
		{"/srv/c", "/srv/c/a.yaml", true},
		{"/srv/c", "/srv/c-evil/a.yaml", false},
		{"https://h/c", "https://h/c/a.yaml?x=1", true},
		{"https://H:443/c", "https://h/c/x/a.yaml", true},
		{"https://h", "https://h/a.yaml", true},
		{"https://h/team", "https://h/te%61m/a.yaml", true},
		{"https://h", "https://h.evil/a.yaml", false},
		{"https://h/c", "https://h/cat/a.yaml", false},
		{"https://h/c", "http://h/c/a.yaml", false},
		{"oci://r.io", "oci://r.io/c:v1", true},
		{"oci://r.io:5000/org", "oci://r.io:5000/org/c@sha256:" + hexA, true},
		{"oci://r.io/org", "oci://r.io/org2/c:v1", false},
		{"git+https://h/org", "git::https://h/org/r.git//c.yaml", true},
		{"git+https://h/org/r.git/", "https://h/org/r.git/c.yaml@v1", true},
		{"git+https://h/org/r.git//dir", "git+https://h/org/r.git//dir/c.yaml?ref=main", true},
		{"git+https://h/org/r.git//dir", "git+https://h/org/r.git//other/c.yaml?ref=main", false},
		{"git+https://h/org", "https://h/org/c.yaml", false},
		// Anyone can push a commit to a repository, or open a pull request, which creates a ref.
		{"git+https://h/org", "git+https://h/org/r.git//c.yaml?ref=" + commit, false},
		{"git+https://h/org", "git+https://h/org/r.git//c.yaml?ref=pull/1/head", false},
	} {
		place, err := ParsePlace(tt.place)
		r, err2 := ParseRef(tt.text)
		if err != nil || err2 != nil || r.Below(place) != tt.want {
			t.Errorf("%s is below %s: %v, %v %v", tt.text, tt.place, !tt.want, err, err2)
		}
	}
	for _, text := range []string{"s3::x", "ftp://h/x", "https://h/a?b=c", "https://h/a#sha256=" + hexA, "https://u:p@h/x", "https://h/../x", "git+https://h/a/../b", "oci://-x"} {
		if r, err := ParsePlace(text); err == nil && text != "s3::x" {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestAddressIsCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"https://h/c.yaml?x=1#sha256=" + hexA:             "https://h/c.yaml?x=1#sha256=" + hexA,
		"oci://r.io/c:v1@sha256:" + hexA:                  "oci://r.io/c:v1@sha256:" + hexA,
		"git+https://h/r.git//p?ref=v1#sha256=" + hexA:    "git::https://h/r.git//p?ref=v1",
		"https://h/r.git/providers/starlark@sidecar/v1.0": "git::https://h/r.git//providers/starlark?ref=sidecar/v1.0",
	} {
		if r, err := ParseRef(text); err != nil || r.Address() != want {
			t.Errorf("%s: %s, %v", text, r.Address(), err)
		}
	}
	r, _ := ParseRef("https://h/c.yaml?x=1#sha256=" + hexA)
	if got := r.Sibling(".sig").Address(); got != "https://h/c.yaml.sig?x=1" {
		t.Error(got)
	}
}

// TestRefSame checks that a flag value matches an item if both denote the same canonical location.
// Prefixes, substrings and differences in case do not match.
func TestRefSame(t *testing.T) {
	ref := func(text, dir string) Ref {
		r, err := ParseRef(text)
		if err != nil {
			t.Fatal(err)
		}
		return r.In(dir)
	}
	same := [][2]Ref{
		{ref("./app/catalog.yaml", "/w"), ref("catalog.yaml", "/w/app")},
		{ref("/w/app/catalog.yaml#sha256="+hexA, "/w"), ref("catalog.yaml", "/w/app")},
		{ref("https://h/c.yaml", ""), ref("https://H:443/c.yaml#sha256="+hexA, "")},
		{ref("git::https://h/r.git//p?ref=v1", ""), ref("https://h/r.git/p@v1", "")},
	}
	for _, p := range same {
		if !p[0].Same(p[1]) || !p[1].Same(p[0]) {
			t.Errorf("%v and %v are the same", p[0], p[1])
		}
	}
	other := [][2]Ref{
		{ref("https://h/c.yaml", ""), ref("https://h/c.yaml.evil", "")},
		{ref("https://h/c.yaml", ""), ref("https://h.evil/c.yaml", "")},
		{ref("https://h/c.yaml", ""), ref("https://h/C.yaml", "")},
		{ref("https://h/c.yaml?publisher=a", ""), ref("https://h/c.yaml?publisher=b", "")},
		{ref("https://h/c.yaml", ""), ref("http://h/c.yaml", "")},
		{ref("catalog.yaml", "/w"), ref("catalog.yaml", "/w/app")},
		{ref("catalog.yaml", "/w"), ref("Catalog.yaml", "/w")},
		{ref("catalog.yaml#sha256="+hexA, "/w"), ref("catalog.yaml#sha256="+hexB, "/w")},
		{ref("oci://r.io/c:v1", ""), ref("oci://r.io/c:v2", "")},
		{ref("git::https://h/r.git//p?ref=v1", ""), ref("git::https://h/r.git//p?ref=v2", "")},
	}
	for _, p := range other {
		if p[0].Same(p[1]) {
			t.Errorf("%v and %v are different", p[0], p[1])
		}
	}
}

func TestRefText(t *testing.T) {
	r, _ := ParseRef("./a/c.yaml")
	r = r.In("/w")
	d, _ := krm.ParseDigest(hexA)
	if got := r.Pinned(d); got != "./a/c.yaml#sha256="+hexA {
		t.Errorf("pinned: %s", got)
	}
	if r.Dir() != "/w/a" || r.Beside("plugins/x") != "/w/a/plugins/x" || r.Beside("https://h/x") != "https://h/x" {
		t.Errorf("%s %s", r.Dir(), r.Beside("plugins/x"))
	}
	if got := r.At("/real/c.yaml").Location; got != "/real/c.yaml" {
		t.Error(got)
	}
	o, _ := ParseRef("oci://r.io/c:v1")
	if got := o.Pinned(d); got != "oci://r.io/c:v1@sha256:"+hexA {
		t.Errorf("pinned: %s", got)
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"catalog.yaml", "https://h/c?x=1#sha256=" + hexA, "oci://r.io/c@sha256:" + hexA, "git::https://h/r.git//p?ref=v1", "git@h:a/b.git//c", "git@0/#//00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRef(text)
		if err != nil {
			return
		}
		if r.Location == "" || !r.Same(r) {
			t.Fatalf("%q: %+v", text, r)
		}
		if r.Scheme == Local || diag.Redact(r.Location) != r.Location { // the displayed text may be incomplete
			return
		}
		again, err := ParseRef(r.String())
		if err != nil || again.Location != r.Location || again.Pin != r.Pin {
			t.Fatalf("%q: canonical form %q reads as %+v, %v", text, r.String(), again, err)
		}
	})
}
