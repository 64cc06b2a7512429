package diff

import (
	"strings"

	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

const (
	// maxOpened limits the length of a text that is parsed, in bytes. maxInside limits the nesting
	// of texts within texts.
	maxOpened = 1 << 20
	maxInside = 4
)

// text adds an edit from the text old to the text now.
func (d *differ) text(path Path, old, now string) {
	e := Edit{Op: Replace, Path: path, Old: yaml.Str(old), New: yaml.Str(now)}
	if to, ok := d.renames[old]; ok && to == now {
		e.Follows = Base(old)
	}
	hidden := secret.InText(old) || secret.InText(now)
	if before, format := open(old); format != "" && d.inside < maxInside {
		if after, other := open(now); other != "" && before.Type() == after.Type() {
			in := differ{renames: d.renames, inside: d.inside + 1, hide: d.hide, moves: d.moves}
			in.value(nil, before, after, schemaOf(after), false)
			e.Format, e.Inside = other, in.edits
		}
	}
	hidden = hidden || d.oneSided(e.Old, e.New)
	if len(e.Inside) == 0 && !hidden && (strings.Contains(old, "\n") || strings.Contains(now, "\n")) {
		e.Lines = Lines(secret.HideAddresses(d.hide.Hide(old)), secret.HideAddresses(d.hide.Hide(now)))
	}
	d.add(e, hidden)
}

// open parses a text that is a mapping or list. It returns the value in JSON form and the format,
// "yaml" or "json". The format is "" for any other text.
func open(text string) (v yaml.Value, format string) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || len(text) > maxOpened {
		return v, ""
	}
	format = "yaml"
	if c := trimmed[0]; c == '{' || c == '[' {
		format = "json"
	} else if !strings.Contains(trimmed, "\n") || several(text) {
		return v, ""
	}
	v, err := (&yaml.Source{Data: []byte(text)}).Value()
	if err != nil || v.Len() == 0 {
		return v, ""
	}
	return canonical(v), format
}

// several reports whether text may contain several YAML documents.
func several(text string) bool {
	return strings.Contains(strings.TrimPrefix(text, "---"), "\n---") || strings.Contains(text, "\n...")
}

// schemaOf returns the schema of the object v, found in a text.
func schemaOf(v yaml.Value) schema.Node {
	group, version, ok := strings.Cut(v.Get("apiVersion").Text(), "/")
	if !ok {
		group, version = "", group
	}
	return (*schema.Schema)(nil).For(schema.Kind{Group: group, Version: version, Kind: v.Get("kind").Text()})
}

// A Line is a line of a multi-line text. Op is '-' for a removed line, '+' for an added one, ' '
// for context, and '\\' for the remark that the line before has no line end. On the first line of
// each hunk, Old and New are the line numbers on both sides, from 1. On other lines they are 0.
type Line struct {
	Op       byte
	Text     string
	Old, New int
}

// String returns the line in unified diff format: Op followed by Text.
func (l Line) String() string { return string(l.Op) + l.Text }

// context is the number of context lines around a change.
const context = 3

// Lines returns the lines that differ between two texts, with context.
func Lines(old, now string) (lines []Line) {
	before, after := split(old), split(now)
	a, b := numbers(before, after, func(line string) string { return line })
	var all []Line
	i, j := 0, 0
	for _, p := range append(common(a, b), [2]int{len(before), len(after)}) {
		for ; i < p[0]; i++ {
			all = append(all, Line{'-', before[i], i + 1, j + 1})
		}
		for ; j < p[1]; j++ {
			all = append(all, Line{'+', after[j], i + 1, j + 1})
		}
		if i < len(before) && j < len(after) {
			all = append(all, Line{' ', before[i], i + 1, j + 1})
		}
		i, j = i+1, j+1
	}
	shown := make([]bool, len(all))
	for k, line := range all {
		for near := max(0, k-context); line.Op != ' ' && near < min(len(all), k+context+1); near++ {
			shown[near] = true
		}
	}
	for k, line := range all {
		if !shown[k] {
			continue
		}
		if k > 0 && shown[k-1] {
			line.Old, line.New = 0, 0
		}
		text, open := strings.CutSuffix(line.Text, noEnd)
		line.Text = text
		if lines = append(lines, line); open {
			lines = append(lines, Line{Op: '\\', Text: " No newline at end of file"})
		}
	}
	return lines
}

// FirstLine returns the number, from 1, of the first line of now that differs from old.
func FirstLine(old, now string) int {
	n := 1
	for i := range min(len(old), len(now)) {
		if old[i] != now[i] {
			break
		}
		if now[i] == '\n' {
			n++
		}
	}
	return n
}

// noEnd marks a last line without a line end. It is unambiguous because lines contain no line
// break.
const noEnd = "\n"

// split returns the lines of text.
func split(text string) []string {
	if text == "" {
		return nil
	}
	rest, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(rest, "\n")
	if !ended {
		lines[len(lines)-1] += noEnd
	}
	return lines
}
