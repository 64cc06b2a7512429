// Package findings decides which warnings are reported, and how: by the level of their code, by
// comments in the files, and by a baseline of known findings.
package findings

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/messages"
)

// Rules are the choices of a user. They are safe for concurrent use. The zero Rules report every
// finding at the default level of its code.
type Rules struct {
	// Levels are the levels that replace the default ones.
	Levels map[diag.Code]diag.Level
	// Known has the findings that are not reported. It may be nil.
	Known *Baseline

	mu    sync.Mutex
	files map[string][]string
	seen  map[entry]bool // the reported findings
}

// String describes the levels and the baseline. Rules with equal texts report the same findings.
func (r *Rules) String() string {
	text := fmt.Sprintf("levels %#v", r.Levels)
	if r.Known != nil {
		text += fmt.Sprintf(" baseline %q %#v", r.Known.paths.folder, r.Known.known)
	}
	return text
}

// ParseLevels returns the levels in settings of the form CODE=LEVEL.
func ParseLevels(settings []string) (map[diag.Code]diag.Level, error) {
	levels := map[diag.Code]diag.Level{}
	for _, s := range settings {
		code, name, ok := strings.Cut(s, "=")
		if !ok || !isCode.MatchString(code) {
			return nil, diag.FlagValue.Errorf("--level: %q must have the form CODE=LEVEL, for example KF0220=error", s)
		}
		if messages.Find(code) == nil {
			return nil, diag.FlagValue.Errorf("--level: there is no code %s: krmflow explain lists the codes", code)
		}
		level, err := diag.ParseLevel(name)
		if err != nil {
			return nil, diag.FlagValue.Errorf("--level: %w", err)
		}
		levels[diag.Code(code)] = level
	}
	return levels, nil
}

var isCode = regexp.MustCompile(`^KF\d{4}$`)

// Level returns the level at which e is reported, [diag.LevelOff] for a finding that a comment or
// the baseline excludes.
func (r *Rules) Level(e *diag.Error) diag.Level {
	r.mu.Lock()
	defer r.mu.Unlock()
	level := r.level(e)
	if level != diag.LevelOff && diag.CodeOf(e) != "" {
		if r.seen == nil {
			r.seen = map[entry]bool{}
		}
		r.seen[entryOf(e)] = true
	}
	return level
}

// Wants reports whether findings like e are reported.
func (r *Rules) Wants(e *diag.Error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.level(e) != diag.LevelOff
}

// level returns the level of the code of e, and [diag.LevelOff] for a finding that a comment or the
// baseline excludes.
func (r *Rules) level(e *diag.Error) diag.Level {
	code := diag.CodeOf(e)
	level, chosen := r.Levels[code]
	if !chosen {
		level = code.DefaultLevel()
	}
	if level != diag.LevelOff && code != "" && (r.ignored(code, e.Pos) || r.Known.has(e)) {
		return diag.LevelOff
	}
	return level
}

// ignored reports whether a comment excludes findings with a code at pos.
func (r *Rules) ignored(code diag.Code, pos diag.Pos) bool {
	if pos.File == "" || pos.Line <= 0 {
		return false
	}
	lines, ok := r.files[pos.File]
	if !ok {
		if data, err := os.ReadFile(pos.File); err == nil && bytes.Contains(data, []byte(marker)) {
			lines = strings.Split(string(data), "\n")
		}
		if r.files == nil {
			r.files = map[string][]string{}
		}
		r.files[pos.File] = lines
	}
	if pos.Line > len(lines) {
		return false
	}
	i := pos.Line - 1
	if ignores(lines[i], code) {
		return true
	}
	for indent := indentOf(lines[i]); i >= 0; i-- {
		if n := indentOf(lines[i]); i < pos.Line-1 && (n < 0 || n >= indent) {
			continue // not the start of an entry around the line
		} else {
			indent = n
		}
		for j := i - 1; j >= 0 && strings.HasPrefix(strings.TrimSpace(lines[j]), "#"); j-- {
			if ignores(lines[j], code) {
				return true
			}
		}
		if indent <= 0 {
			break
		}
	}
	return false
}

// marker starts a comment that excludes findings: # krmflow:ignore KF0123 reason.
const marker = "krmflow:ignore"

// ignores reports whether a line has a comment that excludes findings with a code.
func ignores(line string, code diag.Code) bool {
	_, comment, _ := strings.Cut(line, "#")
	_, rest, ok := strings.Cut(comment, marker)
	for _, word := range strings.Fields(rest) {
		for _, c := range strings.Split(strings.TrimSuffix(word, ","), ",") {
			if !isCode.MatchString(c) {
				return false // the reason starts
			}
			if ok && diag.Code(c) == code {
				return true
			}
		}
	}
	return false
}

// indentOf returns the indentation of a line, where the dash of a list item counts as a blank, and
// -1 for an empty line or a comment.
func indentOf(line string) int {
	text := strings.TrimLeft(line, " ")
	if text == "" || text[0] == '#' || text[0] == '\r' {
		return -1
	}
	return len(line) - len(text)
}
