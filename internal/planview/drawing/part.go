package drawing

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A part is what becomes one box: a layer, a run of steps, or several of these.
type part struct {
	names []string // of the directories of its layers; of a chain, what uses the others comes first
	chain bool
	note  string // what else it is, of a run of steps
	kind  class
	roots int // how many of its layers are roots
	tally []tally
	steps []line
	verbs []string // of steps, each once
	tips  []string
}

type parts struct {
	list  []part
	edges []edge
}

// A tally counts what a layer does itself, by the numbers of counted.
type tally [7]int

// counted are the things that are counted, and the verbs of their steps.
var counted = [...]struct {
	verb      class
	one, many string
}{
	{loads, "resource", "resources"},
	{generates, "generator", "generators"},
	{transforms, "patch", "patches"},
	{transforms, "transformer", "transformers"},
	{validates, "validator", "validators"},
	{calls, "function allowed", "functions allowed"},
	{denied, "function denied", "functions denied"},
}

const (
	countResources = iota
	countGenerators
	countPatches
	countTransformers
	countValidators
	countAllowed
	countDenied
)

// box returns the box of a part. below is the directory that names start from.
func (p *part) box(below string) box {
	b := box{kind: p.kind, verbs: p.verbs, root: p.roots > 0, many: len(p.names) > 1}
	names := make([]string, len(p.names))
	for i, name := range p.names {
		names[i] = clean(strings.TrimPrefix(name, below))
	}
	var notes []string
	if p.kind != kustomization {
		notes = append(notes, looks[p.kind].name)
	}
	switch apart := slices.ContainsFunc(names, func(name string) bool { return name != names[0] }); {
	case p.chain:
		b.title = wrap(names[0])
		for _, name := range names[1:] {
			b.lines = append(b.lines, line{text: "on " + shortPath(name, lineWidth-3)})
		}
	case apart:
		b.title = []string{p.number()}
		for _, name := range some(names, someNames) {
			b.lines = append(b.lines, line{text: shortPath(name, lineWidth)})
		}
	case b.many: // a Component, which has steps for each of its users
		b.title = wrap(names[0])
		notes = append(notes, diag.Count(len(names), "time"))
	default:
		b.title = wrap(names[0])
		if p.note != "" {
			notes = append(notes, p.note)
		}
	}
	b.note = strings.Join(notes, ", ")
	b.lines = append(append(b.lines, p.counts()...), p.shown()...)
	b.tip = p.tip(names)
	return b
}

const (
	// someNames is how many names a box shows that stands for several layers, and maxSteps how many steps of a run.
	someNames = 4
	maxSteps  = 14
)

// number says how many layers a part stands for.
func (p *part) number() string {
	if p.roots == len(p.names) {
		return diag.Count(p.roots, "root")
	}
	return diag.Count(len(p.names), "layer")
}

// shown returns the first steps of a run.
func (p *part) shown() []line {
	if len(p.steps) <= maxSteps {
		return p.steps
	}
	more := diag.Count(len(p.steps)-maxSteps+1, "other step")
	return append(p.steps[:maxSteps-1:maxSteps-1], line{text: "and " + more})
}

// tip returns what a box has no place for: the names of what is alike, or else all about it.
func (p *part) tip(names []string) string {
	lines := p.tips
	if len(names) > 1 && !p.chain {
		lines = names
	}
	lines = slices.Clone(some(lines, maxTip))
	for i, text := range lines {
		lines[i] = cut(text, maxTipWidth)
	}
	return strings.Join(lines, "\n")
}

// counts returns what the layers of a part do: those of a chain together, those of others each.
func (p *part) counts() (lines []line) {
	for i, c := range counted {
		least, most := 0, 0
		for j, t := range p.tally {
			switch {
			case p.chain:
				most += t[i]
				least = most
			case j == 0:
				least, most = t[i], t[i]
			default:
				least, most = min(least, t[i]), max(most, t[i])
			}
		}
		if most == 0 {
			continue
		}
		text := fmt.Sprint(most)
		if least < most {
			text = fmt.Sprintf("%d–%d", least, most)
		}
		name := c.many
		if least == 1 && most == 1 {
			name = c.one
		}
		text += " " + name
		if len(p.names) > 1 && !p.chain {
			text += " each"
		}
		lines = append(lines, line{text: text, verb: c.verb})
	}
	return lines
}

// commonDir returns the directory, with a slash behind it, that all layers are below, empty if that is none.
func commonDir(list []part) string {
	first := true
	var common string
	for _, p := range list {
		for _, name := range p.names {
			dir := filepath.Dir(name) + "/"
			switch {
			case strings.Contains(name, "://"):
				continue
			case first:
				common, first = dir, false
			}
			for !strings.HasPrefix(dir, common) {
				common = common[:strings.LastIndexByte(strings.TrimSuffix(common, "/"), '/')+1]
			}
		}
	}
	if common == "./" || common == "/" || len(list) < 2 {
		return ""
	}
	return common
}
