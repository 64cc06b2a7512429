// Follows api/internal/image/image.go.

package builtins

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// SplitImage splits an image into name, tag and digest. A colon before the first slash belongs to
// the port of a registry.
func SplitImage(image string) (name, tag, digest string) {
	start := max(0, strings.IndexByte(image, '/'))
	end := strings.IndexAny(image[start:], ":@")
	if end < 0 {
		return image, "", ""
	}
	end += start
	name, rest := image[:end], image[end:]
	if rest[0] == '@' {
		return name, "", rest[1:]
	}
	tag, digest, _ = strings.Cut(rest[1:], "@")
	return name, tag, digest
}

// An imagePattern matches images by name, with any tag and digest. The name is a regular
// expression. Nearly all names contain no operator but the dot, and match handles them without a
// regexp.
type imagePattern struct {
	name string
	re   *regexp.Regexp
	none bool
}

func compileImage(name string) imagePattern {
	if strings.Trim(name, alnum+"/_-:@.") == "" {
		return imagePattern{name: name}
	}
	re, err := imageRegexp(name)
	return imagePattern{re: re, none: err != nil}
}

// imageRegexp compiles name as a regular expression. It inserts name without parentheses, as
// kustomize does, so a | at its top level matches unexpected images.
func imageRegexp(name string) (*regexp.Regexp, error) {
	return regexp.Compile("^" + name + `(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$`)
}

func (p *imagePattern) match(image string) bool {
	switch {
	case p.none:
		return false
	case p.re != nil:
		return p.re.MatchString(image)
	}
	for i := range len(p.name) {
		if i == len(image) {
			return false
		}
		c := image[i]
		switch {
		case p.name[i] == c:
		case p.name[i] != '.' || c == '\n':
			return false
		case c >= utf8.RuneSelf: // a dot matches a rune, not a byte
			re, err := imageRegexp(p.name)
			return err == nil && re.MatchString(image)
		}
	}
	rest := image[len(p.name):]
	if strings.HasPrefix(rest, ":") {
		rest = strings.TrimLeft(rest[1:], tagChars)
	}
	return rest == "" || rest[0] == '@' && isDigest(rest[1:])
}

// key returns the key in [imageKeys] of every image that matches the pattern, "" if there is no
// common one. Names of registries usually have dots, which match any character.
func (p *imagePattern) key() string {
	base := strings.LastIndexByte(p.name, '/') + 1
	switch {
	case p.name == "" || strings.Contains(p.name[base:], "."):
		return ""
	case strings.Contains(p.name, "."):
		return p.name[base-1:]
	}
	return p.name
}

// imageKeys calls add with the keys of image: each start that may be the name before a tag or a
// digest, and the last element of its path, with the slash.
func imageKeys(image string, add func(key string)) {
	digest, tag := strings.LastIndexByte(image, '@'), strings.LastIndexByte(image, ':')
	ends := [...]int{len(image), digest, tag, strings.LastIndexByte(image[:max(0, digest)], ':')}
	for _, end := range ends {
		if end < 0 {
			continue
		}
		name := image[:end]
		add(name)
		if base := strings.LastIndexByte(name, '/'); base > 0 {
			add(name[base:])
		}
	}
}

const (
	alnum    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	tagChars = alnum + "_.{}-"
)

// isDigest reports whether s has the form algorithm:text. The algorithm consists of letters and
// digits with single separators between them.
func isDigest(s string) bool {
	algorithm, text, ok := strings.Cut(s, ":")
	if !ok || strings.Trim(text, tagChars) != "" {
		return false
	}
	afterSeparator := true
	for i := range len(algorithm) {
		switch c := algorithm[i]; {
		case isAlnum(c):
			afterSeparator = false
		case afterSeparator || strings.IndexByte(".+_-", c) < 0:
			return false
		default:
			afterSeparator = true
		}
	}
	return !afterSeparator
}
