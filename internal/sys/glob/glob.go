// Package glob matches slash-separated paths against patterns in which ** matches any number of
// folders.
package glob

import (
	"path"
	"strings"
)

// A Pattern matches paths. Within a path element, * matches any text, ? matches one character,
// and [a-z] or [!a-z] matches one character of a set. An element ** matches any number of
// folders, including none.
type Pattern struct {
	parts []string
}

// Parse parses a pattern. The error is [path.ErrBadPattern] if a bracket or backslash is
// unterminated.
func Parse(text string) (Pattern, error) {
	var p Pattern
	for part := range strings.SplitSeq(text, "/") {
		part = strings.ReplaceAll(part, "[!", "[^")
		if _, err := path.Match(part, ""); err != nil {
			return p, err
		}
		if n := len(p.parts); part == "**" && n > 0 && p.parts[n-1] == "**" {
			continue
		}
		p.parts = append(p.parts, part)
	}
	return p, nil
}

// Match reports whether the pattern matches the whole path.
func (p Pattern) Match(name string) bool {
	return match(p.parts, strings.Split(name, "/"))
}

// MatchBelow reports whether the pattern matches the path or one of its parent folders.
func (p Pattern) MatchBelow(name string) bool {
	for end := 0; end < len(name); end++ {
		if name[end] == '/' && end > 0 && p.Match(name[:end]) {
			return true
		}
	}
	return p.Match(name)
}

// match compares element by element. On a mismatch, the last ** takes one more folder. It never
// needs to backtrack to an earlier **, because the elements before the last ** have already
// matched as early as possible.
func match(pattern, name []string) bool {
	i, j := 0, 0
	// again is the element after the last **. from is the folder where its match was last tried.
	again, from := -1, 0
	for j < len(name) || i < len(pattern) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			i++
			again, from = i, j
			continue
		case i < len(pattern) && j < len(name) && matchPart(pattern[i], name[j]):
			i++
			j++
			continue
		case again >= 0 && from < len(name):
			from++
			i, j = again, from
			continue
		}
		return false
	}
	return true
}

// matchPart matches one path element. Parse has already validated the pattern.
func matchPart(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
