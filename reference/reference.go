// Package reference parses what names something remote: a file or an archive by https, a repository, an artifact of a registry.
//
// It is plain data: nothing is asked for, so that also those who may not reach the network can compare, print and pin references.
// Package loaders/remote fetches what they name.
package reference

import (
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Scheme is a way to fetch.
type Scheme string

// The schemes.
const (
	HTTPS Scheme = "https" // a file, or an archive with a checksum; also http where that is allowed
	Git   Scheme = "git"   // a repository at a commit: over https, ssh or from this machine
	OCI   Scheme = "oci"   // an artifact of a registry
	Helm  Scheme = "helm"  // a chart, of a repository with an index or of a registry
)

// A Reference names something remote, and perhaps which content of it. It is made by [Parse] and can be compared.
type Reference struct {
	Scheme Scheme
	// Location is what is asked: the URL of a file, what git clones, or registry/repository. It may hold credentials; String hides them.
	Location string
	// Path is the directory or file that is meant in a repository, archive or artifact; empty for all of it.
	Path string
	// Ref is git's branch, tag or commit, empty for HEAD, the tag of an artifact, or the version of a chart, empty for the last stable one.
	Ref string
	// Pin is the SHA-256 digest that the file, archive or manifest must have; zero if any will do.
	Pin krm.Digest
	// Timeout bounds the fetch, zero for the default of the session.
	Timeout time.Duration
	// Submodules says that the reference asks for git's submodules, which are not fetched: those below Path are missing.
	Submodules bool
	// Archive says that the file is to be unpacked.
	Archive bool
	// Form is the form of the archive if the reference names it, one of [Forms]; empty if the name of the file has it.
	Form string

	// Direct means that the URL must serve the content itself: redirects are not followed, and in a
	// repository only branches and tags are found.
	Direct bool
	// Either says that the URL of a file may also name a repository, which is what it is when there is no such file.
	Either bool
}

// String returns the reference as it may be shown, without credentials.
func (r Reference) String() string {
	var b strings.Builder
	switch r.Scheme {
	case OCI:
		b.WriteString("oci://" + r.Location)
		if r.Ref != "" {
			b.WriteString(":" + r.Ref)
		}
		if !r.Pin.IsZero() {
			b.WriteString("@" + r.Pin.String())
		}
		if r.Path != "" {
			b.WriteString("//" + r.Path)
		}
		return b.String()
	case Helm:
		text := diag.Redact(r.Location) + "//" + r.Path
		if r.Ref != "" {
			text += "?version=" + url.QueryEscape(r.Ref)
		}
		return text
	case Git:
		b.WriteString(diag.Redact(r.Location))
		if r.Path != "" {
			b.WriteString("//" + r.Path)
		}
		if r.Ref != "" {
			b.WriteString("?ref=" + r.Ref)
		}
		return b.String()
	}
	address, query, _ := strings.Cut(diag.Redact(r.Location), "?")
	b.WriteString(address)
	if r.Path != "" {
		b.WriteString("//" + r.Path)
	}
	if r.Form != "" {
		query = strings.TrimPrefix(query+"&archive="+r.Form, "&")
	}
	if query != "" {
		b.WriteString("?" + query)
	}
	if !r.Pin.IsZero() {
		b.WriteString("#" + strings.Replace(r.Pin.String(), ":", "=", 1))
	}
	return b.String()
}

// Mutable reports whether what the reference names can change: it has neither commit nor digest.
func (r Reference) Mutable() bool {
	if r.Scheme == Git {
		return !IsCommit(r.Ref)
	}
	return r.Pin.IsZero()
}

// A Version is which content a reference stands for.
type Version struct {
	Scheme Scheme
	// Commit is git's, in hexadecimal digits.
	Commit string
	// Digest is that of a file or archive as it was sent, or of a manifest.
	Digest krm.Digest
}

// String returns the commit or the digest.
func (v Version) String() string {
	if v.Scheme == Git {
		return v.Commit
	}
	return v.Digest.String()
}

// At returns the reference with the version that it was resolved to, so that it is not mutable.
func (r Reference) At(v Version) Reference {
	if v.Scheme == Git && r.Either {
		r, _ = r.Repository()
	}
	if r.Either = false; v.Scheme == Git {
		r.Ref = v.Commit
	} else {
		r.Pin = v.Digest
	}
	return r
}

// Repository returns what a reference with Either names if it names a repository.
func (r Reference) Repository() (Reference, error) { return parseGit(r.Location) }

// IsDir reports whether the reference can be one to a directory: a layer.
func (r Reference) IsDir() bool { return r.Scheme != HTTPS || r.Archive || r.Either }

// Host returns the machine that is asked, with a port if there is one; empty for this one.
func (r Reference) Host() string {
	switch {
	case r.Scheme == OCI:
		host, _, _ := strings.Cut(r.Location, "/")
		return host
	case IsShort(r.Location):
		_, host, _ := strings.Cut(r.Location, "@")
		if host == "" {
			host = r.Location
		}
		host, _, _ = strings.Cut(host, ":")
		return host
	}
	u, err := url.Parse(r.Location)
	if err != nil {
		return ""
	}
	return u.Host
}

// IsShort reports whether a location is git's short form user@host:path.
func IsShort(location string) bool { return !strings.Contains(location, "://") }

// Protocol returns https, http, ssh or file.
func (r Reference) Protocol() string {
	if r.Scheme == OCI {
		return "https"
	}
	if IsShort(r.Location) {
		return "ssh"
	}
	scheme, _, _ := strings.Cut(r.Location, "://")
	if scheme = strings.ToLower(scheme); r.Scheme == Helm && scheme == "oci" {
		return "https"
	}
	return scheme
}

// IsCommit reports whether ref is the whole name of a commit.
func IsCommit(ref string) bool { return (len(ref) == 40 || len(ref) == 64) && IsHex(ref) }

// IsHex reports whether text has nothing but hexadecimal digits, in lower case.
func IsHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// isRef reports whether ref can be given to git: it begins like no option, and has nothing that git would expand.
func isRef(ref string) bool {
	if ref == "" || len(ref) > 255 || !isAlphanumeric(ref[0]) {
		return false
	}
	for i := range len(ref) {
		if !isAlphanumeric(ref[i]) && strings.IndexByte("._/+@=-", ref[i]) < 0 {
			return false
		}
	}
	for _, bad := range []string{"..", "@{", "//", "/.", ".lock/"} {
		if strings.Contains(ref, bad) {
			return false
		}
	}
	return !strings.HasSuffix(ref, ".lock") && !strings.HasSuffix(ref, "/") && !strings.HasSuffix(ref, ".")
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// cleanPath returns a path inside of something fetched in the form of [fs.FS], empty for its root.
func cleanPath(p string) (string, bool) {
	p = path.Clean("./" + strings.TrimLeft(p, "/"))
	if p == "." {
		return "", true
	}
	return p, p != ".." && !strings.HasPrefix(p, "../")
}
