package diag

import (
	"slices"
	"strings"
)

// hidden replaces a secret.
const hidden = "xxxxx"

// publicParameters are the parameters whose values identify a version or a publisher. The values
// of other parameters may be tokens or signatures.
var publicParameters = []string{"ref", "version", "timeout", "submodules", "depth", "archive", "checksum", "filename", "publisher", "sha1",
	"sha256", "sha512"}

// Redact returns ref in a form that is safe to print. The argument is an address, an image, a
// path or invalid input in place of one. Redact hides tokens and passwords in front of a host,
// also in git's short form user:password@host:path, and the values of all parameters except
// well-known ones. In an invalid address the end of a password is ambiguous, and Redact then
// hides too much rather than too little.
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

// cutDigest cuts a digest off the end of ref. The @ of a digest must not be read as the end of a
// user.
func cutDigest(ref string) (before, digest string) {
	const mark, length = "sha256:", 64
	i := len(ref) - length - len(mark) - 1
	if i < 0 || ref[i] != '@' || ref[i+1:i+1+len(mark)] != mark || strings.Trim(ref[len(ref)-length:], "0123456789abcdef") != "" {
		return ref, ""
	}
	return ref[:i], ref[i:]
}

// cutScheme cuts off the part before the user and host: "https://" or "git::ssh://". Without a
// scheme, rest may be in git's short form.
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

// redactUser hides the user and password in front of a host. It keeps a user that is not secret:
// git, and the user of an ssh address. nested is true for an address within another address.
func redactUser(rest, scheme string, nested bool) string {
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	user, _, ok := strings.Cut(host, "@")
	byName := user == "git" || scheme == "" || strings.HasSuffix(scheme, "ssh://")
	switch {
	case !strings.ContainsAny(host, "@:"): // a later @ belongs to the path
	case ok && byName && strings.Count(host, "@") == 1 && !strings.Contains(user, ":"):
	default:
		switch i := strings.LastIndexByte(rest, '@'); {
		case i < 0:
		case strings.Contains(rest[:i], "?") && (nested || hasPort(host)):
			return hidden // the @ may belong to a parameter, and the text after it to the value
		default:
			return shownUser(rest[:i]) + rest[i:]
		}
	}
	if i := strings.Index(rest, "://"); i >= 0 { // an address within the address
		scheme, after := rest[:i+3], rest[i+3:]
		return scheme + redactUser(after, scheme, true)
	}
	return rest
}

// hasPort reports whether the text after the last colon in host may be a port.
func hasPort(host string) bool {
	i := strings.LastIndexByte(host, ':')
	return i >= 0 && strings.Trim(host[i+1:], "0123456789") == ""
}

// shownUser returns the printable form of a user and password. Either may be a token.
func shownUser(text string) string {
	user, password, _ := strings.Cut(text, ":")
	plain := strings.Trim(strings.ToLower(user), "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
	if password == "" || password == "x-oauth-basic" || user == "" || len(user) > 16 || !plain {
		return hidden
	}
	return user + ":" + hidden
}

// redactParameters hides the values of all parameters except publicParameters. With names, it
// keeps parameters that have no value.
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
