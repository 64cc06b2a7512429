package drawing

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
)

const (
	// titleWidth and lineWidth are the maximum widths of the lines of a box, in characters of
	// average width.
	titleWidth = 26
	lineWidth  = 40
	// maxTip is the maximum number of lines in a tooltip.
	maxTip = 40
	// maxTipWidth is the maximum length of a tooltip line, in characters.
	maxTipWidth = 200
)

// clean returns untrusted text as a single line, without control and direction-changing
// characters.
func clean(text string) string {
	return strings.ReplaceAll(diag.OneLine(diag.Sanitise(text)), "\t", " ")
}

// short replaces the middle of text with an ellipsis if it is longer than max characters. It
// keeps more of the end, because the end of a path is more specific.
func short(text string, max int) string {
	n := utf8.RuneCountInString(text)
	if n <= max {
		return text
	}
	letters := []rune(text)
	head := max / 3
	return string(letters[:head]) + "…" + string(letters[n-(max-head-1):])
}

// cut truncates text to max characters, including an ellipsis.
func cut(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	return string([]rune(text)[:max-1]) + "…"
}

// some returns the first n lines, followed by the number of the remaining ones.
func some(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], "and "+diag.Count(len(lines)-n, "other"))
}

// shortPath replaces directories in the middle of a path with an ellipsis if it is longer than
// max characters. It keeps the first directories, which distinguish applications, and the last
// ones, which distinguish environments and layers.
func shortPath(path string, max int) string {
	parts := strings.Split(path, "/")
	for head := 2; head > 0; head-- {
		for i := head + 1; i < len(parts) && utf8.RuneCountInString(path) > max; i++ {
			if cut := strings.Join(parts[:head], "/") + "/…/" + strings.Join(parts[i:], "/"); utf8.RuneCountInString(cut) <= max {
				return cut
			}
		}
	}
	return short(path, max)
}

// wrap breaks a name into at most three lines: after a slash if possible, else after other
// punctuation.
func wrap(name string) []string {
	rest := []rune(shortPath(name, 2*titleWidth))
	var lines []string
	for len(rest) > titleWidth {
		at := titleWidth
		for _, marks := range []string{"/", "-_.@ "} {
			if i := strings.LastIndexAny(string(rest[:titleWidth]), marks); i > titleWidth/3 {
				at = utf8.RuneCountInString(string(rest[:titleWidth])[:i+1])
				break
			}
		}
		lines, rest = append(lines, string(rest[:at])), rest[at:]
	}
	return append(lines, string(rest))
}

// textWidth returns an upper bound for the width of text, in hundredths of the font size. The
// viewer's font is unknown, so the widths are taken from a wide font.
func textWidth(text string) (w int) {
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1F000:
			w += 105
		case strings.ContainsRune("ijlI.,:;|!'`()[]/ ", r):
			w += 38
		case strings.ContainsRune("mwMW@%…", r):
			w += 96
		case unicode.IsUpper(r):
			w += 70
		default:
			w += 62
		}
	}
	return w
}
