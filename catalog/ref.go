package catalog

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// A Scheme is the way to obtain the content of a [Ref].
type Scheme string

// The forms of references.
const (
	Local Scheme = "file"
	HTTPS Scheme = "https"
	HTTP  Scheme = "http"
	OCI   Scheme = "oci"
	Git   Scheme = "git"

	builtIn Scheme = "built in" // compiled in
)

// A Ref is a reference to a catalog in canonical form. Compare Refs with [Ref.Same], not with
// ==.
type Ref struct {
	Scheme Scheme
	// Location is the value to compare: the clean path of a local file, or a normalized address
	// without its pin.
	Location string
	// Pin is the required sha256 of the content (of the manifest for OCI), or zero for none.
	Pin krm.Digest

	shown string // shown in messages; Location if empty
	// bare is the host of a reference without a scheme. It might be a directory name instead.
	bare string
}

// A RefError reports an invalid reference.
type RefError struct {
	Ref   string
	Msg   string
	Hints []string
	// Pin is true if the pin is invalid, so that the content cannot be verified.
	Pin bool
}

func (e *RefError) Error() string { return e.Diag().Error() }

// Kind returns the code of the message: see [diag.CodeOf].
func (e *RefError) Kind() diag.Code { return diag.BadReference }

// Diag returns e as a [diag.Error].
func (e *RefError) Diag() *diag.Error {
	return &diag.Error{Msg: fmt.Sprintf("%q: %s", diag.Redact(e.Ref), e.Msg), Hints: e.Hints, Err: e}
}

const refForms = "a catalog is PATH, https://HOST/PATH, oci://REGISTRY/REPOSITORY or git+https://HOST/REPOSITORY.git//PATH?ref=REF, " +
	"each with #sha256=DIGEST if it is pinned"

// ParseRef parses a reference: PATH, https://HOST/PATH,
// oci://REGISTRY/REPOSITORY[:TAG][@sha256:HEX] or a path in a git repository, optionally with a
// pin #sha256=HEX or @sha256:HEX. Relative paths remain relative: see [Ref.In]. HOST/PATH
// without a scheme is an https address unless that path exists: see [ParseRefIn]. The error is a
// [*RefError].
func ParseRef(text string) (Ref, error) {
	fail := func(format string, args ...any) (Ref, error) {
		return Ref{}, &RefError{Ref: text, Msg: fmt.Sprintf(format, args...), Hints: []string{refForms}}
	}
	if text == "" {
		return fail("the reference is empty")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }); i >= 0 {
		return fail("the reference contains a control character")
	}
	rest, pin, err := cutPin(text)
	if err != nil {
		return Ref{}, err
	}
	ref, err := parseLocation(rest)
	if err != nil {
		return fail("%v", err)
	}
	ref.Pin = pin
	return ref, nil
}

// cutPin removes the pin from text. A malformed pin is an error. It must not become part of the
// name, because the content would then be used unverified.
func cutPin(text string) (rest string, pin krm.Digest, err error) {
	bad := func(format string, args ...any) error {
		return &RefError{Ref: text, Msg: fmt.Sprintf(format, args...), Pin: true,
			Hints: []string{"a pin is #sha256= and 64 lower case hexadecimal digits"}}
	}
	rest = text
	for {
		i, digits := lastPin(rest)
		if i < 0 {
			return rest, pin, nil
		}
		if digits == "" {
			return rest, pin, bad("the pin %q is not a sha256", diag.Redact(rest[i:]))
		}
		d, err := krm.ParseDigest(digits)
		if err != nil || digits != strings.ToLower(digits) || len(digits) != 64 {
			return rest, pin, bad("the pin %q is not valid", diag.Redact(rest[i:]))
		}
		if !pin.IsZero() && pin != d {
			return rest, pin, bad("the reference has two different pins")
		}
		pin, rest = d, rest[:i]
	}
}

