package roots

import (
	"os"
	"path"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/glob"
)

// IgnoreFile is the name of files that say which directories are not looked into. They are written like .gitignore.
const IgnoreFile = ".krmflowignore"

// maxIgnoreFile is how many bytes such a file may have.
const maxIgnoreFile = 1 << 20

// rules are those of an ignore file, with those of the directories around it.
type rules struct {
	outer *rules
	below string // the path of its directory from the top, with a slash at its end if it is not the top itself
	list  []rule
}

type rule struct {
	pattern            glob.Pattern
	negated, directory bool
}

// readRules reads the ignore file of a directory.
func (s *search) readRules(dir, rel string, outer *rules) (*rules, error) {
	name := path.Join(dir, IgnoreFile)
	data, err := s.readFile(name, maxIgnoreFile)
	if err != nil {
		return nil, err
	}
	r := &rules{outer: outer}
	if rel != "." {
		r.below = rel + "/"
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		n++
		one, ok, err := parseRule(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, diag.Errorf(diag.Pos{File: name, Line: n}, "", "%q is no pattern: a bracket or backslash in it has no end", strings.TrimSpace(line)).With(diag.BadValue)
		}
		if ok {
			r.list = append(r.list, one)
		}
	}
	return r, nil
}

// parseRule reads a line as git does; ok is false if there is no pattern in it.
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
		line += "/*" // what is in a directory, and not the directory
	}
	r.pattern, err = glob.Parse(line)
	return r, line != "" && err == nil, err
}

// ignore reports whether a path from the top is ignored. The last rule that matches it decides, and the nearest file has precedence.
func (r *rules) ignore(rel string, directory bool) bool {
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

// hasIgnoreFile reports whether a directory has an ignore file.
func hasIgnoreFile(entries []os.DirEntry) bool {
	for _, d := range entries {
		if d.Name() == IgnoreFile && !d.IsDir() {
			return true
		}
	}
	return false
}
