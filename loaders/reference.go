package loaders

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// IsRemoteFile reports whether kustomize would fetch path as a file.
func IsRemoteFile(path string) bool {
	if len(path) < 4 || !strings.EqualFold(path[:4], "http") {
		return false
	}
	u, err := url.Parse(path)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// RemoteError says that what path names is not supported.
func RemoteError(path string) error {
	return fmt.Errorf("%q is remote, and krmflow does not support remote sources yet", diag.Redact(path))
}

// IsRemote reports whether kustomize would take an entry of resources or components for a URL or a repository: it decides
// by the form of the text alone, before it looks at local directories.
func IsRemote(text string) bool {
	if IsRemoteFile(text) {
		return true
	}
	if filepath.IsAbs(text) {
		return false
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
