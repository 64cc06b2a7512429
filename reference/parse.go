package reference

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Use is the purpose that a reference is parsed for. The same text can be a file for one use
// and a repository for another.
type Use int

// The uses.
const (
	Any        Use = iota // an entry of resources: a file or a layer
	Dir                   // a layer
	File                  // a patch, schema or data file: a path, or repo.git/path@ref
	Catalog               // a catalog: a file in any form
	Blob                  // a program: the content as served, even if it is an archive
	Signatures            // the signatures of an artifact, which has a digest
	Chart                 // a Helm chart, in the separate form REPOSITORY//NAME?version=VERSION
	Published             // a Catalog that is trusted by its address and must be served by it
)

// maxReference is the maximum length of a reference in bytes.
const maxReference = 4096

// MaxTimeout is the maximum timeout that a reference can request.
const MaxTimeout = 10 * time.Minute

// ErrNotRemote is returned by [Parse] for text that names a local file or directory.
var ErrNotRemote = errors.New("it is not a remote reference")

// Parse parses a reference. It accepts the forms of kustomize
// (https://host/org/repo//path?ref=tag, github.com/org/repo, git@host:org/repo, ssh://, file://,
// with _git/, .git/ or // before the path), repo.git/path@ref, git::,
// oci://registry/repository:tag, and https://host/file with a checksum. The error is
// [ErrNotRemote] for text that kustomize would treat as a local path.
func Parse(text string, use Use) (Reference, error) {
	switch {
	case len(text) > maxReference:
		return Reference{}, diag.BadReference.Errorf("the reference is too long")
	case strings.HasPrefix(text, "/"):
		return Reference{}, ErrNotRemote
	}
	r, err := parse(text, use)
	if err == nil && strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' || c == '\ufffd' }) {
		err = diag.BadReference.Errorf("it contains spaces or control characters")
	}
	if err != nil && !errors.Is(err, ErrNotRemote) {
		return Reference{}, diag.BadReference.Errorf("%q: %w", diag.Redact(text), err)
	}
	return r, err
}

