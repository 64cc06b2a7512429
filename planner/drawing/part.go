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
	b := box{kind: p.kind, root: p.roots > 0, many: len(p.names) > 1}
	names := make([]string, len(p.names))
	for i, name := range p.names {
		names[i] = clean(strings.TrimPrefix(name, below))
	}
	var notes []string
	if p.kind != kustomization {
		notes = append(notes, looks[p.kind].name)
	}
	switch {
	case p.chain:
		b.title = wrap(names[0])
		for _, name := range names[1:] {
			b.lines = append(b.lines, line{text: "on " + shortPath(name, lineWidth-3)})
		}
	case b.many:
		b.title = []string{diag.Count(len(names), "layer")}
		if p.roots == len(names) {
			b.title[0] = diag.Count(len(names), "root")
		}
		for _, name := range some(names, 4) {
			b.lines = append(b.lines, line{text: shortPath(name, lineWidth)})
		}
	default:
		b.title = wrap(names[0])
	}
	if b.many && same(names) {
		b.title, b.lines = wrap(names[0]), nil // of components, which are there for each user
		notes = append(notes, diag.Count(len(names), "time"))
	}
	if p.note != "" && !b.many {
		notes = append(notes, p.note)
	}
	b.note = strings.Join(notes, ", ")
	b.lines = append(b.lines, p.counts()...)
	if len(p.steps) > maxSteps {
		b.lines = append(append(b.lines, p.steps[:maxSteps-1]...), line{text: "and " + diag.Count(len(p.steps)-maxSteps+1, "other step")})
	} else {
		b.lines = append(b.lines, p.steps...)
	}
	tips := some(p.tips, maxTip)
	for i, tip := range tips {
		tips[i] = cut(tip, maxTipWidth)
	}
	b.tip = strings.Join(tips, "\n")
	return b
}

// same reports whether all names are the first one.
func same(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return name != names[0] })
}

// maxSteps is how many steps of a run a box shows.
const maxSteps = 14

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