// lastPin returns the start of the last part of text that is a pin or looks like one, or -1 if
// there is none. digits is empty if the part is not a sha256.
func lastPin(text string) (at int, digits string) {
	i := strings.LastIndexAny(text, "#@")
	if i < 0 {
		return -1, ""
	}
	tail := text[i+1:]
	name, value, ok := strings.Cut(tail, "=")
	if text[i] == '@' {
		name, value, ok = strings.Cut(tail, ":")
	}
	if ok && name == "sha256" {
		if value == "" {
			value = "-" // present but empty: invalid
		}
		return i, value
	}
	switch lower := strings.ToLower(tail); {
	case strings.HasPrefix(lower, "sha"), strings.HasPrefix(lower, "md5"), strings.HasPrefix(lower, "blake"), text[i] == '#' &&
		strings.Contains(tail, "="):
		if !strings.ContainsAny(tail, "=:") && !isHex(tail) {
			return -1, "" // a path such as fns@shared/catalog.yaml
		}
		return i, ""
	}
	return -1, ""
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

func parseLocation(text string) (Ref, error) {
	if _, tail, ok := strings.Cut(text, "#"); ok && IsAddress(text) {
		return Ref{}, diag.BadReference.Errorf("%s is not a valid pin", diag.Redact("#"+tail))
	}
	switch {
	case text == "":
		return Ref{}, diag.BadReference.Errorf("the reference is only a pin")
	case strings.HasPrefix(text, "git::"), strings.HasPrefix(text, "git+"), strings.HasPrefix(text, "git@"), strings.HasPrefix(text, "ssh://"):
		return parseGit(text)
	case strings.HasPrefix(text, "oci://"):
		return parseOCI(strings.TrimPrefix(text, "oci://"))
	case strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "http://"):
		if isGitURL(text) {
			return parseGit(text)
		}
		return parseWeb(text)
	case strings.Contains(text, "://"), strings.Contains(text, "::"):
		scheme, _, _ := strings.Cut(text, ":")
		return Ref{}, diag.BadReference.Errorf("%s is not supported", scheme)
	}
	if PathText(text) != text {
		ref, err := parseLocation("https://" + text)
		ref.bare, _, _ = strings.Cut(text, "/")
		return ref, err
	}
	return Ref{Scheme: Local, Location: filepath.Clean(text), shown: text}, nil
}

// PathText returns path in a form that [ParseRef] parses as a path: it adds ./ if the first
// element looks like a host name.
func PathText(path string) string {
	if first, _, ok := strings.Cut(path, "/"); ok && looksLikeHost(first) {
		return "./" + path
	}
	return path
}

// looksLikeHost reports whether s, the first element of a path, looks like a host name: it ends
// in a top-level domain of two or more letters.
func looksLikeHost(s string) bool {
	s, _, _ = strings.Cut(s, ":")
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || len(s)-i-1 < 2 || s[0] == '.' {
		return false
	}
	for j := range len(s) {
		c := s[j] | 0x20
		switch {
		case c >= 'a' && c <= 'z':
		case j < i && (s[j] >= '0' && s[j] <= '9' || s[j] == '-' || s[j] == '.'):
		default:
			return j == i
		}
	}
	return true
}

func parseWeb(text string) (Ref, error) {
	u, err := parseURL(text)
	if err != nil {
		return Ref{}, err
	}
	for _, key := range []string{"archive", "checksum", "filename", "sshkey"} {
		if u.Query().Has(key) {
			return Ref{}, diag.BadReference.Errorf("the parameter %s is not supported", key)
		}
	}
	if u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return Ref{}, diag.BadReference.Errorf("the address does not name a file")
	}
	return Ref{Scheme: Scheme(u.Scheme), Location: u.String()}, nil
}

// parseURL parses and normalizes an address: lower case host, no default port. It rejects dot
// segments, and credentials except for ssh.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// The error of url.Parse repeats the text, which may contain credentials.
		return nil, diag.BadReference.Errorf("it is not an address")
	case u.Host == "" && (u.Scheme != "file" || !path.IsAbs(u.Path)):
		return nil, diag.BadReference.Errorf("the address has no host")
	case u.Host != "" && u.Scheme == "file":
		return nil, diag.BadReference.Errorf("the address of a file has no host")
	case u.User != nil && u.Scheme != "ssh":
		return nil, diag.BadReference.Errorf("the address contains credentials; they are never sent")
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, diag.BadReference.Errorf("the address contains %q", segment)
		}
	}
	u.Host = strings.ToLower(u.Host)
	u.RawPath = normalEscapes(u.EscapedPath())
	switch {
	case u.Scheme == "https":
		u.Host = strings.TrimSuffix(u.Host, ":443")
	case u.Scheme == "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	}
	return u, nil
}

