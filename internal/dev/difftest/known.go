package main

import (
	"regexp"
	"strconv"
	"strings"
)

// A listed is a difference documented in docs/differences.md. The patterns and same are applied
// to every tree. holds is applied only to reduced trees, so that one difference cannot hide
// another.
type listed struct {
	what string
	// kustomizeSays is a pattern for the error of kustomize if only kustomize fails, and
	// krmflowSays one for the error of krmflow if only krmflow fails.
	kustomizeSays string
	krmflowSays   string
	// same returns equal results for outputs with only this difference.
	same func(stdout string) string
	// holds reports whether a reduced tree has this difference.
	holds func(t tree, difference pair) bool
}

var allListed = []listed{
	{what: "integers keep their digits", same: func(s string) string { return longNumber.ReplaceAllString(s, "N") }},
	// The parts of long numbers differ as well.
	{what: "integers keep their digits", holds: func(_ tree, p pair) bool {
		return strings.Contains(p.krmflow.stderr, "options.index is ") && strings.Contains(p.kustomize.stdout, "e+")
	}},
	{what: "hashes of other kinds", same: func(s string) string { return nameHash.ReplaceAllString(s, "H") },
		holds: func(_ tree, p pair) bool {
			return strings.Contains(p.krmflow.stderr, "the content hash in the name differs")
		}},
	{what: "notes in annotations", kustomizeSays: `internal\.config\.kubernetes\.io/|field 'metadata/annotations'`},
	{what: "notes in annotations", krmflowSays: `"metadata(\.annotations)?" is missing or empty`},
	{what: "notes in annotations", holds: func(t tree, p pair) bool {
		return strings.Contains(p.kustomize.stdout, "internal.config.kubernetes.io/") ||
			strings.Contains(p.kustomize.stdout, "config.kubernetes.io/origin") && !strings.Contains(t.String(), "originAnnotations") ||
			strings.Contains(p.kustomize.stderr, "test failed") && testsMetadata.MatchString(t.String())
	}},
	{what: "notes in annotations", same: func(s string) string { return nameHash.ReplaceAllString(s, "") },
		holds: func(t tree, _ pair) bool { return copiesMetadata.MatchString(t.String()) }},
	// kustomize adds annotations to objects without any.
	{what: "notes in annotations", same: withoutAnnotations,
		holds: func(t tree, _ pair) bool { return setsAnnotations.MatchString(t.String()) }},
	{what: "any text is printed as it is",
		kustomizeSays: `yaml: line \d+: (found a tab character where an indentation space is expected|control characters are not allowed)`},
	{what: "names of fields that look like numbers, booleans or null", kustomizeSays: `unsupported type: map\[interface {}\]interface {}`},
	{what: "names with commas, objects without a kind", kustomizeSays: `number of previous names, number of previous namespaces`},
	{what: "texts in the place of numbers in quotes", kustomizeSays: "` as a !!(int|float)"},
	{what: "a text <<", kustomizeSays: `invalid value type expect a string`,
		holds: func(t tree, _ pair) bool { return strings.Contains(t.String(), "<<") }},
	{what: "targets of a replacement within its source", holds: func(t tree, _ pair) bool { return copiesItself(t.String()) }},
	{what: "validators that write existing values", holds: func(_ tree, p pair) bool {
		_, nodes, found := strings.Cut(p.kustomize.stderr, "validator shouldn't modify the resource map: nodes unequal: \n -- ")
		before, rest, _ := strings.Cut(nodes, ",\n -- ")
		after, _, _ := strings.Cut(rest, "\n")
		return found && before == after
	}},
	{what: "a key that occurs twice", krmflowSays: `occurs twice in one mapping`},
	{what: "lists and scalars for labels and annotations in patches",
		krmflowSays: `metadata\.(labels|annotations): expected a mapping, found an? `},
	{what: "annotations for objects that have a scalar there",
		krmflowSays: `metadata/annotations: expected a mapping, found an? |\(add /metadata/annotations/\S+\): the path does not exist`},
	{what: "a text in the place of all annotations", krmflowSays: `"metadata\.annotations": the field has type null`},
	{what: "tags say nothing else", same: plainNumbers,
		holds: func(t tree, _ pair) bool { return idleTag.MatchString(t.String()) }},
	{what: "names of fields that are not strings, wrong tags",
		krmflowSays: `the key .* is .*, not a string; put it in quotes|the key of a mapping is itself|does not match its tag`},
	{what: "texts in the place of numbers",
		krmflowSays: `the field has type (integer|number|boolean|null), but the value has a different type`},
	{what: "patches for objects without a version", holds: func(_ tree, p pair) bool {
		return strings.Contains(p.krmflow.stderr, "expected a scalar, found a ") && noVersion.MatchString(p.kustomize.stdout)
	}},
	{what: "objects whose name or kind was removed", holds: func(_ tree, p pair) bool {
		return krmflowMisses.MatchString(p.krmflow.stderr) && namedNull.MatchString(p.kustomize.stdout)
	}},
}

