package loaders

import (
	"path/filepath"
	"strings"
)

// IsRemoteFile reports whether path, which names a file, is a reference to something remote. A name without a scheme is one of this
// machine, although [IsRemote] may say otherwise of it where directories are named as well.
func IsRemoteFile(path string) bool {
	if strings.IndexByte(path, ':') < 0 { // nearly all
		return false
	}
	scheme, _, ok := strings.Cut(path, "://")
	return ok && isScheme(scheme) || len(path) > 5 && strings.EqualFold(path[:5], "git::")
}

// isScheme reports whether text can be the scheme of an address.
func isScheme(text string) bool {
	for i := range len(text) {
		if c := text[i] | 0x20; (c < 'a' || c > 'z') && (i == 0 || (text[i] < '0' || text[i] > '9') && text[i] != '+') {
			return false
		}
	}
	return text != ""
}

// IsRemote reports whether kustomize would take an entry of resources or components for a URL or a repository: it decides
// by the form of the text alone, before it looks at local directories.
func IsRemote(text string) bool {
	if filepath.IsAbs(text) {
		return false
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "oci")) {
		return true
	}
	rest, _, _ := strings.Cut(text, "?")
	rest = cutPrefixFold(rest, "git::")
	for _, scheme := range []string{"ssh://", "https://", "http://", "file://"} {
		if after := cutPrefixFold(rest, scheme); after != rest {
			return hasRepo(after, scheme == "file://")
		}
	}
	user, host := cutUser(rest)
	lower := strings.ToLower(host)
	if strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:") {
		return hasRepo(host, false)
	}
	return user && strings.ContainsAny(host, ":/") && hasRepo(host, false)
}

// hasRepo reports whether the text after scheme and user has a host and a path that can be a repository.
func hasRepo(text string, local bool) bool {
	if local {
		return text != ""
	}
	i := strings.IndexAny(text, "/:")
	if i < 0 {
		return false
	}
	path := text[i+1:]
	if path == "" || strings.HasPrefix(path, "//") {
		return false
	}
	return strings.Contains(path, "_git/") || strings.Contains(path, "//") || strings.Contains(path, ".git") || strings.Contains(path, "/")
}

func cutPrefixFold(s, prefix string) string {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):]
	}
	return s
}

// cutUser splits "git@host" and reports whether there is a user.
func cutUser(s string) (bool, string) {
	user, host, ok := strings.Cut(s, "@")
	if !ok || user == "" {
		return false, s
	}
	for i := range len(user) {
		c := user[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false, s
		}
	}
	return true, host
}
