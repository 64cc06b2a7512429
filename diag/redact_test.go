package diag

import (
	"strings"
	"testing"
)

func TestRedactHidesCredentials(t *testing.T) {
	const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, tt := range [][2]string{
		{"https://TOKEN@example.com/r.git//base?ref=v1", "https://xxxxx@example.com/r.git//base?ref=v1"},
		{"https://user:p@ss@example.com/x", "https://user:xxxxx@example.com/x"},
		{"https://user:p/s?s#w@example.com/x", "https://user:xxxxx@example.com/x"},
		{"https://user:12/3@example.com/x", "https://user:xxxxx@example.com/x"},
		{"https://user:p/w@x@example.com/x", "https://user:xxxxx@example.com/x"},
		{"https:///user:pw@example.com/x", "https:///user:xxxxx@example.com/x"},
		{" https://user:pw@example.com/x", "xxxxx@example.com/x"},
		{"https://TOKEN:x-oauth-basic@example.com/x", "https://xxxxx@example.com/x"},
		{"git::https://TOKEN@example.com/x", "git::https://xxxxx@example.com/x"},
		{"git+ssh://me:pw@example.com/x", "git+ssh://me:xxxxx@example.com/x"},
		{"oci://user:pw@example.com/x:v1" + digest, "oci://user:xxxxx@example.com/x:v1" + digest},
		{"user:pw@example.com:org/x", "user:xxxxx@example.com:org/x"},
		{"git::user:p@ss@example.com:org/x", "git::user:xxxxx@example.com:org/x"},
		{"user:pw@example.com/image:v1", "user:xxxxx@example.com/image:v1"},
		{"https://proxy.example/https://TOKEN@example.com/x", "https://proxy.example/https://xxxxx@example.com/x"},
		{"https://example.com/x?token=T&ref=v1&access_token=T&sig=T", "https://example.com/x?token=xxxxx&ref=v1&access_token=xxxxx&sig=xxxxx"},
		{"https://example.com/x?TOKEN", "https://example.com/x?xxxxx"},
		{"https://example.com/x?ref=v1?sig=T;a=T", "https://example.com/x?ref=v1?sig=xxxxx;a=xxxxx"},
		{"https://example.com/x?shared_secret=T&share_token=T&sha256=abc", "https://example.com/x?shared_secret=xxxxx&share_token=xxxxx&sha256=abc"},
		{"https://example.com/x#access_token=T", "https://example.com/x#access_token=xxxxx"},
		// Text without secrets stays unchanged.
		{"", ""},
		{"../base", "../base"},
		{"a@b/c.yaml", "a@b/c.yaml"},
		{"dir/a:b@c.yaml", "dir/a:b@c.yaml"},
		{"https://example.com:8443/r//base?ref=v1&timeout=90s&submodules=false", "https://example.com:8443/r//base?ref=v1&timeout=90s&submodules=false"},
		{"https://example.com/r@v1", "https://example.com/r@v1"},
		{"https://git@example.com/r", "https://git@example.com/r"},
		{"git@example.com:org/r@v1", "git@example.com:org/r@v1"},
		{"ssh://me@example.com/r", "ssh://me@example.com/r"},
		{"localhost:5000/x:v1" + digest, "localhost:5000/x:v1" + digest},
		{"x:v1" + digest, "x:v1" + digest},
		{"https://example.com/c.yaml#sha256=abc", "https://example.com/c.yaml#sha256=abc"},
	} {
		if got := Redact(tt[0]); got != tt[1] {
			t.Errorf("%s: got %s, want %s", tt[0], got, tt[1])
		}
	}
}

// FuzzRedact checks that no part of a secret is shown, regardless of its content and context. The
// secret has a marker at both ends.
func FuzzRedact(f *testing.F) {
	f.Add("p", "example.com", "org/r")
	f.Add("a@b", "example.com:8443", "x?ref=v1")
	f.Add("a/b?c#d", "h", "")
	f.Add("://", "h", "a://b")
	f.Fuzz(func(t *testing.T, secret, host, path string) {
		secret = "S3CR" + secret + "T0KN"
		if strings.ContainsAny(host, "@/") || strings.Contains(host+path, "S3CR") || strings.Contains(host+path, "T0KN") {
			return
		}
		token := strings.NewReplacer(":", "", "/", "", "?", "", "#", "", "=", "", "&", "", ";", "").Replace(secret)
		for _, ref := range []string{
			"https://" + token + "@" + host + "/" + path,
			"https://user:" + secret + "@" + host + "/" + path,
			"git::ssh://" + "user:" + secret + "@" + host + "/" + path,
			"user:" + secret + "@" + host + ":" + path,
			"https://example.com/" + strings.ReplaceAll(path, "#", "") + "?token=" + token,
			"https://example.com/x?ref=v1&sig=" + token + "#" + path,
			"https://example.com/x?" + token,
			"https://example.com:8443/x?token=" + token + "@" + token,
		} {
			got := Redact(ref)
			if strings.Contains(got, "S3CR") || strings.Contains(got, "T0KN") {
				t.Errorf("%q is shown as %q", ref, got)
			}
			if again := Redact(got); strings.Contains(again, "S3CR") || len(again) > len(got)+len(hidden) {
				t.Errorf("%q is shown as %q and then as %q", ref, got, again)
			}
		}
	})
}
