package reference

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// parseGit parses a repository reference as kustomize does: it splits the text into the
// repository that git clones and the path inside it. The error is [ErrNotRemote] if kustomize
// would treat the text as a local directory.
func parseGit(text string) (Reference, error) {
	r := Reference{Scheme: Git, Submodules: true}
	text, query, _ := strings.Cut(text, "?")
	r.parameters(query)
	host, rest, err := cutHost(text)
	if err != nil {
		return r, err
	}
	repository, inside, ok := cutRepository(rest, host == "file://")
	if !ok || repository == "" {
		return r, ErrNotRemote
	}
	if query == "" && strings.HasSuffix(repository, ".git") {
		if before, ref, ok := strings.Cut(inside, "@"); ok {
			inside, r.Ref = before, ref
		}
	}
	r.Location = host + repository
	if r.Path, ok = cleanPath(inside); !ok {
		return r, errors.New("the path leads out of the repository")
	}
	if r.Ref != "" && !isRef(r.Ref) {
		return r, fmt.Errorf("%q is not a valid name of a branch, tag or commit", r.Ref)
	}
	return r, r.checkLocation()
}

// checkLocation rejects invalid URLs, and locations that git or ssh would parse as an option.
func (r Reference) checkLocation() error {
	if IsShort(r.Location) {
		if host := r.Host(); host == "" || host[0] == '-' {
			return errors.New("it does not name a host")
		}
		if _, path, _ := strings.Cut(r.Location, ":"); strings.HasPrefix(path, "-") {
			return errors.New("the repository must not begin with a dash")
		}
		return nil
	}
	u, err := url.Parse(r.Location)
	switch {
	case err != nil:
		return errors.New("it is not a valid URL")
	case u.Scheme != "file" && (u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-")):
		return errors.New("it does not name a host")
	case u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return errors.New("the user must not begin with a dash")
	}
	if _, ok := u.User.Password(); ok && u.Scheme == "ssh" {
		return errors.New("it contains a password, which ssh does not accept in an address")
	}
	return nil
}

// cutHost splits text into the host and the path on it. The host keeps its scheme, user and
// separator.
func cutHost(text string) (host, rest string, err error) {
	scheme := ""
	for _, s := range []string{"ssh://", "https://", "http://", "file://"} {
		if after, ok := cutPrefixFold(text, s); ok {
			scheme, text = s, after
			break
		}
	}
	if scheme == "file://" {
		return scheme, text, nil
	}
	user, text := cutUser(text)
	_, github := cutPrefixFold(text, "github.com/")
	if _, colon := cutPrefixFold(text, "github.com:"); colon {
		github = true
	}
	short := scheme == "" && (user != "" || github)
	if scheme == "" && !short {
		return "", "", ErrNotRemote
	}
	end := strings.Index(text, "/")
	if colon := strings.Index(text, ":"); short && (end < 0 || colon > 0 && colon < end) {
		end = colon
	}
	if end < 0 {
		return "", "", ErrNotRemote
	}
	host, rest = text[:end+1], text[end+1:]
	switch {
	case github && (scheme == "ssh://" || user != ""):
		return user + "github.com:", rest, nil
	case github:
		return "https://github.com/", rest, nil
	}
	return scheme + user + host, rest, nil
}

// cutRepository splits text into the path of the repository and the path inside it. The split is
// after the folder below _git/, at a double slash, after .git, or after two path elements. A
// local repository has no path inside it unless one of the first three applies.
func cutRepository(text string, local bool) (repository, inside string, ok bool) {
	if i := strings.Index(text, "_git/"); i >= 0 {
		name, inside, _ := strings.Cut(text[i+len("_git/"):], "/")
		return text[:i+len("_git/")] + name, inside, true
	}
	if repository, inside, ok = strings.Cut(text, "//"); ok {
		return repository, inside, true
	}
	if i := strings.Index(text, ".git"); i >= 0 {
		return text[:i+len(".git")], text[i+len(".git"):], true
	}
	if local {
		return text, "", true
	}
	org, rest, ok := strings.Cut(text, "/")
	if !ok {
		return "", "", false
	}
	name, inside, _ := strings.Cut(rest, "/")
	return org + "/" + name, inside, true
}

// cutPrefixFold is [strings.CutPrefix] with case folding.
func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// cutUser cuts a leading user such as "git@" off s.
func cutUser(s string) (user, rest string) {
	user, rest, ok := strings.Cut(s, "@")
	if !ok || user == "" {
		return "", s
	}
	for i := range len(user) {
		if c := user[i]; !isAlphanumeric(c) && c != '-' || i == 0 && (c < 'A' || c == '-') {
			return "", s
		}
	}
	return user + "@", rest
}
