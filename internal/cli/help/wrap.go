package help

import (
	"strings"

	"github.com/spf13/pflag"
)

// Wrap wraps the paragraphs of a text at width columns, never inside a word. An empty line ends a
// paragraph. Lines that begin with a space stay as they are.
func Wrap(text string, width int) string {
	var out []string
	column, open := 0, false // open reports whether the last line of out belongs to a paragraph
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == ' ' {
			out, open = append(out, line), false
			continue
		}
		for _, word := range strings.Fields(line) {
			n := len([]rune(word))
			if open && column+1+n <= width {
				out[len(out)-1] += " " + word
				column += 1 + n
			} else {
				out, column, open = append(out, word), n, true
			}
		}
	}
	return strings.Join(out, "\n")
}

// usages returns the flags of a set with their descriptions in a column, wrapped at width. It
// replaces [pflag.FlagSet.FlagUsagesWrapped], whose column is as wide as the longest flag. Brief
// usages have no defaults, and of a description only the part before a semicolon.
func usages(set *pflag.FlagSet, width int, brief bool) string {
	column := 0
	set.VisitAll(func(f *pflag.Flag) {
		if n := len(left(f)) + 2; n <= 36 {
			column = max(column, n)
		}
	})
	var b strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		_, text := pflag.UnquoteUsage(f)
		if brief {
			text, _, _ = strings.Cut(text, ";")
		} else if shown := Default(f); shown != "" && !strings.Contains(text, "default") {
			text += " (default " + shown + ")"
		}
		name := left(f)
		if len(name)+2 > column {
			name += "\n" + strings.Repeat(" ", column)
		} else {
			name += strings.Repeat(" ", column-len(name))
		}
		b.WriteString(name + strings.ReplaceAll(Wrap(text, width-column), "\n", "\n"+strings.Repeat(" ", column)) + "\n")
	})
	return b.String()
}

// left returns the names of a flag and of its value.
func left(f *pflag.Flag) string {
	text := "      --" + f.Name
	if f.Shorthand != "" {
		text = "  -" + f.Shorthand + ", --" + f.Name
	}
	if name, _ := pflag.UnquoteUsage(f); name != "" {
		text += " " + strings.ToUpper(name)
	}
	return text
}

// Default returns the default of a flag as help shows it, or "" for the zero value.
func Default(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	short, minutes := strings.CutSuffix(f.DefValue, "m0s")
	if minutes {
		short += "m"
	}
	return short
}
