package drawing

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A part is the content of one box: a layer, a run of steps, or several of these.
type part struct {
	names   []string // directories of the layers; in a chain, consumers come first
	members []int    // indexes of the layers, in the order of names; only for [Group]
	chain   bool
	note    string // additional remark for a run of steps
	kind    class
	roots   int // number of layers that are roots
	tally   []tally
	steps   []line
	verbs   []string // verbs of the steps, without duplicates
	tips    []string
}

type parts struct {
	list  []part
	edges []edge
}

// A tally counts the direct steps of a layer. Its indexes are the same as in counted.
type tally [7]int

// counted lists the counted items: the class of their steps and their names.
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

// box returns the box of a part. It strips the prefix below from names.
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
	case b.many: // a Component, which has separate steps for each consumer
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
	// someNames is the maximum number of names in a box for several layers. maxSteps is the
	// maximum number of lines for the steps of a run.
	someNames = 4
	maxSteps  = 14
)

// number returns the number of layers of a part as text.
func (p *part) number() string {
	if p.roots == len(p.names) {
		return diag.Count(p.roots, "root")
	}
	return diag.Count(len(p.names), "layer")
}

// shown returns the lines for the steps of a run, shortened to [maxSteps].
func (p *part) shown() []line {
	if len(p.steps) <= maxSteps {
		return p.steps
	}
	more := diag.Count(len(p.steps)-maxSteps+1, "other step")
	return append(p.steps[:maxSteps-1:maxSteps-1], line{text: "and " + more})
}

// tip returns the tooltip of a part: the names of similar layers, or the details of a single
// layer or chain.
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

// counts returns the lines for the tallies of a part: the sums for a chain, and otherwise the
// range per layer.
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

// commonDir returns the directory that contains all layers, with a trailing slash. It returns ""
// if there is no such directory or fewer than two parts. References to remote layers are
// ignored.
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
