// Package reference parses references to remote content: files and archives over https, git
// repositories, artifacts in registries, and Helm charts.
//
// References are plain data. The package does no I/O, so code without network access can also
// compare, print and pin them. Package loaders/remote fetches their content.
package reference

import (
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Scheme is a method of fetching content.
type Scheme string

// The schemes.
const (
	HTTPS Scheme = "https" // a file, or an archive with a checksum; also http where allowed
	Git   Scheme = "git"   // a repository at a commit: over https, ssh or from the local machine
	OCI   Scheme = "oci"   // an artifact in a registry
	Helm  Scheme = "helm"  // a chart in a repository with an index, or in a registry
)

// A Reference names remote content and, optionally, a version of it. [Parse] returns References.
// They are comparable with ==.
type Reference struct {
	Scheme Scheme
	// Location is the address of the request: the URL of a file, the repository that git clones,
	// or registry/repository. It may contain credentials, which String hides.
	Location string
	// Path is the directory or file in a repository, archive or artifact, empty for all of its
	// content. For a chart it is the chart's name.
	Path string
	// Ref is the branch, tag or commit of a repository (empty for HEAD), the tag of an artifact,
	// or the version of a chart (empty for the last stable one).
	Ref string
	// Pin is the required SHA-256 digest of the file, archive or manifest, or zero to accept any.
	Pin krm.Digest
	// Timeout limits the fetch. Zero is the session's default.
	Timeout time.Duration
	// Submodules is set if the reference requests git submodules. They are not fetched:
	// submodules below Path are missing.
	Submodules bool
	// Archive is set if the file must be unpacked.
	Archive bool
	// Form is the archive format if the reference names it, one of [Forms]. It is empty if the
	// file name identifies the format.
	Form string

	// Direct means that the URL must serve the content itself: redirects are not followed, and in
	// a repository only branches and tags are found.
	Direct bool
	// Either means that the URL may name a file or a repository. It is a repository if there is
	// no such file.
	Either bool
}

// String returns the reference without credentials, for display.
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

// Mutable reports whether the content of the reference can change: it has neither a commit nor a
// digest.
func (r Reference) Mutable() bool {
	if r.Scheme == Git {
		return !IsCommit(r.Ref)
	}
	return r.Pin.IsZero()
}

// A Version identifies the content that a reference resolved to.
type Version struct {
	Scheme Scheme
	// Commit is git's commit id in hexadecimal digits.
	Commit string
	// Digest is the digest of a file or archive as served, or of a manifest.
	Digest krm.Digest
}

// String returns the commit or the digest.
func (v Version) String() string {
	if v.Scheme == Git {
		return v.Commit
	}
	return v.Digest.String()
}

// At returns the reference pinned to v, its resolved version. The result is not mutable.
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

// Repository returns the repository for a reference with Either.
func (r Reference) Repository() (Reference, error) { return parseGit(r.Location) }

// IsDir reports whether the reference can name a directory, that is, a layer.
func (r Reference) IsDir() bool { return r.Scheme != HTTPS || r.Archive || r.Either }

// Host returns the host of the request with its port, if any. It is empty for the local machine.
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

// IsShort reports whether a location has git's short form user@host:path.
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

// IsCommit reports whether ref is a full commit id.
func IsCommit(ref string) bool { return (len(ref) == 40 || len(ref) == 64) && IsHex(ref) }

// IsHex reports whether text contains only lower-case hexadecimal digits.
func IsHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// isRef reports whether ref can be passed to git: it cannot be parsed as an option and contains
// nothing that git would expand.
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

// cleanPath converts a path inside fetched content to the form of [fs.FS], empty for the root. It
// reports false for a path that leaves the root.
func cleanPath(p string) (string, bool) {
	p = path.Clean("./" + strings.TrimLeft(p, "/"))
	if p == "." {
		return "", true
	}
	return p, p != ".." && !strings.HasPrefix(p, "../")
}
