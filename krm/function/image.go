package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// An Image is a parsed and completed reference to a container image: "x" becomes
// docker.io/library/x:latest. Images are comparable.
type Image struct {
	Registry   string // host, with port if one was given
	Repository string
	Tag        string     // "latest" if neither tag nor digest was given
	Digest     krm.Digest // zero if none was given
}

// ParseImage parses a container image reference. It rejects references that a container runtime
// could mistake for an option or for a different image.
func ParseImage(text string) (m Image, err error) {
	name, digest, pinned := strings.Cut(text, "@")
	if pinned {
		if !strings.HasPrefix(digest, "sha256:") || digest != strings.ToLower(digest) {
			return m, diag.BadFunction.Errorf("the digest of image %q must be sha256: and 64 lower case hexadecimal digits", shown(text))
		}
		if m.Digest, err = krm.ParseDigest(digest); err != nil {
			return m, diag.BadFunction.Errorf("image %q: %w", shown(text), err)
		}
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		m.Tag = name[i+1:]
		name = name[:i]
		if !validTag(m.Tag) {
			return m, diag.BadFunction.Errorf("image %q has the tag %q, which is not valid", shown(text), m.Tag)
		}
	} else if !pinned {
		m.Tag = "latest"
	}
	m.Registry, m.Repository = "docker.io", name
	if host, rest, ok := strings.Cut(name, "/"); ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		m.Registry, m.Repository = host, rest
	}
	if m.Registry == "index.docker.io" {
		m.Registry = "docker.io"
	}
	if m.Registry == "docker.io" && m.Repository != "" && !strings.Contains(m.Repository, "/") {
		m.Repository = "library/" + m.Repository
	}
	if err := m.check(); err != nil {
		return m, fmt.Errorf("image %q: %w", shown(text), err)
	}
	return m, nil
}

// shown returns the image reference text for messages. Text before an @ that is not followed by a
// digest may be a token.
func shown(text string) string {
	if _, behind, ok := strings.Cut(text, "@"); ok && !strings.HasPrefix(behind, "sha256:") {
		// With this scheme, diag.Redact hides a lone user name, which may be a token.
		const scheme = "oci://"
		return strings.TrimPrefix(diag.Redact(scheme+text), scheme)
	}
	return diag.Redact(text)
}

func (m Image) check() error {
	host, port, hasPort := strings.Cut(m.Registry, ":")
	switch {
	case m.Repository == "":
		return errors.New("it has no name")
	case len(m.Registry)+len(m.Repository) > 255:
		return errors.New("the name is longer than 255 characters")
	case !validHost(host) || hasPort && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != ""):
		return fmt.Errorf("%q is not the name of a registry", m.Registry)
	}
	for part := range strings.SplitSeq(m.Repository, "/") {
		if !validComponent(part) {
			return fmt.Errorf("%q in its name is not valid: lower case letters and digits, with single separators . _ - between them", part)
		}
	}
	return nil
}

// String returns the complete reference.
func (m Image) String() string {
	s := m.Name()
	if !m.Digest.IsZero() {
		s += "@" + m.Digest.String()
	}
	return s
}

// Name returns the reference without its digest.
func (m Image) Name() string {
	s := m.Registry + "/" + m.Repository
	if m.Tag != "" {
		s += ":" + m.Tag
	}
	return s
}

// SameRepository reports whether m and o differ at most in tag and digest.
func (m Image) SameRepository(o Image) bool {
	return m.Registry == o.Registry && m.Repository == o.Repository
}

func alnum(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

func lowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// validTag reports whether s is a letter, digit or _ followed by at most 127 of these, dots or
// dashes.
func validTag(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alnum(c) && c != '_' && (i == 0 || c != '.' && c != '-') {
			return false
		}
	}
	return true
}

// validHost reports whether s consists of labels with letters, digits and inner dashes.
func validHost(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !alnum(label[i]) && label[i] != '-' {
				return false
			}
		}
	}
	return true
}

// validComponent reports whether s consists of lower-case letters and digits, separated by one
// dot, one or two underscores, or dashes.
func validComponent(s string) bool {
	if s == "" || !lowerOrDigit(s[0]) || !lowerOrDigit(s[len(s)-1]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		c, last := s[i], s[i-1]
		switch {
		case lowerOrDigit(c):
		case c == '-' && (last == '-' || lowerOrDigit(last)):
		case c == '.' && lowerOrDigit(last):
		case c == '_' && (lowerOrDigit(last) || last == '_' && i > 1 && lowerOrDigit(s[i-2])):
		default:
			return false
		}
	}
	return true
}