func parse(text string, use Use) (Reference, error) {
	if use == Published {
		use = Catalog
	}
	if use == Chart {
		return parseChart(text)
	}
	if forced, rest, ok := strings.Cut(text, "::"); ok && !strings.ContainsAny(forced, ":/@?") {
		if !strings.EqualFold(forced, "git") {
			return Reference{}, unknownScheme(forced+"::", rest)
		}
		r, err := parseGit(rest)
		return r, noRepository(err)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	switch scheme = strings.ToLower(scheme); {
	case !ok || strings.ContainsAny(scheme, "/?@:"):
		if use == File && !hasCommitForm(text) {
			return Reference{}, ErrNotRemote
		}
		return parseGit(text)
	case scheme == "oci":
		return parseOCI(rest)
	case scheme == "https", scheme == "http":
		return parseHTTP(text, use)
	case scheme == "ssh", scheme == "file":
		return parseGit(text)
	}
	return Reference{}, unknownScheme(scheme+"://", rest)
}

// parseHTTP decides whether a URL names a file or a repository.
func parseHTTP(text string, use Use) (Reference, error) {
	file, err := parseFile(text, use)
	if err != nil || file.Archive || (use == File || use == Blob) && !hasCommitForm(text) {
		return file, err
	}
	repo, err := parseGit(text)
	switch {
	case use == Dir || use == File:
		return repo, noRepository(err)
	case !file.Pin.IsZero():
		return file, nil
	case isRepository(text) || use == Catalog && hasDoubleSlash(text):
		return repo, noRepository(err)
	case use == Catalog || isYAML(file.Location):
		return file, nil
	}
	file.Either = err == nil
	return file, nil
}

// noRepository replaces [ErrNotRemote] for text that can only be a URL.
func noRepository(err error) error {
	if errors.Is(err, ErrNotRemote) {
		return errors.New("it does not name a repository")
	}
	return err
}

// hasCommitForm reports whether a URL has the form repo.git/path@ref.
func hasCommitForm(text string) bool {
	_, rest, ok := strings.Cut(text, ".git/")
	return ok && !strings.Contains(rest, "?") && strings.Contains(rest, "@") && !strings.Contains(rest, "@sha256:")
}

// hasDoubleSlash reports whether the URL's path contains a double slash, which separates a
// repository from the path inside it.
func hasDoubleSlash(text string) bool {
	address, _, _ := strings.Cut(text, "?")
	_, rest, _ := strings.Cut(address, "://")
	return strings.Contains(rest, "//")
}

// isRepository reports whether the text of a URL alone identifies a repository.
func isRepository(text string) bool {
	address, _, _ := strings.Cut(text, "?")
	_, address, _ = strings.Cut(address, "://")
	host, rest, _ := strings.Cut(address, "/")
	switch {
	case strings.Contains(address, "/_git/") || strings.HasSuffix(address, ".git") || strings.Contains(address, ".git/"):
		return true
	case isYAML(text):
		return false
	case !strings.EqualFold(host, "github.com"):
		return hasDoubleSlash(text)
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "raw" || part == "releases" || part == "blob" || part == "archive" {
			return false
		}
	}
	return true
}

func isYAML(location string) bool {
	u, err := url.Parse(location)
	if err != nil {
		return false
	}
	switch path.Ext(u.Path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// parseFile parses the URL of a file or an archive. An archive needs a checksum, with two
// exceptions: with [Blob], the caller unpacks the content, and with [Catalog], a URL without a
// checksum is a file.
func parseFile(text string, use Use) (r Reference, err error) {
	r.Scheme = HTTPS
	address, pin, pinned := cutPin(text)
	u, err := url.Parse(address)
	if err != nil {
		return r, errors.New("it is not a valid URL")
	}
	if u.Scheme = strings.ToLower(u.Scheme); u.Host == "" || u.Opaque != "" {
		return r, errors.New("it does not name a host")
	}
	if sum := u.Query().Get("checksum"); sum != "" {
		if pinned {
			return r, errors.New("it has two checksums")
		}
		pin, pinned = sum, true
		u.RawQuery = withoutParameter(u.RawQuery, "checksum")
	}
	if pinned {
		if r.Pin, err = krm.ParseDigest(pin); err != nil {
			return r, fmt.Errorf("the checksum %q must be sha256: and 64 hexadecimal digits", pin)
		}
	}
	if pinned {
		r.Form = archiveForm(u)
	}
	if i := archiveEnd(u.Path, r.Form); i > 0 && use != Blob && (use != Catalog || !r.Pin.IsZero()) {
		r.Archive = true
		var ok bool
		if r.Path, ok = cleanPath(u.Path[i:]); !ok {
			return r, errors.New("the path leads out of the archive")
		}
		u.Path, u.RawPath = u.Path[:i], ""
		if r.Pin.IsZero() {
			return r, errors.New("an archive needs a checksum: ?checksum=sha256:…")
		}
	}
	u.Fragment = ""
	r.Location = u.String()
	return r, nil
}

// Forms are the archive formats that a reference can name with ?archive=FORM. The name of an
// archive ends in one of them.
var Forms = []string{"tar", "tar.gz", "tar.xz", "tar.zst", "zip", "tgz", "txz", "tzst"}

// archiveForm removes the archive parameter from a URL and returns its value, so that the server
// gets the URL without it, as with kustomize v3. It leaves values that are not in [Forms] for the
// server. The caller leaves URLs without a checksum unchanged.
func archiveForm(u *url.URL) (form string) {
	form = u.Query().Get("archive")
	if !slices.Contains(Forms, form) {
		return ""
	}
	u.RawQuery = withoutParameter(u.RawQuery, "archive")
	return form
}

// archiveEnd returns the offset after the archive's name in a URL's path, or 0 if the path names
// no archive. The name is the last element, or the last one before a double slash. With an empty
// form, only an extension of [Forms] identifies an archive.
func archiveEnd(p, form string) int {
	end := len(p)
	if i := strings.Index(p, "//"); i > 0 {
		end = i
	}
	name := strings.ToLower(p[:end])
	if form != "" || slices.ContainsFunc(Forms, func(f string) bool { return strings.HasSuffix(name, "."+f) }) {
		return end
	}
	return 0
}

// cutPin cuts a trailing "#sha256=…" or "@sha256:…" off text.
func cutPin(text string) (rest, pin string, ok bool) {
	if rest, pin, ok = strings.Cut(text, "#sha256="); ok {
		return rest, "sha256:" + pin, true
	}
	if i := strings.LastIndex(text, "@sha256:"); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// withoutParameter removes a parameter and keeps the spelling of the others.
func withoutParameter(query, name string) string {
	var keep []string
	for part := range strings.SplitSeq(query, "&") {
		if !strings.HasPrefix(part, name+"=") {
			keep = append(keep, part)
		}
	}
	return strings.Join(keep, "&")
}

// parseOCI parses registry/repository[:tag][@sha256:digest][//path].
func parseOCI(rest string) (r Reference, err error) {
	r.Scheme = OCI
	rest, inside, _ := strings.Cut(rest, "//")
	var ok bool
	if r.Path, ok = cleanPath(inside); !ok {
		return r, errors.New("the path leads out of the artifact")
	}
	if host, _, _ := strings.Cut(rest, "/"); strings.Contains(host, "@") {
		return r, errors.New("it contains credentials: use podman login or docker login instead")
	}
	rest, pin, pinned := strings.Cut(rest, "@")
	if pinned {
		if r.Pin, err = krm.ParseDigest(pin); err != nil {
			return r, fmt.Errorf("the digest %q must be sha256: and 64 hexadecimal digits", pin)
		}
	}
	host, repository, ok := strings.Cut(rest, "/")
	if repository, r.Ref, _ = strings.Cut(repository, ":"); !ok || !isHost(host) || !isRepositoryName(repository) {
		return r, errors.New("it must be oci://registry/repository:tag or oci://registry/repository@sha256:…")
	}
	if r.Ref != "" && !isTag(r.Ref) {
		return r, fmt.Errorf("%q is not a valid tag", r.Ref)
	}
	if r.Ref == "" && !pinned {
		r.Ref = "latest"
	}
	r.Location = host + "/" + repository
	return r, nil
}

func isHost(host string) bool {
	u, err := url.Parse("https://" + host + "/")
	return err == nil && u.Host == host && u.Hostname() != "" && host[0] != '-'
}

func isRepositoryName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" ||
			strings.ContainsAny(part[:1]+part[len(part)-1:], "._-") {
			return false
		}
	}
	return len(name) <= 255
}

func isTag(tag string) bool {
	return len(tag) <= 128 && tag[0] != '.' && tag[0] != '-' &&
		strings.Trim(tag, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// parameters parses the query of a repository reference.
func (r *Reference) parameters(query string) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return
	}
	r.Ref = values.Get("version")
	if ref := values.Get("ref"); ref != "" {
		r.Ref = ref
	}
	text := values.Get("timeout")
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= int(MaxTimeout/time.Second) {
		r.Timeout = time.Duration(n) * time.Second
	} else if err == nil && n > 0 {
		r.Timeout = MaxTimeout
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		r.Timeout = min(d, MaxTimeout)
	}
	if on, err := strconv.ParseBool(values.Get("submodules")); err == nil {
		r.Submodules = on
	}
}
