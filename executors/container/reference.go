package container

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A reference names an image: [registry[:port]/]path[:tag][@sha256:digest].
type reference struct {
	name   string // with the registry, if there is one
	tag    string
	digest krm.Digest
}

func (r reference) String() string {
	if r.tag == "" {
		return r.name
	}
	return r.name + ":" + r.tag
}

// pullName returns the name with its registry, which is Docker's if there is none: podman would ask or search.
func (r reference) pullName() string {
	first, rest, ok := strings.Cut(r.name, "/")
	switch {
	case !ok:
		return "docker.io/library/" + r.name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io/" + r.name
	case first == "docker.io" && !strings.Contains(rest, "/"):
		return "docker.io/library/" + rest
	}
	return r.name
}

// local reports whether the image exists on this machine alone.
func (r reference) local() bool { return strings.HasPrefix(r.name, "localhost/") }

// parseReference reads a reference by the grammar of distribution, before an engine could take it for an option or for
// something that is no image of a registry.
func parseReference(s string) (r reference, err error) {
	bad := func(why string) (reference, error) {
		return reference{}, fmt.Errorf("%q is no image: %s", diag.Redact(s), why)
	}
	if s == "" || len(s) > 512 {
		return bad("expected registry/path:tag")
	}
	rest, digest, hasDigest := strings.Cut(s, "@")
	if hasDigest {
		hexDigits, ok := strings.CutPrefix(digest, "sha256:")
		b, err := hex.DecodeString(hexDigits)
		if !ok || err != nil || len(b) != len(r.digest) || strings.ToLower(hexDigits) != hexDigits {
			return bad("the digest must be sha256: and 64 lower-case hexadecimal digits")
		}
		copy(r.digest[:], b)
	}
	slash := strings.LastIndexByte(rest, '/')
	if colon := strings.LastIndexByte(rest, ':'); colon > slash {
		r.tag = rest[colon+1:]
		rest = rest[:colon]
		if !validTag(r.tag) {
			return bad("the tag may have letters, digits and _ . - only")
		}
	}
	r.name = rest
	parts := strings.Split(rest, "/")
	if first := parts[0]; len(parts) > 1 && (strings.ContainsAny(first, ".:") || first == "localhost") {
		if !validHost(first) {
			return bad("the name of the registry is not valid")
		}
		parts = parts[1:]
	}
	for _, p := range parts {
		if !validComponent(p) {
			return bad("its path may have lower-case letters and digits, separated by . _ __ or -")
		}
	}
	return r, nil
}

func isLower(c byte) bool { return c-'a' < 26 || c-'0' < 10 }

func validTag(s string) bool {
	for i := range len(s) {
		c := s[i]
		word := isLower(c) || c-'A' < 26 || c == '_'
		if !word && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// validComponent: [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*
func validComponent(s string) bool {
	if s == "" || !isLower(s[0]) || !isLower(s[len(s)-1]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case isLower(c):
		case c == '-' && (isLower(s[i-1]) || s[i-1] == '-'):
		case c == '.' && isLower(s[i-1]):
		case c == '_' && (isLower(s[i-1]) || s[i-1] == '_' && isLower(s[i-2])):
		default:
			return false
		}
	}
	return true
}

func validHost(s string) bool {
	host, port, hasPort := strings.Cut(s, ":")
	if hasPort {
		for i := range len(port) {
			if port[i]-'0' > 9 {
				return false
			}
		}
		if port == "" || len(port) > 5 {
			return false
		}
	}
	for _, label := range strings.Split(host, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' || strings.Map(plainRune, label) != label {
			return false
		}
	}
	return true
}

// plainRune drops everything but letters, digits and dashes.
func plainRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return -1
}
