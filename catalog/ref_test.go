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
		{"./company.com/foo.json", "file", "company.com/foo.json", ""},
		{"oci://ghcr.io/e/catalog:v1", "oci", "oci://ghcr.io/e/catalog:v1", ""},
		{"oci://ghcr.io/e/catalog@sha256:" + hexA, "oci", "oci://ghcr.io/e/catalog:latest", hexA},
		{"oci://ghcr.io/e/catalog:v1@sha256:" + hexA, "oci", "oci://ghcr.io/e/catalog:v1", hexA},
		{"git+https://h/r.git//p.yaml?ref=0123456789012345678901234567890123456789#sha256=" + hexA, "git", "git+https://h/r.git//p.yaml?ref=0123456789012345678901234567890123456789", hexA},
		{"git::https://h/r.git//p.yaml?ref=v1", "git", "git+https://h/r.git//p.yaml?ref=v1", ""},
		{"https://h/r.git/providers/starlark@sidecar/v1.0", "git", "git+https://h/r.git//providers/starlark?ref=sidecar/v1.0", ""},
		{"https://h/org/r//p.yaml?ref=main", "git", "git+https://h/org/r//p.yaml?ref=main", ""},
		{"git@h:org/r.git//p.yaml", "git", "git+ssh://git@h/org/r.git//p.yaml", ""},
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
		if (r.Supported() != nil) != (tt.scheme != "file") {
			t.Errorf("%s: %v", tt.text, r.Supported())
		}
	}
}

func TestParseRefMistakes(t *testing.T) {
	for _, text := range []string{"", "s3::https://b/c", "gcs::x", "hg::x", "file:///etc/x", "smb://h/x", "ftp://h/c", "https://", "https://h", "https://h/",
		"https://h/../c.yaml", "https://h/c.yaml?archive=zip", "https://h/c.yaml?checksum=md5:x", "https://h/c.yaml#frag", "https://u:secret@h/c.yaml",
		"git+file:///r.git//p", "git::ext::sh -c x//p", "https://h/r.git//../p", "https://h/r.git//p?ref=--upload-pack=x", "https://h/r.git//p?ref=a..b",
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
	for _, text := range []string{"c#sha256=", "c#sha256=" + hexA[1:], "c#sha256=" + strings.ToUpper(hexA), "c#md5=" + hexA, "c@sha256=" + hexA, "c@md5:abc",
		"c#sha1=abc", "c#SHA256=" + hexA, "c#sha256:" + hexA, "c#sha256=sha256:" + hexA, "c@sha256:" + hexB + "#sha256=" + hexA, "https://h/c#sha512=" + hexA} {
		_, err := ParseRef(text)
		refErr := (*RefError)(nil)
		if !errors.As(err, &refErr) || !refErr.Pin {
			t.Errorf("%q: the pin is not refused: %v", text, err)
		}
	}
}

// What could be a path or an address is neither: nobody may make the name of a host out of that of a directory, or the reverse.
func TestParseRefAmbiguous(t *testing.T) {
	for _, text := range []string{"my.dir/catalog.yaml", "company.com/foo.json", "example.co:8443/c.yaml", "h.co/r.git//p.yaml", "a.io/c@sha256:" + hexA} {
		path, _, _ := strings.Cut(text, "@")
		_, err := ParseRef(text)
		want := "could be a file or an address: write ./" + path + " or https://" + path
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if got := PathText(path); got != "./"+path {
			t.Errorf("the path %s is written %s", path, got)
		}
	}
	for _, path := range []string{"catalog.yaml", "dir/c.yaml", "../my.dir/c.yaml", "./my.dir/c.yaml", "/my.dir/c.yaml", "company.com", "v1.2/c.yaml"} {
		r, err := ParseRef(path)
		if err != nil || r.Scheme != Local || PathText(path) != path {
			t.Errorf("%s: %+v, %v, written %s", path, r, err, PathText(path))
		}
	}
}

// A flag value matches an item when both denote the same canonical location; no prefix, substring or case-folded matching.
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
		if r.Scheme == Local || diag.Redact(r.Location) != r.Location { // what is shown is not all of it
			return
		}
		again, err := ParseRef(r.String())
		if err != nil || again.Location != r.Location || again.Pin != r.Pin {
			t.Fatalf("%q: canonical form %q reads as %+v, %v", text, r.String(), again, err)
		}
	})
}
