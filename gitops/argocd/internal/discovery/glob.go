package discovery

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ErrBadPattern reports an invalid pattern.
var ErrBadPattern = errors.New("syntax error in pattern")

// GlobExpression compiles a pattern. * and ** match any text, including slashes; ? matches one
// character; [a-z] and [!a-z] match one character in or outside of a set. If braces is set, {a,b}
// matches a or b.
func GlobExpression(pattern string, braces bool) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A(?:`)
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			b.WriteString(".*")
		case c == '?':
			b.WriteString(".")
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '[':
			set := pattern[i+1:]
			end := strings.IndexByte(set, ']')
			if !braces && end >= 0 && strings.Trim(set[:end], "!^") == "" { // a bracket at the start of a set
				if more := strings.IndexByte(set[end+1:], ']'); more >= 0 {
					end += 1 + more
				}
			}
			if end <= 0 {
				return nil, ErrBadPattern
			}
			b.WriteString("[")
			body := set[:end]
			if body[0] == '!' || !braces && body[0] == '^' {
				b.WriteString("^")
				body = body[1:]
			}
			if braces && (len(body) != 3 || body[1] != '-') { // a list, not a range
				body = strings.ReplaceAll(body, "-", "\x00")
			}
			body = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "^", `\^`).Replace(body)
			b.WriteString(strings.ReplaceAll(body, "\x00", `\-`))
			b.WriteString("]")
			i += 1 + end
		case braces && c == '{' && (i+1 == len(pattern) || pattern[i+1] == '}'):
			i++
			b.WriteString(`[^\x00-\x{10FFFF}]`) // no alternatives
		case braces && c == '{':
			depth++
			b.WriteString("(?:")
		case braces && c == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case braces && c == ',' && depth > 0:
			b.WriteString("|")
		case c < 0x80:
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(strings.Repeat(")", depth)) // as in gobwas/glob, braces need not be closed
	b.WriteString(`)\z`)
	return regexp.Compile(b.String())
}

// Find returns the files that match a pattern, in lexical order. In the pattern, ** matches any
// number of folders, and {a,b} matches a or b.
func (t *Tree) Find(pattern string) ([]string, error) {
	if !strings.Contains(pattern, "**") && !strings.Contains(pattern, "{") {
		found, err := fs.Glob(t.FS, pattern)
		return slices.DeleteFunc(found, t.IsDir), err
	}
	if err := t.Walk(); err != nil {
		return nil, err
	}
	var found []string
	alternatives := braces(pattern)
	for _, name := range t.Files {
		for _, p := range alternatives {
			ok, err := matchPath(strings.Split(p, "/"), strings.Split(name, "/"))
			if err != nil {
				return nil, err
			}
			if ok {
				found = append(found, name)
				break
			}
		}
	}
	return found, nil
}

// braces expands each {a,b} in a pattern, and returns the resulting patterns.
func braces(pattern string) []string {
	open := strings.LastIndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	end := strings.IndexByte(pattern[open:], '}')
	if end < 0 {
		return []string{pattern}
	}
	var list []string
	for _, part := range strings.Split(pattern[open+1:open+end], ",") {
		list = append(list, braces(pattern[:open]+part+pattern[open+end+1:])...)
	}
	return list
}

// matchPath reports whether the elements of a path match the elements of a pattern.
func matchPath(pattern, name []string) (bool, error) {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(name) == 0 {
			return false, nil
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false, err
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(pattern) == 0 {
		return len(name) == 0, nil
	}
	for i := range len(name) + 1 {
		if ok, err := matchPath(pattern[1:], name[i:]); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}
