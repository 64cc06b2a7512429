package diag

import (
	"slices"
	"strings"
)

// hidden stands for a secret.
const hidden = "xxxxx"

// publicParameters are the parameters whose values identify a version or a publisher. The values of
// other parameters may be tokens or signatures.
var publicParameters = []string{"ref", "version", "timeout", "submodules", "depth", "archive", "checksum", "filename", "publisher", "sha1", "sha256", "sha512"}

// Redact returns a reference (an address, an image, a path, or what somebody wrote in its place) as it may be shown: without token and
// password in front of a host, also in git's short form user:password@host:path, and without the values of parameters other than
// the well-known ones. Where a password ends cannot be seen in text that is no valid address, so Redact rather hides too much.
func Redact(ref string) string {
	ref, pin := cutDigest(ref)
	scheme, rest := cutScheme(ref)
	start := len(rest) - len(strings.TrimLeft(rest, "/"))
	rest = scheme + rest[:start] + redactUser(rest[start:], scheme, false)
	rest, fragment, _ := strings.Cut(rest, "#")
	address, query, ok := strings.Cut(rest, "?")
	if ok {
		address += "?" + redactParameters(query, false)
	}
	if fragment != "" {
		address += "#" + redactParameters(fragment, true)
	}
	return address + pin
}

// cutDigest cuts a digest off, whose @ is none of a user's.
func cutDigest(ref string) (before, digest string) {
	const mark, length = "sha256:", 64
	i := len(ref) - length - len(mark) - 1
	if i < 0 || ref[i] != '@' || ref[i+1:i+1+len(mark)] != mark || strings.Trim(ref[len(ref)-length:], "0123456789abcdef") != "" {
		return ref, ""
	}
	return ref[:i], ref[i:]
}

// cutScheme cuts off what stands in front of a host: "https://", "git::ssh://". Without any, the text may be git's short form.
func cutScheme(ref string) (scheme, rest string) {
	i := 0
	for i < len(ref) && (ref[i]|0x20 >= 'a' && ref[i]|0x20 <= 'z' || strings.IndexByte("0123456789+.-", ref[i]) >= 0) {
		i++
	}
	if strings.HasPrefix(ref[i:], "::") {
		scheme, rest = cutScheme(ref[i+2:])
		return ref[:i+2] + scheme, rest
	}
	if strings.HasPrefix(ref[i:], "://") {
		return ref[:i+3], ref[i+3:]
	}
	return "", ref
}

// redactUser hides who and what stands in front of a host. A user that is no secret stays: git, and those of ssh. nested says that the
// address stands in another one.
func redactUser(rest, scheme string, nested bool) string {
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	user, _, ok := strings.Cut(host, "@")
	byName := user == "git" || scheme == "" || strings.HasSuffix(scheme, "ssh://")
	switch {
	case !strings.ContainsAny(host, "@:"): // an @ further on belongs to the path
	case ok && byName && strings.Count(host, "@") == 1 && !strings.Contains(user, ":"):
	default:
		switch i := strings.LastIndexByte(rest, '@'); {
		case i < 0:
		case strings.Contains(rest[:i], "?") && (nested || hasPort(host)):
			return hidden // the @ may be one of a parameter, and what follows the rest of its value
		default:
			return shownUser(rest[:i]) + rest[i:]
		}
	}
	if i := strings.Index(rest, "://"); i >= 0 { // an address in the address
		scheme, after := rest[:i+3], rest[i+3:]
		return scheme + redactUser(after, scheme, true)
	}
	return rest
}

// hasPort reports whether what follows the last colon in host may be a port.
func hasPort(host string) bool {
	i := strings.LastIndexByte(host, ':')
	return i >= 0 && strings.Trim(host[i+1:], "0123456789") == ""
}

// shownUser returns what is shown of a user and a password. A token may stand in the place of either.
func shownUser(text string) string {
	user, password, _ := strings.Cut(text, ":")
	plain := strings.Trim(strings.ToLower(user), "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
	if password == "" || password == "x-oauth-basic" || user == "" || len(user) > 16 || !plain {
		return hidden
	}
	return user + ":" + hidden
}

// redactParameters hides the values of parameters that are not known to be public. Names without a value stay if they may.
func redactParameters(text string, names bool) string {
	var b strings.Builder
	for text != "" {
		end := strings.IndexAny(text, "&;?#")
		part, sep := text, ""
		if end >= 0 {
			part, sep = text[:end], text[end:end+1]
		}
		text = text[len(part)+len(sep):]
		name, value, ok := strings.Cut(part, "=")
		switch public := slices.Contains(publicParameters, name); {
		case part == "", public, names && !ok:
			b.WriteString(part)
		case !ok:
			b.WriteString(hidden)
		case value == "":
			b.WriteString(part)
		default:
			b.WriteString(name + "=" + hidden)
		}
		b.WriteString(sep)
	}
	return b.String()
}
