package reference

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
)

// schemes are the schemes that a reference may have.
var schemes = []string{"https", "http", "ssh", "oci", "file"}

// unknownScheme returns the error for a text that begins with an unknown scheme. rest is the text
// after the scheme.
func unknownScheme(start, rest string) error {
	e := diag.Errorf(diag.Pos{}, "", "unknown type of reference %q: use a file, https, git or oci", start).With(diag.BadReference)
	scheme := strings.TrimRight(start, ":/")
	switch near := diag.Nearest(scheme, schemes); {
	case scheme == "git":
		e.Hint("use https:// or ssh:// instead of git://")
	case strings.HasPrefix(scheme, "git+") && slices.Contains(schemes, scheme[len("git+"):]):
		e.Hint("did you mean %q?", diag.Redact(scheme[len("git+"):]+"://"+rest))
	case near != "" && rest != "":
		e.Hint("did you mean %q?", diag.Redact(near+"://"+rest))
	}
	return e
}

// Corrected returns the reference that the user probably meant by a text that leads nowhere, "" if
// there is none: the repository of a web page, an address whose scheme is missing or misspelled, or
// an address of ssh with a slash in place of the colon. It goes by the text alone.
func Corrected(text string) string {
	full, changed := withScheme(text)
	if page := repositoryOfPage(full); page != "" {
		return page
	}
	if user, rest := cutUser(full); user != "" && !strings.Contains(rest, ":") {
		if host, path, ok := strings.Cut(rest, "/"); ok && isHostName(host) {
			return user + host + ":" + path
		}
	}
	if !changed {
		return ""
	}
	return full
}

// IsPage reports whether a text has the form of the address of a page in the web interface of a
// git server.
func IsPage(text string) bool {
	full, _ := withScheme(text)
	return repositoryOfPage(full) != ""
}

// brokenScheme matches a scheme with too few or too many signs after it. A scheme with a single
// slash is the name of a directory.
var brokenScheme = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i)(https?|ssh|oci)(?::/*|//+)([^/:].*)$`) })

// withScheme returns text with the scheme that it lacks, and whether that was added.
func withScheme(text string) (full string, changed bool) {
	switch m := brokenScheme().FindStringSubmatch(text); {
	case strings.Contains(text, "://") && (m == nil || strings.HasPrefix(text, m[1]+"://")):
		return text, false
	case m != nil:
		return strings.ToLower(m[1]) + "://" + m[2], true
	}
	host, rest, ok := strings.Cut(text, "/")
	if !ok || rest == "" || !isHostName(host) {
		return text, false
	}
	if last := path.Base(rest); strings.Contains(last, ":") && !strings.ContainsAny(rest, "?") {
		return "oci://" + text, true
	}
	if host == "www.github.com" {
		text = strings.TrimPrefix(text, "www.")
	}
	return "https://" + text, true
}

// isHostName reports whether a text looks like a host name with an optional port: its last part
// after a dot consists of letters and is not a file extension.
func isHostName(text string) bool {
	name, _, _ := strings.Cut(text, ":")
	switch path.Ext(name) {
	case "", ".yaml", ".yml", ".json", ".d", ".env", ".git":
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return false
		}
	}
	last := path.Ext(name)[1:]
	return len(last) > 1 && strings.Trim(last, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// pages match the paths of pages that show a file or directory of a repository: of GitLab, of
// GitHub, of Gitea and its forks, and of Bitbucket.
var pages = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^(.+?)/-/(tree|blob)/([^/]+)/?(.*)$`),
		regexp.MustCompile(`^([^/]+/[^/]+)/(tree|blob)/([^/]+)/?(.*)$`),
		regexp.MustCompile(`^([^/]+/[^/]+)/(src)/(?:branch|tag|commit)/([^/]+)/?(.*)$`),
		regexp.MustCompile(`^([^/]+/[^/]+)/(src)/([^/]+)/?(.*)$`),
	}
})

// repositoryOfPage returns the reference to the content that a web page of a git server shows, ""
// if text is not the address of such a page. The page of a file leads to the directory of the file:
// a repository is a reference to a directory.
func repositoryOfPage(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	for _, page := range pages() {
		m := page.FindStringSubmatch(strings.TrimPrefix(u.Path, "/"))
		if m == nil || strings.Contains(m[1], "//") {
			continue
		}
		inside := strings.Trim(m[4], "/")
		if m[2] == "blob" && isYAML(text) {
			inside = strings.TrimPrefix(path.Dir("/"+inside), "/")
		}
		address := u.Scheme + "://" + u.Host + "/" + strings.TrimSuffix(m[1], ".git")
		if inside != "" {
			address += "//" + inside
		}
		return address + "?ref=" + cmp.Or(u.Query().Get("ref"), m[3])
	}
	return ""
}
