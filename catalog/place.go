package catalog

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// ParseRefIn is like [ParseRef] for a reference in a file of the directory dir. It returns an
// error if the reference is ambiguous: it has no scheme, starts with a host name, and exists
// reports a file or directory of that name in dir.
func ParseRefIn(dir, text string, exists func(path string) bool) (Ref, error) {
	ref, err := ParseRef(text)
	if err == nil && ref.bare != "" && exists(filepath.Join(dir, ref.bare)) {
		_, rest, _ := strings.Cut(ref.Location, "://")
		rest = diag.Redact(rest)
		err = &RefError{Ref: text, Msg: fmt.Sprintf("is ambiguous, because %s exists here: write ./%s for the file or https://%[2]s for the address", ref.bare, rest)}
	}
	return ref, err
}

// ParsePlace parses a directory or an address prefix for use as the argument of [Ref.Below]. Its
// error is a [*RefError].
func ParsePlace(text string) (Ref, error) {
	if !IsAddress(text) {
		return ParseRef(text)
	}
	location, err := placeOf(text)
	if err != nil {
		return Ref{}, &RefError{Ref: text, Msg: err.Error()}
	}
	scheme, _, _ := strings.Cut(location, ":")
	if strings.HasPrefix(scheme, "git+") {
		scheme = string(Git)
	}
	return Ref{Scheme: Scheme(scheme), Location: location, shown: text}, nil
}

func placeOf(text string) (string, error) {
	if strings.ContainsAny(text, "?#") {
		return "", fmt.Errorf("a place must not have parameters or a pin")
	}
	if rest, ok := strings.CutPrefix(text, "oci://"); ok {
		m, err := function.ParseImage(strings.TrimSuffix(rest, "/") + "/x")
		return "oci://" + strings.TrimSuffix(m.Name(), "/x:latest"), err
	}
	address := strings.TrimPrefix(strings.TrimPrefix(text, "git::"), "git+")
	u, err := parseURL(address)
	switch {
	case err != nil:
		return "", err
	case u.Scheme == "ssh", u.Scheme == "file", address != text, isGitURL(text) && (u.Scheme == "https" || u.Scheme == "http"):
		return "git+" + u.String(), nil
	case u.Scheme == "https", u.Scheme == "http":
		return u.String(), nil
	}
	return "", fmt.Errorf("%s is not supported", u.Scheme)
}

// Below reports whether r is inside dir, like a file in a directory. In a repository, only files
// at branches and tags without a slash in their name are inside: users without write access can
// create commits and other refs. An address is inside only if every server agrees. On some
// servers an escaped slash, backslash or percent sign, or dots before a semicolon, lead out of
// the directory.
func (r Ref) Below(dir Ref) bool {
	rest, ok := strings.CutPrefix(r.Location, strings.TrimSuffix(dir.Location, "/")+"/")
	ref := r.gitRef()
	if r.Remote() {
		for _, odd := range []string{"%2F", "%5C", "%25", "..;", "./", "\\"} {
			if strings.Contains("/"+strings.ToUpper(rest), odd) {
				return false
			}
		}
	}
	return ok && rest != "" && r.Scheme == dir.Scheme && !isCommit(ref) && !strings.Contains(ref, "/")
}

// Address returns the text to fetch r with. It includes the pin, except for files in
// repositories.
func (r Ref) Address() string {
	if r.Scheme == Git {
		return "git::" + strings.TrimPrefix(r.Location, "git+")
	}
	r.shown = ""
	text := r.Location
	if !r.Pin.IsZero() {
		text += r.pinText()
	}
	return text
}

// Sibling returns a reference to the file next to r whose name is that of r with end appended.
// It has no pin.
func (r Ref) Sibling(end string) Ref {
	name, query, ok := strings.Cut(r.Location, "?")
	r.Location, r.shown, r.Pin = name+end, "", krm.Digest{}
	if ok {
		r.Location += "?" + query
	}
	return r
}
