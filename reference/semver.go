package reference

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// AnyVersion is the range of all chart versions, including prereleases.
const AnyVersion = ">0.0.0-0"

// IsVersion reports whether the version of a chart equals the wanted version or is in the wanted
// range. Ranges have Helm's syntax: ^1.2, ~1.2.3, 1.x, >=1.2 <2, 1.2 - 1.4, and several of them
// joined by ||. An empty range accepts all versions except prereleases.
func IsVersion(version, wanted string) bool {
	if version == wanted {
		return true
	}
	v, ok := parseSemver(version)
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(cmp.Or(strings.TrimSpace(wanted), "*"), "||") {
		if inRange(v, part) {
			return true
		}
	}
	return false
}

// IsExactVersion reports whether text is a version, not a range.
func IsExactVersion(text string) bool {
	_, ok := parseSemver(text)
	return ok
}

// LastVersion returns the version equal to wanted, otherwise the highest version in that range.
func LastVersion(versions []string, wanted string) (version string, ok bool) {
	if slices.Contains(versions, wanted) {
		return wanted, true
	}
	var last semver
	for _, text := range versions {
		if v, valid := parseSemver(text); valid && IsVersion(text, wanted) && (!ok || v.compare(last) > 0) {
			version, last, ok = text, v, true
		}
	}
	return version, ok
}

// A semver is a version: three numbers and the prerelease after the dash. parts is the number of
// numbers in the text.
type semver struct {
	n     [3]uint64
	pre   string
	parts int
}

// parseSemver parses a version. Like Helm, it accepts a leading v and fewer than three numbers.
func parseSemver(text string) (v semver, ok bool) {
	v, wild, ok := parsePartial(text)
	return v, ok && !wild
}

// parsePartial parses a version whose last numbers may be missing or a wildcard (x, X or *),
// which is equivalent. wild reports a wildcard.
func parsePartial(text string) (v semver, wild, ok bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "+")
	numbers, pre, dashed := strings.Cut(text, "-")
	if dashed && pre == "" {
		return v, false, false
	}
	v.pre = pre
	for i, part := range strings.Split(numbers, ".") {
		if part == "x" || part == "X" || part == "*" {
			return v, true, true
		}
		n, err := strconv.ParseUint(part, 10, 63)
		if err != nil || i > 2 {
			return v, false, false
		}
		v.n[i], v.parts = n, i+1
	}
	return v, false, true
}

// compare returns the same values as [cmp.Compare]. A prerelease precedes its release.
func (v semver) compare(w semver) int {
	if c := slices.Compare(v.n[:], w.n[:]); c != 0 || v.pre == w.pre {
		return c
	}
	switch {
	case v.pre == "":
		return 1
	case w.pre == "":
		return -1
	}
	return slices.CompareFunc(strings.Split(v.pre, "."), strings.Split(w.pre, "."), comparePre)
}

// comparePre compares two elements of a prerelease. Numbers precede words.
func comparePre(a, b string) int {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(m, n)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// inRange reports whether v meets all conditions in text, which are separated by commas or
// blanks.
func inRange(v semver, text string) bool {
	if from, to, ok := strings.Cut(text, " - "); ok {
		text = ">=" + strings.TrimSpace(from) + " <=" + strings.TrimSpace(to)
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	for i := 0; i < len(fields); i++ {
		condition := fields[i]
		// A blank may separate operator and version.
		if strings.Trim(condition, operators) == "" && i+1 < len(fields) {
			i++
			condition += fields[i]
		}
		if !v.meets(condition) {
			return false
		}
	}
	return len(fields) > 0
}

const operators = "=!<>~^"

// meets reports whether v meets one condition. Prereleases meet only conditions that name a
// prerelease.
func (v semver) meets(condition string) bool {
	text := strings.TrimLeft(condition, operators)
	w, _, ok := parsePartial(text)
	if !ok || v.pre != "" && w.pre == "" {
		return false
	}
	c := v.compare(w)
	// same reports equality in the numbers that w has.
	same := w.parts == 0 || slices.Equal(v.n[:w.parts], w.n[:w.parts])
	exact := c == 0
	if w.parts < 3 {
		exact = same
	}
	switch condition[:len(condition)-len(text)] {
	case "", "=", "==":
		return exact
	case "!=":
		return !exact
	case ">":
		return c > 0 && !(w.parts < 3 && same)
	case ">=", "=>":
		return c >= 0
	case "<":
		return c < 0
	case "<=", "=<":
		return c <= 0 || w.parts < 3 && same
	case "~", "~>":
		return c >= 0 && slices.Equal(v.n[:min(2, w.parts)], w.n[:min(2, w.parts)])
	case "^":
		return c >= 0 && slices.Equal(v.n[:w.caret()], w.n[:w.caret()])
	}
	return false
}

// caret returns the number of leading numbers of w that must be equal: those up to and including
// the first one that is not 0.
func (w semver) caret() int {
	for i := range w.parts {
		if w.n[i] != 0 {
			return i + 1
		}
	}
	return w.parts
}
