// Package summary describes steps in a few words for the display of a plan.
package summary

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
)

// Pairs returns KEY=VALUE for each pair, sorted.
func Pairs(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return brief(strings.Join(out, ","))
}

// Finish describes the last step of a root.
func Finish(f *builtins.Finish) string {
	order := "as loaded"
	if f.Sort != nil {
		order = f.Sort.Order
	}
	out := "hashes, references, order " + order
	if n := len(f.Vars); n > 0 {
		out += ", " + diag.Plural(n, "var")
	}
	for _, m := range []struct {
		on   bool
		name string
	}{{f.OriginAnnotations, "origin annotations"}, {f.TransformerAnnotations, "transformer annotations"},
		{f.ManagedBy != "", "managed-by label"}} {
		if m.on {
			out += ", " + m.name
		}
	}
	return out
}

// brief returns the beginning of a text as one line.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= 60 {
		return text
	}
	cut := 57
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}
