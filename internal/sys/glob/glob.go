// Package glob matches slash-separated paths with patterns in which ** stands for any number of folders.
package glob

import (
	"path"
	"strings"
)

// A Pattern matches paths. Between slashes, * stands for any text, ? for one character and [a-z] or [!a-z] for one of some; ** alone
// between slashes stands for any number of folders, also none.
type Pattern struct {
	parts []string
}

// Parse reads a pattern. The error is [path.ErrBadPattern] if a bracket or a backslash in it has no end.
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

// MatchBelow reports whether the pattern matches the path, or a folder that it lies in.
func (p Pattern) MatchBelow(name string) bool {
	for end := 0; end < len(name); end++ {
		if name[end] == '/' && end > 0 && p.Match(name[:end]) {
			return true
		}
	}
	return p.Match(name)
}

// match compares part by part. Where that fails, the last ** takes one folder more: what is in front of it matches as well as it can.
func match(pattern, name []string) bool {
	i, j := 0, 0
	again, from := -1, 0 // the part behind the last **, and the folder that it was tried at
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

// matchPart compares what stands between slashes. The pattern was checked when it was read.
func matchPart(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}