// normalEscapes decodes escapes of characters that need no escaping and writes the others in
// upper case. Otherwise the same place would have several names.
func normalEscapes(path string) string {
	for i := 0; i+2 < len(path); i++ {
		if path[i] != '%' {
			continue
		}
		c, err := strconv.ParseUint(path[i+1:i+3], 16, 8)
		if b := byte(c); err == nil && (isHex(string(b)) || b|0x20 >= 'a' && b|0x20 <= 'z' || strings.IndexByte("-._~", b) >= 0) {
			path = path[:i] + string(b) + path[i+3:]
		} else {
			path = path[:i] + strings.ToUpper(path[i:i+3]) + path[i+3:]
		}
	}
	return path
}

func parseOCI(text string) (Ref, error) {
	m, err := function.ParseImage(text)
	if err != nil {
		return Ref{}, err
	}
	if first, _, ok := strings.Cut(text, "/"); !ok || first != m.Registry {
		return Ref{}, diag.BadReference.Errorf("%q does not name a registry", diag.Redact(text))
	}
	return Ref{Scheme: OCI, Location: "oci://" + m.Name()}, nil
}

// isGitURL reports whether an http or https address names a file in a repository:
// HOST/REPO.git/PATH or HOST/REPO//PATH.
func isGitURL(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return strings.Contains(rest, "//") || strings.Contains(rest, ".git/") || strings.HasSuffix(rest, ".git")
}

func parseGit(text string) (Ref, error) {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "git::"), "git+")
	if rest, ok := strings.CutPrefix(text, "git@"); ok {
		text = "ssh://git@" + strings.Replace(rest, ":", "/", 1)
	}
	scheme, rest, _ := strings.Cut(text, "://")
	if scheme != "https" && scheme != "http" && scheme != "ssh" && scheme != "file" {
		return Ref{}, diag.BadReference.Errorf("git over %q is not supported", scheme)
	}
	rest, query, _ := strings.Cut(rest, "?")
	repo, file, ok := strings.Cut(rest, "//")
	if !ok {
		if repo, file, ok = strings.Cut(rest, ".git/"); !ok {
			return Ref{}, diag.BadReference.Errorf("it does not name a file in the repository")
		}
		repo += ".git"
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Ref{}, diag.BadReference.Errorf("the parameters are not valid")
	}
	commit := values.Get("ref")
	for key := range values {
		if key != "ref" {
			return Ref{}, fmt.Errorf("the parameter %s is not supported", key)
		}
	}
	if name, at, ok := strings.Cut(file, "@"); ok && commit == "" {
		file, commit = name, at
	}
	if !validGitRef(commit) {
		return Ref{}, diag.BadReference.Errorf("%q is not the name of a commit, tag or branch", commit)
	}
	u, err := parseURL(scheme + "://" + repo)
	if err != nil {
		return Ref{}, err
	}
	if file = path.Clean(file); file == "." || file == ".." || strings.HasPrefix(file, "../") || path.IsAbs(file) {
		return Ref{}, fmt.Errorf("it does not name a file in the repository")
	}
	location := "git+" + u.String() + "//" + file
	if commit != "" {
		location += "?ref=" + commit
	}
	return Ref{Scheme: Git, Location: location}, nil
}

// validGitRef reports whether s is a plain branch, tag or commit name. It rejects names that git
// could parse as an option or a revision expression. An empty name is the default branch.
func validGitRef(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > 255 || strings.Contains(s, "..") || strings.Contains(s, "//") || strings.HasSuffix(s, ".lock") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '/' && c != '-') {
			return false
		}
	}
	return true
}

// In resolves a relative local path against dir, which must be absolute.
func (r Ref) In(dir string) Ref {
	if r.Scheme == Local && !filepath.IsAbs(r.Location) {
		r.Location = filepath.Join(dir, r.Location)
	}
	return r
}