var (
	longNumber      = regexp.MustCompile(`-?[0-9]{7,}|-?[0-9](\.[0-9]+)?e\+[0-9]+`)
	nameHash        = regexp.MustCompile(`-[bcdfghkmt24-9]{10}\b`)
	lastText        = regexp.MustCompile(`(?m)[^ \n]+$`)
	idleTag         = regexp.MustCompile(`(?m)!!float [0-9]+([^0-9.]|$)|!!str "`)
	setsAnnotations = regexp.MustCompile(`path: metadata/annotations\b`)
	sourceField     = regexp.MustCompile(`fieldPath: (\S+)`)
	noVersion       = regexp.MustCompile(`(?m)^apiVersion:( \[\]| \{\})?$`)
	copiesMetadata  = regexp.MustCompile(`fieldPath: metadata(\.annotations)?\n`)
	testsMetadata   = regexp.MustCompile(`path: "?/metadata(/annotations)?"?[\s,}]`)
	krmflowMisses   = regexp.MustCompile(`is missing|is not a valid apiVersion`)
	namedNull       = regexp.MustCompile(`(name|kind|apiVersion): (null|(null|Null|NULL|~)?-[a-z0-9]{10})\n`)
)

// withoutAnnotations returns s without the annotations of all objects, and without the name
// hashes that depend on them.
func withoutAnnotations(s string) string {
	var b strings.Builder
	within := -1 // the indentation of the field, -1 outside of annotations
	for line := range strings.Lines(nameHash.ReplaceAllString(s, "")) {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if within >= 0 && indent > within {
			continue
		}
		if within = -1; strings.HasPrefix(text, "annotations:") {
			within = indent
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// plainNumbers returns s with the numbers at line ends in a uniform format, without quotes.
func plainNumbers(s string) string {
	return lastText.ReplaceAllStringFunc(s, func(text string) string {
		text = strings.Trim(text, `"`)
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return text
	})
}

// copiesItself reports whether a replacement has a target with several fields within its source.
func copiesItself(text string) bool {
	for _, source := range sourceField.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, source[1]+".") && strings.Contains(line, ".*") {
				return true
			}
		}
	}
	return false
}

// knownAs returns the name of the listed difference that explains p, or "" for none. t is nil if
// the tree is not reduced.
func knownAs(t tree, p pair) string {
	for _, l := range allListed {
		if l.explains(t, p) {
			return l.what
		}
	}
	return ""
}

func (l *listed) explains(t tree, p pair) bool {
	matches := func(pattern, text string) bool { return pattern != "" && regexp.MustCompile(pattern).MatchString(text) }
	switch {
	case l.holds != nil && (t == nil || !l.holds(t, p)):
		return false
	case p.kustomize.failed != p.krmflow.failed && l.kustomizeSays+l.krmflowSays != "":
		return p.kustomize.failed && matches(l.kustomizeSays, p.kustomize.stderr) ||
			p.krmflow.failed && matches(l.krmflowSays, p.krmflow.stderr)
	case l.same != nil:
		return !p.kustomize.failed && !p.krmflow.failed && l.same(p.kustomize.stdout) == l.same(p.krmflow.stdout)
	}
	return l.holds != nil
}
