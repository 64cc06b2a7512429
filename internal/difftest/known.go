package main

import (
	"regexp"
	"strings"
)

// A listed difference is one of docs/differences.md.
type listed struct {
	what  string
	holds func(t tree, kind string, p pair) bool
}

// allListed decide about reduced trees, so that one difference cannot hide another one.
var allListed = []listed{
	{"integers keep their digits", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "output: ") && withoutDigits(p.kustomize.stdout) == withoutDigits(p.krmflow.stdout)
	}},
	{"annotations that kustomize keeps its own notes in", func(t tree, kind string, p pair) bool {
		return strings.Contains(p.kustomize.stdout+p.kustomize.stderr, "internal.config.kubernetes.io/") ||
			strings.HasPrefix(kind, "only krmflow refuses") && strings.Contains(p.krmflow.stderr, `"metadata.annotations" is missing or empty`) ||
			strings.Contains(kind, "test failed") && testsMetadata.MatchString(t.String())
	}},
	{"names that are null", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only krmflow refuses") && strings.Contains(p.krmflow.stderr, "is missing") && namedNull.MatchString(p.kustomize.stdout)
	}},
	{"annotations that kustomize keeps its own notes in", func(t tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only kustomize refuses") && strings.Contains(p.kustomize.stderr, "field 'metadata/annotations'")
	}},
	{"lists for labels and annotations in patches", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only krmflow refuses") && strings.Contains(p.krmflow.stderr, "must be a mapping, and is a list")
	}},
	{"hashes of other kinds", func(_ tree, kind string, p pair) bool {
		return strings.Contains(p.krmflow.stderr, "the content hash in the name differs") &&
			nameHash.ReplaceAllString(p.krmflow.stdout, "H") == nameHash.ReplaceAllString(p.kustomize.stdout, "H")
	}},
	{"validators that return the list as they got it", func(_ tree, kind string, p pair) bool {
		_, nodes, found := strings.Cut(p.kustomize.stderr, "validator shouldn't modify the resource map: nodes unequal: \n -- ")
		before, rest, _ := strings.Cut(nodes, ",\n -- ")
		after, _, _ := strings.Cut(rest, "\n")
		return found && before == after
	}},
	{"texts in the place of numbers", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only krmflow refuses") && strings.Contains(p.krmflow.stderr, ", and the value has another one")
	}},
	{"names of fields that are no strings, and wrong tags", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only krmflow refuses") && notString.MatchString(p.krmflow.stderr)
	}},
	{"names with commas", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only kustomize refuses") && strings.Contains(p.kustomize.stderr, "number of previous names, number of previous namespaces")
	}},
	{"texts in the place of numbers in quotes", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only kustomize refuses") && strings.Contains(p.kustomize.stderr, "` as a !!int")
	}},
	{"what is tagged !!str stays a text", func(t tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "output: ") && strings.Contains(t.String(), "!!str ") &&
			strings.ReplaceAll(p.krmflow.stdout, `"`, "") == strings.ReplaceAll(p.kustomize.stdout, `"`, "")
	}},
	{"any text is printed as it is", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only kustomize refuses") && rereadError.MatchString(p.kustomize.stderr)
	}},
	{"names of fields that are numbers", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only kustomize refuses") && strings.Contains(p.kustomize.stderr, "unsupported type: map[interface {}]interface {}")
	}},
	{"a key that occurs twice", func(_ tree, kind string, p pair) bool {
		return strings.HasPrefix(kind, "only krmflow refuses") && strings.Contains(p.krmflow.stderr, "occurs twice in one mapping")
	}},
}

var (
	namedNull     = regexp.MustCompile(`(name|kind): (null|-[a-z0-9]{10})\n`)
	notString     = regexp.MustCompile(`the key .* is .*, not a string; put it in quotes|the key of a mapping is itself|is not what its tag .* says`)
	testsMetadata = regexp.MustCompile(`path: "?/metadata(/annotations)?"?[\s,}]`)
	nameHash      = regexp.MustCompile(`-[bcdfghkmt24-9]{10}\b`)
	longNumber    = regexp.MustCompile(`-?[0-9]{7,}|-?[0-9](\.[0-9]+)?e\+[0-9]+`)
	rereadError   = regexp.MustCompile(`yaml: line [0-9]+: (found a tab character where an indentation space is expected|control characters are not allowed)`)
)

func withoutDigits(text string) string { return longNumber.ReplaceAllString(text, "N") }

func knownAs(t tree, kind string, p pair) string {
	for _, l := range allListed {
		if l.holds(t, kind, p) {
			return l.what
		}
	}
	return ""
}
