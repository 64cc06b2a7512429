// Package ignore parses .krmflowignore files, which list paths that krmflow does not read. They
// have the syntax of .gitignore.
package ignore

import (
	"path"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/glob"
)

// File is the name of ignore files. MaxSize is their maximum size in bytes.
const (
	File    = ".krmflowignore"
	MaxSize = 1 << 20
)

// Rules are the rules of an ignore file and of the directories above it. Nil ignores nothing.
type Rules struct {
	outer *Rules
	// Path of its directory from the top, with a trailing slash; empty for the top itself.
	below string
	list  []rule
}

type rule struct {
	pattern            glob.Pattern
	negated, directory bool
}

// Parse returns the rules of the ignore file of a directory. dir is the name of the directory
// in messages. rel is its slash-separated path from the top, "." for the top itself. outer has
// the rules that apply to the directory.
func Parse(dir, rel string, data []byte, outer *Rules) (*Rules, error) {
	r := &Rules{outer: outer}
	if rel != "." {
		r.below = rel + "/"
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		n++
		one, ok, err := parseRule(strings.TrimRight(line, "\r\n"))
		if err != nil {
			at := diag.Pos{File: path.Join(dir, File), Line: n}
			return nil, diag.Errorf(at, "", "%q is not a pattern: it has an unclosed bracket or a trailing backslash",
				strings.TrimSpace(line)).With(diag.BadValue)
		}
		if ok {
			r.list = append(r.list, one)
		}
	}
	return r, nil
}

// parseRule parses a line as git does. ok is false if the line has no pattern.
func parseRule(line string) (r rule, ok bool, err error) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return r, false, nil
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.directory = strings.CutSuffix(line, "/")
	if rest, anchored := strings.CutPrefix(line, "/"); anchored {
		line = rest
	} else if !strings.Contains(line, "/") {
		line = "**/" + line
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // the entries of the directory, but not the directory itself
	}
	r.pattern, err = glob.Parse(line)
	return r, line != "" && err == nil, err
}

// Ignores reports whether a path, given relative to the top, is ignored. The last matching rule
// of the nearest file takes precedence.
func (r *Rules) Ignores(rel string, directory bool) bool {
	for ; r != nil; r = r.outer {
		name := strings.TrimPrefix(rel, r.below)
		for i := len(r.list) - 1; i >= 0; i-- {
			one := r.list[i]
			if (directory || !one.directory) && one.pattern.Match(name) {
				return !one.negated
			}
		}
	}
	return false
}