// At returns r with the path real, the result of resolving symbolic links.
func (r Ref) At(real string) Ref {
	r.Location = filepath.Clean(real)
	return r
}

// Same reports whether r and o are the same catalog: the same place without conflicting pins.
// Local paths must be resolved first.
func (r Ref) Same(o Ref) bool {
	return r.SamePlace(o) && (r.Pin == o.Pin || r.Pin.IsZero() || o.Pin.IsZero())
}

// SamePlace reports whether r and o are the same place. It ignores pins. Local paths must be
// resolved first.
func (r Ref) SamePlace(o Ref) bool { return r.Scheme == o.Scheme && r.Location == o.Location }

// BuiltIn returns the reference of a catalog compiled into the program.
func BuiltIn(name string) Ref { return Ref{Scheme: builtIn, Location: name} }

// Remote reports whether the catalog is not a local file: it is fetched or compiled in.
func (r Ref) Remote() bool { return r.Scheme != Local }

// Fetched reports whether the content is fetched over a network or from a git repository, which
// may be local.
func (r Ref) Fetched() bool { return r.Remote() && r.Scheme != builtIn }

// Absolute reports whether r is an absolute local path.
func (r Ref) Absolute() bool { return r.Scheme == Local && filepath.IsAbs(r.Location) }

// Fixed reports whether the content of r is immutable: r has a digest or is a file in a commit.
func (r Ref) Fixed() bool { return !r.Pin.IsZero() || r.IsCommit() }

// IsCommit reports whether r is a file in a commit of a repository.
func (r Ref) IsCommit() bool { return isCommit(r.gitRef()) }

// gitRef returns the branch, tag or commit of a file in a repository. It is empty for the
// default branch and for all other references.
func (r Ref) gitRef() string {
	if r.Scheme != Git {
		return ""
	}
	_, ref, _ := strings.Cut(r.Location, "?ref=")
	return ref
}

// isCommit reports whether name is a full commit hash.
func isCommit(name string) bool { return (len(name) == 40 || len(name) == 64) && isHex(name) }

// OfMachine reports whether r is on this machine: a path or a local repository.
func (r Ref) OfMachine() bool {
	return r.Scheme == Local || strings.HasPrefix(r.Location, "git+file:")
}

// Dir returns the directory of a local catalog, which contains its programs, and "" for a remote
// catalog.
func (r Ref) Dir() string {
	if r.Remote() {
		return ""
	}
	return filepath.Dir(r.Location)
}

// Beside returns the location of uri as used in the catalog: an address unchanged, a relative
// path resolved against the directory of a local catalog.
func (r Ref) Beside(uri string) string {
	if IsAddress(uri) || r.Remote() || filepath.IsAbs(uri) {
		return uri
	}
	return filepath.Join(r.Dir(), uri)
}

// IsAddress reports whether uri is an address and not a path.
func IsAddress(uri string) bool {
	return strings.Contains(uri, "://") || strings.HasPrefix(uri, "git::") || strings.HasPrefix(uri, "git@")
}

// String returns the reference with its pin, for messages. Credentials are redacted.
func (r Ref) String() string {
	if r.Pin.IsZero() {
		return r.Show()
	}
	return r.Show() + r.pinText()
}

// Show returns the reference without its pin, for messages. Credentials are redacted.
func (r Ref) Show() string {
	return diag.Redact(cmp.Or(r.shown, r.Location))
}

func (r Ref) pinText() string {
	if r.Scheme == OCI {
		return "@" + r.Pin.String()
	}
	return "#sha256=" + strings.TrimPrefix(r.Pin.String(), "sha256:")
}

// Pinned returns the text of r with the pin d.
func (r Ref) Pinned(d krm.Digest) string {
	r.Pin = d
	return r.String()
}

// Shown returns r with text as its form in messages. A pin in the text is removed. The text of a
// remote reference is ignored if it contains credentials.
func (r Ref) Shown(text string) Ref {
	if rest, _, err := cutPin(text); err == nil {
		text = rest
	}
	if r.shown = text; r.Remote() && diag.Redact(text) != text {
		// In REPO.git/PATH@REF, everything before the @ looks like credentials.
		r.shown = ""
	}
	return r
}
